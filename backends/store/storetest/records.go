// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var recordBehaviours = []behaviour{
	{"what is put comes back as it was given", func(e *env) {
		at := e.clock.Now().Add(-time.Hour)
		r := &store.Record{
			Memory: backends.Memory{
				ID: "a", Kind: backends.KindTask, Text: "line one\nline \"two\" <&> \u2028 \x00 日本語 🎈", WhenToUse: "when it rains",
				Scope:    backends.Scope{Namespace: "n", Workspace: "w", UserID: "ann", AgentID: "g", SessionID: "s"},
				Metadata: map[string]any{"n": 1.5, "s": "x", "b": true, "null": nil, "list": []any{"a", 2.0}, "map": map[string]any{"k": "v"}},
				Quality:  ptr(0.25), Observed: at, Valid: at.Add(1), Invalidated: at.Add(2 * time.Microsecond),
				Created: at.Add(time.Minute), Updated: at.Add(time.Second), Expires: at.Add(24 * time.Hour),
				Origin:     backends.Origin{Session: "s", Turn: "t", MessageIDs: []string{"m1", "m2"}, Role: "user", Speaker: "Ann", Author: "model"},
				Supersedes: "before", SupersededBy: "after",
			},
			Vector: []byte{0, 1, 2, 0xff, 0xfe, 0},
		}
		applied := e.apply(store.Put(r))
		want := *r
		want.Version = applied.Version
		require.Equal(e, want, e.one("a"))
		require.Equal(e, []store.Record{want}, e.index().follow().sorted())

		e.apply(store.Put(&store.Record{Memory: backends.Memory{ID: "bare"}}))
		require.Empty(e, e.one("bare").Vector)
		require.Empty(e, e.one("bare").Text)
	}},
	{"a store neither changes nor keeps the caller's record", func(e *env) {
		r := record("a", "before")
		r.Metadata, r.Vector = map[string]any{"k": "before"}, []byte{1}
		e.apply(store.Put(r), put("old", "o"))
		require.Zero(e, r.Version)
		require.Zero(e, r.Created)
		r.Text, r.Metadata["k"], r.Vector[0] = "after", "after", 2
		got := e.one("a")
		require.Equal(e, "before", got.Text)
		require.Equal(e, "before", got.Metadata["k"])
		require.Equal(e, []byte{1}, got.Vector)
		got.Metadata["k"], got.Vector[0] = "mine", 9
		require.Equal(e, "before", e.one("a").Metadata["k"])
		require.Equal(e, []byte{1}, e.one("a").Vector)

		successor := record("new", "n")
		e.apply(store.Supersede("old", successor))
		require.Empty(e, successor.Supersedes)
	}},
	{"a put that ends a record, or has it hold again, stands in its history", func(e *env) {
		e.apply(put("a", "x"), put("b", "y"), put("c", "z"))
		a, b, c := e.one("a"), e.one("b"), e.one("c")
		a.SupersededBy, a.Invalidated = "b", e.clock.now
		c.Invalidated = e.clock.now
		e.apply(store.Put(&a), store.Put(&c), store.Put(&b))
		require.Len(e, e.history("b"), 1, "nothing changed")
		a.SupersededBy, a.Invalidated = "", time.Time{}
		e.apply(store.Put(&a))
		var types []backends.Outcome
		for _, event := range append(e.history("a"), e.history("c")...) {
			types = append(types, event.Type)
		}
		require.Equal(e, []backends.Outcome{"added", "superseded", "updated", "added", "retracted"}, types)
		require.Equal(e, "b", e.history("a")[1].By)
	}},
	{"five thousand mutations are one batch", func(e *env) {
		const n = 5000
		b := batch()
		for i := range n {
			b.Mutations = append(b.Mutations, put(fmt.Sprintf("r%04d", i), "x"))
		}
		require.Equal(e, int64(1), e.applyBatch(b).Version)
		set := e.index().page()
		require.Len(e, set.Records, n, "a page does not split a batch")
		require.False(e, set.More)
	}},
	{"a repeated batch changes nothing and returns the first results", func(e *env) {
		e.append("s", message("m1", "hi"))
		b := keyed("k", put("a", "1"), put("old", "o"), store.Supersede("old", record("new", "n")),
			store.Increment("a", "n", 2.5), store.Delete("unknown"), store.Retract("a", time.Time{}), store.Delete("a"))
		b.Embedding, b.Session = small(), &store.SessionUpdate{Session: "s", Watermark: ptr(int64(1))}
		first := e.applyBatch(b)
		require.False(e, first.Replayed)
		e.apply(put("later", "x"))
		before := e.state()

		e.clock.pass(time.Hour)
		second := e.applyBatch(b)
		require.True(e, second.Replayed)
		require.Equal(e, first.Results, second.Results)
		require.Equal(e, first.Version, second.Version)
		require.NotNil(e, second.Session)
		require.Equal(e, *e.session("s"), *second.Session)
		// Backends ask whether a key is known with a batch that cannot succeed.
		other := must(e.Apply(e.ctx, e.p, keyed("k", expecting(store.Delete("later"), 1<<53))))(e)
		require.True(e, other.Replayed, "the key decides, not the mutations")
		require.Equal(e, first.Results, other.Results)
		require.Equal(e, before, e.state())
	}},
	{"a key is known for thirty days, in its partition", func(e *env) {
		b := keyed("k", put("a", "1"))
		e.applyBatch(b)
		e.clock.pass(30*24*time.Hour - time.Second)
		e.applyBatch(keyed("another"))
		require.True(e, e.applyBatch(b).Replayed)
		require.False(e, e.user("bob").applyBatch(b).Replayed)
		e.drop()
		require.False(e, e.applyBatch(b).Replayed, "Drop erases keys")
	}},
	{"a record that a batch creates and deletes is in the history alone", func(e *env) {
		e.apply(put("was", "x"), put("stays", "x"))
		early, late := e.index().follow(), e.index().follow()
		e.apply(store.Delete("was"))
		require.Equal(e, []string{"was"}, late.page().Removed)

		require.Equal(e, int64(3), e.apply(put("new", "x"), store.Delete("new"), put("was", "x"), store.Delete("was")).Version)
		set := late.page()
		require.Equal(e, int64(3), set.Version)
		require.Empty(e, set.Records)
		require.Empty(e, set.Removed)
		require.Equal(e, []string{"was"}, early.page().Removed, "a reader from before the deletion still sees it")
		require.Len(e, e.history("new"), 2)
		require.Len(e, e.history("was"), 4)

		e.apply(put("was", "x"), put("new", "x"))
		require.Len(e, late.page().Records, 2)
		e.apply(store.Delete("was"), store.Delete("new"))
		require.ElementsMatch(e, []string{"was", "new"}, late.page().Removed)
	}},
}
