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

var applyBehaviours = []behaviour{
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
	{"created and updated are set where they are zero", func(e *env) {
		first := e.clock.Now()
		e.apply(put("a", "1"))
		second := e.clock.pass(time.Hour)
		e.apply(put("a", "2"))
		require.Equal(e, first, e.one("a").Created, "an update keeps when the record was first stored")
		require.Equal(e, second, e.one("a").Updated)

		given := record("a", "3")
		given.Created, given.Updated = first.Add(-time.Hour), first.Add(-time.Minute)
		e.apply(store.Put(given))
		require.Equal(e, given.Created, e.one("a").Created)
		require.Equal(e, given.Updated, e.one("a").Updated)
	}},
	{"records are returned in the order of the ids, active or not, expired or not", func(e *env) {
		require.Empty(e, e.get())
		expired := record("expired", "x")
		expired.Expires = e.clock.Now()
		e.apply(store.Put(expired), put("old", "o"), put("retracted", "r"), store.Supersede("old", record("new", "n")), store.Retract("retracted", time.Time{}))
		e.clock.pass(48 * time.Hour)
		require.Equal(e, []string{"retracted", "new", "expired", "old"}, ids(e.get("retracted", "unknown", "new", "", "expired", "OLD", "old")))
		require.Len(e, e.index().follow().records, 4)
	}},
	{"a failing mutation leaves nothing of its batch", func(e *env) {
		text := record("a", "1")
		text.Metadata = map[string]any{"text": "no number"}
		e.apply(store.Put(text), put("b", "2"), put("c", "3"), store.Retract("c", time.Time{}))
		e.append("s", message("m1", "hi"))
		for name, bad := range map[string]store.Mutation{
			"put what must not exist":      expecting(put("a", "x"), store.MustNotExist),
			"put over another version":     expecting(put("a", "x"), 99),
			"put over nothing":             expecting(put("unknown", "x"), 1),
			"supersede nothing":            store.Supersede("unknown", record("x", "x")),
			"supersede what was retracted": store.Supersede("c", record("x", "x")),
			"supersede another version":    expecting(store.Supersede("a", record("x", "x")), 99),
			"supersede twice":              store.Supersede("b", record("x", "x")),
			"retract nothing":              store.Retract("unknown", time.Time{}),
			"retract another version":      expecting(store.Retract("a", time.Time{}), 99),
			"delete another version":       expecting(store.Delete("a"), 99),
			"delete nothing":               expecting(store.Delete("unknown"), 1),
			"increment nothing":            store.Increment("unknown", "n", 1),
			"increment a text":             store.Increment("a", "text", 1),
			"increment another version":    expecting(store.Increment("a", "n", 1), 99),
			"restore what exists":          store.Restore("a", record("a", "x"), nil),
		} {
			b := keyed("k", put("new", "n"), put("a2", "1a"), store.Supersede("b", record("b2", "2b")), store.Increment("a", "n", 1),
				bad, store.Delete("a"), store.Retract("b2", time.Time{}))
			b.Embedding, b.Session = small(), &store.SessionUpdate{Session: "s", Summary: ptr("no")}
			e.fails(backends.ErrConflict, b, name)
			require.Empty(e, e.history("new"), name)
			require.Empty(e, e.get("new", "b2", "x"), name)
		}
		require.False(e, e.applyBatch(keyed("k")).Replayed, "a batch that failed leaves its key unused")
	}},
	{"a session update that is refused fails the batch", func(e *env) {
		e.append("s", message("m1", "hi"))
		stale := e.acquire("w1").Token
		e.clock.pass(2 * time.Minute)
		e.acquire("w2")
		b := keyed("k", put("a", "learnt twice"))
		for name, u := range map[string]*store.SessionUpdate{
			"stale token":   {Session: "s", Token: stale, Watermark: ptr(int64(1))},
			"stale version": {Session: "s", Version: 1, Watermark: ptr(int64(1))},
			"held lease":    {Session: "s", Acquire: &store.Acquire{Owner: "w3", For: time.Minute}},
		} {
			b.Session = u
			e.fails(backends.ErrConflict, b, name)
			require.Empty(e, e.history("a"), name)
		}
		b.Session = &store.SessionUpdate{Session: "unknown", Summary: ptr("x")}
		e.fails(backends.ErrNotFound, b)
		b.Session = nil
		require.False(e, e.applyBatch(b).Replayed)
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
}

var keyBehaviours = []behaviour{
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
		other := must(e.Apply(e.ctx, e.p, keyed("k", put("other", "x"))))(e)
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
	// Backends find out whether a key is known by a batch that cannot succeed.
	{"a batch that fails leaves its key unused", func(e *env) {
		ask := keyed("k", expecting(store.Delete("a"), 1<<53)) // beyond any version
		e.fails(backends.ErrConflict, ask, "nothing is there")
		e.apply(put("a", "1"))
		e.fails(backends.ErrConflict, ask, "another version is there")
		first := e.applyBatch(keyed("k", put("b", "2")))
		require.False(e, first.Replayed)
		before := e.state()
		known := e.applyBatch(ask)
		require.True(e, known.Replayed)
		require.Equal(e, first.Results, known.Results)
		require.Equal(e, before, e.state())
	}},
	{"hostile keys are different keys", func(e *env) {
		for _, replayed := range []bool{false, true} {
			for i, key := range hostile {
				a := e.applyBatch(keyed(key, put("a", key)))
				require.Equal(e, replayed, a.Replayed, "%q", key)
				require.Equal(e, int64(i+1), a.Version, "%q", key)
				require.Equal(e, "a", a.Results[0].ID)
			}
		}
	}},
}

func small() *store.Embedding { return &store.Embedding{Model: "small", Dim: 3} }

var mutationBehaviours = []behaviour{
	{"a hundred increments at the same time add a hundred", func(e *env) {
		const n = 100
		e.apply(put("a", "1"))
		e.allTogether(n, func(int) error { return errOf(e.Apply(e.ctx, e.p, batch(store.Increment("a", "n", 1)))) })
		require.Equal(e, float64(n), e.one("a").Metadata["n"])
		require.Equal(e, int64(n+1), e.one("a").Version)
	}},
	{"one of many puts that create succeeds", func(e *env) {
		e.oneOf(16, func(int) error {
			return errOf(e.Apply(e.ctx, e.p, batch(expecting(put("a", "x"), store.MustNotExist))))
		})
		require.Len(e, e.history("a"), 1)
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

var historyBehaviours = []behaviour{
	{"the history is kept after the record was deleted", func(e *env) {
		const n = 150
		for i := range n {
			e.apply(put("a", fmt.Sprint(i)))
		}
		e.apply(store.Delete("a"))
		e.apply(put("a", "again"))
		require.Empty(e, e.deleted(0))
		e.apply(store.Delete("a"))
		events := e.history("a")
		require.Len(e, events, n+3)
		for i, event := range events[:n] {
			require.Equal(e, fmt.Sprint(i), event.New)
			require.Equal(e, int64(i+1), event.Version)
		}
		require.Equal(e, backends.Event{MemoryID: "a", Type: backends.OutcomeDeleted, Old: fmt.Sprint(n - 1), Time: e.clock.Now(), Version: n + 1}, events[n])
		require.Equal(e, backends.OutcomeDeleted, events[n+2].Type)
		require.Equal(e, []string{"a"}, e.deleted(0))
		e.drop()
		require.Empty(e, e.history("a"))
	}},
	{"deleted memories are listed, those of the partition alone", func(e *env) {
		want := []string{}
		for i := range 250 {
			id := fmt.Sprintf("%03d", i)
			e.apply(put(id, "x"), put("stays "+id, "x"))
			e.apply(store.Delete(id))
			want = append(want, id)
		}
		e.user("bob").apply(put("b", "x"), store.Delete("b"))
		for _, limit := range []int{1, 7, 249, 250, 0} {
			require.Equal(e, want, e.deleted(limit), "pages of %d", limit)
		}
		require.Equal(e, []string{"b"}, e.user("bob").deleted(0))
		require.Empty(e, e.user("eve").deleted(0))
	}},
}

var restoreBehaviours = []behaviour{
	{"restored records keep their order and have versions of their own", func(e *env) {
		restore := func(id string, version int64) store.Mutation {
			r := record(id, "x")
			r.Version = version
			return store.Restore(id, r, nil)
		}
		x := e.index().follow()
		require.Equal(e, int64(6), e.apply(restore("z", 5), restore("y", 5)).Version)
		require.Equal(e, []string{"y", "z"}, ids(x.follow().sorted()))
		require.Equal(e, int64(20), e.apply(restore("b", 5), restore("x", 20)).Version)
		require.Equal(e, []string{"b", "x", "y", "z"}, ids(x.follow().sorted()), "a reader misses nothing")
		require.Equal(e, int64(21), e.apply(restore("c", 2)).Version)
		require.Equal(e, int64(22), e.apply(put("a", "1")).Version)
		require.Equal(e, []string{"a", "b", "c", "x", "y", "z"}, ids(x.follow().sorted()))
		all := e.index().page().Records
		require.Equal(e, []string{"z", "y", "b", "x", "c", "a"}, ids(all))
		for i, version := range []int64{5, 6, 7, 20, 21, 22} {
			require.Equal(e, version, all[i].Version)
		}
	}},
	{"restores at the same time as puts lose nothing", func(e *env) {
		const n = 40
		e.allTogether(n, func(i int) error {
			m := put(fmt.Sprint(i), "x")
			if i%2 == 0 {
				m = store.Restore(m.Record.ID, m.Record, []backends.Event{{MemoryID: m.Record.ID, Version: int64(i)}})
			}
			return errOf(e.Apply(e.ctx, e.p, batch(m, store.Delete("unknown"))))
		})
		x := e.index().follow()
		require.Len(e, x.records, n)
		seen := map[int64]bool{}
		for id, r := range x.records {
			require.False(e, seen[r.Version], "version %d twice", r.Version)
			seen[r.Version] = true
			require.Len(e, e.history(id), 1)
		}
	}},
}
