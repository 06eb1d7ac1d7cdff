// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

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
