// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// insight returns a record that was inferred from others.
func insight(id, text string, evidence ...string) *store.Record {
	r := fact(id, text)
	r.Kind, r.Origin.Evidence = backends.KindInsight, evidence
	return r
}

func TestAnInsightHoldsAsLongAsWhatItWasInferredFrom(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(w *world)
		holds bool
	}{
		"nothing":                {func(*world) {}, true},
		"another fact ends":      {func(w *world) { w.apply(store.Retract("d", start)) }, true},
		"evidence is retracted":  {func(w *world) { w.apply(store.Retract("b", start)) }, false},
		"evidence is deleted":    {func(w *world) { w.apply(store.Delete("b")) }, false},
		"evidence is superseded": {func(w *world) { w.apply(store.Supersede("b", fact("b2", "green tea at dawn"))) }, false},
		"evidence expires":       {func(w *world) { w.edit("b", func(m *backends.Memory) { m.Expires = start }) }, false},
		"evidence is merged": {func(w *world) {
			w.edit("b", func(m *backends.Memory) {
				m.SupersededBy, m.Invalidated, m.Metadata = "d", start, map[string]any{backends.MetaReflect: map[string]any{"op": backends.OpMerge}}
			})
		}, true},
		"what it was merged into ends": {func(w *world) {
			w.edit("b", func(m *backends.Memory) {
				m.SupersededBy, m.Invalidated, m.Metadata = "d", start, map[string]any{backends.MetaReflect: map[string]any{"op": backends.OpMerge}}
			})
			w.apply(store.Retract("d", start))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.put(ann, fact("a", "green tea at noon"), fact("b", "green tea in the evening"), fact("d", "green tea every evening"),
				insight("i", "green tea is a habit", "a", "b"), insight("j", "green tea is a passion", "i", "a"))
			c.do(w)
			for _, id := range []string{"i", "j"} {
				found, listed := []string{}, []string{}
				for _, h := range w.found(ann, "green tea").Hits {
					found = append(found, h.ID)
				}
				all, err := w.List(ctx, ann, &backends.ListRequest{})
				require.NoError(t, err)
				for _, m := range all.Memories {
					listed = append(listed, m.ID)
				}
				if !c.holds {
					require.NotContains(t, found, id)
					require.NotContains(t, listed, id)
					continue
				}
				require.Contains(t, found, id)
				require.Contains(t, listed, id)
			}
			all, err := w.List(ctx, ann, &backends.ListRequest{IncludeSuperseded: true, Kinds: []backends.Kind{backends.KindInsight}})
			require.NoError(t, err)
			require.Len(t, all.Memories, 2, "it is not lost")
		})
	}
}

func (w *world) apply(m ...store.Mutation) {
	_, err := w.Store().Apply(ctx, ann, &store.Batch{Mutations: m})
	require.NoError(w.t, err)
}

func (w *world) edit(id string, change func(*backends.Memory)) {
	all, err := w.Store().Get(ctx, ann, id)
	require.NoError(w.t, err)
	change(&all[0].Memory)
	w.apply(store.Put(&all[0]))
}

func TestForgettingTakesWhatWasMadeOfTheForgotten(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, _ *testkit.Clock) {
		w := open(t, on(db))
		said := func(r *store.Record, session string) *store.Record {
			r.Origin.Session, r.Origin.MessageIDs = session, []string{"m"}
			return r
		}
		hidden := said(fact("c", "green tea, too"), "s2")
		hidden.SupersededBy, hidden.Invalidated = "a", start
		hidden.Metadata = map[string]any{backends.MetaReflect: map[string]any{"op": backends.OpMerge}}
		w.put(ann, said(fact("a", "green tea"), "s1"), said(fact("b", "black tea"), "s2"), hidden,
			insight("i", "tea", "a", "b"), insight("j", "drinks", "i"), insight("k", "black", "b"))
		_, err := db.Append(ctx, ann, "s1", &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: "m", Time: start, Message: testkit.User("x")[0].Message}}}})
		require.NoError(t, err)
		session := "s1"
		receipt, err := store.Forget(ctx, db, ann, &backends.Part{Session: &session})
		require.NoError(t, err)
		require.Equal(t, 3, receipt.Memories)
		left := map[string]*backends.Memory{}
		all, err := w.All(ctx, ann)
		require.NoError(t, err)
		for _, m := range all {
			left[m.ID] = m
		}
		require.Len(t, left, 3)
		require.True(t, left["c"].Stands(start.Add(time.Hour), func(id string) *backends.Memory { return left[id] }), "what was hidden behind it holds again")
		require.Empty(t, left["c"].Metadata)
		require.NotNil(t, left["k"])
	})
}
