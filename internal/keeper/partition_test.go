// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// hostile draws partitions whose names look like each other's keys.
func hostile(t *rapid.T) []backends.Partition {
	name := rapid.SampledFrom([]string{
		"ann", "Ann", "ann/", "user/ann", "default/user/ann", "ann%2F", "a:nn", "{ann}", "a\u0301nn", "ánn", "ann'--", "ann\" OR \"1\"=\"1",
		"ann?", "ann\u202e", "安", "😀", "a nn", "..", ".", "%", "_", "[a]nn", "ann\u200b", strings.Repeat("n", backends.MaxScopePart),
	})
	kind := rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace})
	one := rapid.Custom(func(t *rapid.T) backends.Partition {
		return backends.Partition{Namespace: name.Draw(t, "namespace"), Kind: kind.Draw(t, "kind"), ID: name.Draw(t, "id")}
	})
	return rapid.SliceOfNDistinct(one, 2, 5, func(p backends.Partition) backends.Partition { return p }).Draw(t, "partitions")
}

// Partitions that share every id meet in no call.
func TestPartitionsNeverMeet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := open(t)
		parts := hostile(rt)
		ids := map[string]bool{}
		for i, p := range parts {
			secret := fmt.Sprintf("secret number %d", i)
			old := fact("old", "an older "+secret)
			w.put(p, old, fact("doomed", "a doomed "+secret))
			_, err := w.Commit(ctx, p, &store.Batch{Key: "k", Mutations: []store.Mutation{store.Supersede("old", fact("id", secret))}}, nil)
			require.NoError(rt, err)
			id := keeper.ContentID(p, backends.KindFact, "the same")
			require.False(rt, ids[id])
			ids[id] = true
		}
		i := rapid.IntRange(0, len(parts)-1).Draw(rt, "changed")
		text := "changed by one"
		_, err := w.Update(ctx, parts[i], &backends.UpdateRequest{ID: "id", Text: &text})
		require.NoError(rt, err)
		require.NoError(rt, w.Delete(ctx, parts[i], &backends.DeleteRequest{ID: "doomed"}))
		all := map[int][]string{}
		for n, p := range parts {
			all[n] = []string{fmt.Sprintf("a doomed secret number %d", n), fmt.Sprintf("secret number %d", n)}
			if n == i {
				all[n] = []string{text}
			}
			require.ElementsMatch(rt, all[n], w.texts(p))
			events, err := w.History(ctx, p, "old")
			require.NoError(rt, err)
			for _, e := range events {
				require.Contains(rt, e.New, map[bool]string{true: "", false: fmt.Sprintf("number %d", n)}[n == i])
			}
			for _, h := range w.found(p, "secret number doomed").Hits {
				require.Contains(rt, all[n], h.Text)
			}
			linked, err := w.Lookup(ctx, p, keeper.TextKey(backends.KindFact, "", fmt.Sprintf("secret number %d", i)))
			require.NoError(rt, err)
			require.Empty(rt, linked)
			var dump strings.Builder
			_, err = w.Dump(ctx, p, &dump)
			require.NoError(rt, err)
			for other := range parts {
				require.Equal(rt, other == n, strings.Contains(dump.String(), fmt.Sprintf("number %d\"", other)))
			}
		}
		n, err := w.DeleteAll(ctx, parts[i], &backends.DeleteAllRequest{})
		require.NoError(rt, err)
		require.Equal(rt, 2, n, "the older one too")
		for n, p := range parts {
			if n != i {
				require.ElementsMatch(rt, all[n], w.texts(p))
			}
		}
	})
}

// A partition that is none reaches nothing, in any call.
func TestPartitionsThatAreNone(t *testing.T) {
	text := "x"
	calls := map[string]func(w *world, p backends.Partition) error{
		"Search": func(w *world, p backends.Partition) error {
			_, err := w.Search(ctx, p, &backends.SearchRequest{Query: "x"})
			return err
		},
		"Get":     func(w *world, p backends.Partition) error { _, err := w.Get(ctx, p, "x"); return err },
		"Records": func(w *world, p backends.Partition) error { _, err := w.Records(ctx, p, "x"); return err },
		"All":     func(w *world, p backends.Partition) error { _, err := w.All(ctx, p); return err },
		"Lookup":  func(w *world, p backends.Partition) error { _, err := w.Lookup(ctx, p, "x"); return err },
		"Held":    func(w *world, p backends.Partition) error { _, err := w.Held(ctx, p, "x"); return err },
		"List": func(w *world, p backends.Partition) error {
			_, err := w.List(ctx, p, &backends.ListRequest{})
			return err
		},
		"Update": func(w *world, p backends.Partition) error {
			_, err := w.Update(ctx, p, &backends.UpdateRequest{ID: "x", Text: &text})
			return err
		},
		"Delete": func(w *world, p backends.Partition) error { return w.Delete(ctx, p, &backends.DeleteRequest{ID: "x"}) },
		"DeleteAll": func(w *world, p backends.Partition) error {
			_, err := w.DeleteAll(ctx, p, &backends.DeleteAllRequest{})
			return err
		},
		"History": func(w *world, p backends.Partition) error { _, err := w.History(ctx, p, "x"); return err },
		"Dump":    func(w *world, p backends.Partition) error { _, err := w.Dump(ctx, p, io.Discard); return err },
		"Load": func(w *world, p backends.Partition) error {
			_, err := w.Load(ctx, p, strings.NewReader(`{"id":"1","kind":"fact","text":"x"}`))
			return err
		},
		"Commit": func(w *world, p backends.Partition) error {
			_, err := w.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "x"))}}, nil)
			return err
		},
		"Replayed": func(w *world, p backends.Partition) error { _, err := w.Replayed(ctx, p, "x", nil); return err },
		"Reembed":  func(w *world, p backends.Partition) error { _, err := w.Reembed(ctx, p); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			for _, p := range []backends.Partition{
				{}, {Namespace: "default", Kind: backends.PartitionUser}, {Namespace: "default", ID: "ann"}, {Namespace: "default", Kind: "group", ID: "ann"},
				{Kind: backends.PartitionUser, ID: "ann"}, {Namespace: "default", Kind: backends.PartitionUser, ID: "*"}, {Namespace: "default", Kind: backends.PartitionUser, ID: " ann"},
			} {
				require.ErrorIs(t, call(w, p), backends.ErrInvalid, "%+v", p)
			}
		})
	}
}
