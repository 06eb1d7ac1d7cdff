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

var mutationBehaviours = []behaviour{
	{"a superseded record keeps its text and names its successor", func(e *env) {
		old := record("old", "lives in Rome")
		old.Vector, old.Metadata = []byte{1, 2}, map[string]any{"k": "v"}
		e.apply(store.Put(old))
		want := e.one("old")
		now := e.clock.pass(time.Hour)
		a := e.apply(store.Supersede("old", record("new", "lives in Oslo")))
		require.Equal(e, []store.Result{{ID: "new", Event: backends.EventSuperseded}}, a.Results)
		want.SupersededBy, want.Invalidated, want.Updated, want.Version = "new", now, now, a.Version
		require.Equal(e, want, e.one("old"), "text, vector, metadata and created are as before")
		successor := e.one("new")
		require.Equal(e, "old", successor.Supersedes)
		require.True(e, successor.Active())
		require.Equal(e, a.Version, successor.Version)
		require.Equal(e, now, successor.Created)
		e.conflicts(store.Supersede("old", record("newer", "x")))
	}},
	{"an increment adds to a number, which is 0 if absent", func(e *env) {
		a := record("a", "1")
		a.Metadata, a.Vector = map[string]any{"calls": 3.0, "other": "x"}, []byte{7}
		e.apply(store.Put(a), put("bare", "2"))
		now := e.clock.pass(time.Minute)
		applied := e.apply(store.Increment("a", "calls", 2), store.Increment("a", "calls", -0.5), store.Increment("bare", "calls", 1))
		require.Equal(e, []float64{5, 4.5, 1}, []float64{applied.Results[0].Value, applied.Results[1].Value, applied.Results[2].Value})
		got := e.one("a")
		require.Equal(e, map[string]any{"calls": 4.5, "other": "x"}, got.Metadata)
		require.Equal(e, []byte{7}, got.Vector)
		require.Equal(e, "1", got.Text)
		require.Equal(e, now, got.Updated)
		require.Equal(e, applied.Version, got.Version)
		require.Equal(e, 1.0, e.one("bare").Metadata["calls"])
		for _, value := range []any{"5", true, nil, []any{1.0}, map[string]any{}} {
			no := record("no", "x")
			no.Metadata = map[string]any{"n": value}
			e.apply(store.Put(no))
			e.conflicts(store.Increment("no", "n", 1), value)
		}
	}},
	{"a hundred increments at the same time add a hundred", func(e *env) {
		const n = 100
		e.apply(put("a", "1"))
		values := make([]float64, n)
		e.allTogether(n, func(i int) error {
			a, err := e.Apply(e.ctx, e.p, batch(store.Increment("a", "n", 1)))
			if err == nil {
				values[i] = a.Results[0].Value
			}
			return err
		})
		require.Equal(e, float64(n), e.one("a").Metadata["n"])
		require.Equal(e, int64(n+1), e.one("a").Version)
		seen := map[float64]bool{}
		for _, v := range values {
			require.False(e, seen[v], "value %v twice", v)
			seen[v] = true
		}
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
	{"every change of the text is in the history, oldest first, with its author", func(e *env) {
		by := func(m store.Mutation, actor string) store.Mutation {
			m.Actor, m.Role = actor, "role of "+actor
			return m
		}
		t0 := e.clock.Now()
		e.apply(by(put("a", "1"), "ann"))
		t1 := e.clock.pass(time.Minute)
		e.apply(put("a", "2"), store.Increment("a", "n", 1))
		t2 := e.clock.pass(time.Minute)
		e.apply(by(store.Supersede("a", record("b", "3")), "model"))
		t3 := e.clock.pass(time.Minute)
		e.apply(by(store.Retract("b", t0), "bob"))

		require.Equal(e, []backends.Event{
			{MemoryID: "a", Type: backends.EventAdded, New: "1", Actor: "ann", Role: "role of ann", Time: t0, Version: 1},
			{MemoryID: "a", Type: backends.EventUpdated, Old: "1", New: "2", Time: t1, Version: 2},
			{MemoryID: "a", Type: backends.EventSuperseded, Old: "2", New: "3", By: "b", Actor: "model", Role: "role of model", Time: t2, Version: 3},
		}, e.history("a"))
		require.Equal(e, []backends.Event{
			{MemoryID: "b", Type: backends.EventAdded, New: "3", Supersedes: "a", Actor: "model", Role: "role of model", Time: t2, Version: 3},
			{MemoryID: "b", Type: backends.EventRetracted, Old: "3", Actor: "bob", Role: "role of bob", Time: t3, Version: 4},
		}, e.history("b"))
		require.Empty(e, e.history("unknown"))
		require.Empty(e, e.history(""))
	}},
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
		require.Equal(e, backends.Event{MemoryID: "a", Type: backends.EventDeleted, Old: fmt.Sprint(n - 1), Time: e.clock.Now(), Version: n + 1}, events[n])
		require.Equal(e, backends.EventDeleted, events[n+2].Type)
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
	{"a restored record is as it was, with its history", func(e *env) {
		at := e.clock.Now().Add(-time.Hour)
		r := record("a", "lives in Oslo")
		r.Created, r.Updated, r.Version, r.Supersedes, r.Vector = at, at.Add(1), 7, "b", []byte{1}
		events := []backends.Event{
			{MemoryID: "a", Type: backends.EventAdded, New: "lives in Rome", Time: at, Version: 3},
			{MemoryID: "a", Type: backends.EventUpdated, Old: "lives in Rome", New: "lives in Oslo", Actor: "ann", Role: "user", Time: at, Version: 7},
		}
		gone := []backends.Event{
			{MemoryID: "gone", Type: backends.EventAdded, New: "x", Time: at, Version: 9},
			{MemoryID: "gone", Type: backends.EventDeleted, Old: "x", Time: at, Version: 12},
		}
		a := e.apply(store.Restore("a", r, events), store.Restore("gone", nil, gone))
		require.Equal(e, []store.Result{{ID: "a", Event: backends.EventAdded}, {ID: "gone", Event: backends.EventDeleted}}, a.Results)
		require.Equal(e, int64(12), a.Version)
		require.Equal(e, *r, e.one("a"))
		require.Equal(e, events, e.history("a"))
		require.Equal(e, gone, e.history("gone"))
		require.Equal(e, []string{"gone"}, e.deleted(0))
		e.conflicts(store.Restore("a", r, events))
		e.conflicts(store.Restore("a", nil, events))
		e.apply(put("a", "lives in Bergen"))
		require.Equal(e, int64(13), e.history("a")[2].Version)
	}},
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
