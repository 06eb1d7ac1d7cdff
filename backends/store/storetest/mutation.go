// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var mutationBehaviours = []behaviour{
	{"a superseded record keeps its text and names its successor", supersedeHides},
	{"a record is superseded since the successor is valid, observed, or now", supersedeSince},
	{"a chain of successors can be walked both ways", supersedeChain},
	{"a record may supersede by one that exists", supersedeByExisting},
	{"a retracted record holds no more since the given time, or now", retractSince},
	{"what is retracted or superseded is left so", retractTwice},
	{"a deleted record is gone and may come back", deleteRemoves},
	{"an increment adds to a number, which is 0 when absent", incrementAdds},
	{"a hundred increments at the same time add a hundred", incrementIsAtomic},
	{"one of many puts that create wins", createOnce},
}

func supersedeHides(e *env) {
	old := record("old", "lives in Rome")
	old.Vector, old.Metadata = []byte{1, 2}, map[string]any{"k": "v"}
	e.apply(store.Put(old))
	before := e.one("old")
	now := e.clock.pass(time.Hour)
	a := e.apply(store.Supersede("old", record("new", "lives in Oslo")))
	require.Equal(e, []store.Result{{ID: "new", Event: backends.EventSuperseded}}, a.Results)

	want := before
	want.SupersededBy, want.Invalidated, want.Updated, want.Version = "new", now, now, a.Version
	require.Equal(e, want, e.one("old"), "text, vector, metadata and created are as before")
	successor := e.one("new")
	require.Equal(e, "old", successor.Supersedes)
	require.True(e, successor.Active())
	require.Equal(e, a.Version, successor.Version)
	require.Equal(e, now, successor.Created)
}

func supersedeSince(e *env) {
	now := e.clock.Now()
	valid, observed := now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	for _, c := range []struct {
		name                  string
		valid, observed, want time.Time
	}{
		{"both", valid, observed, valid}, {"valid", valid, time.Time{}, valid},
		{"observed", time.Time{}, observed, observed}, {"neither", time.Time{}, time.Time{}, now},
	} {
		r := record(c.name+" new", "x")
		r.Valid, r.Observed = c.valid, c.observed
		e.apply(store.Put(record(c.name, "x")), store.Supersede(c.name, r))
		require.Equal(e, c.want, e.one(c.name).Invalidated, c.name)
	}
}

func supersedeChain(e *env) {
	e.apply(store.Put(record("a", "1")))
	e.apply(store.Supersede("a", record("b", "2")))
	e.apply(store.Supersede("b", record("c", "3")))
	require.Equal(e, "b", e.one("a").SupersededBy)
	require.Equal(e, "a", e.one("b").Supersedes)
	require.Equal(e, "c", e.one("b").SupersededBy)
	require.Equal(e, "b", e.one("c").Supersedes)
	e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{store.Supersede("a", record("d", "4"))}})
	e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{store.Supersede("b", record("d", "4"))}})
	last := e.one("c")
	require.True(e, last.Active())
}

func supersedeByExisting(e *env) {
	e.apply(store.Put(record("old", "o")), store.Put(record("new", "before")))
	e.apply(store.Supersede("old", record("new", "after")))
	require.Equal(e, "after", e.one("new").Text)
	require.Equal(e, "old", e.one("new").Supersedes)
	events := e.history("new")
	require.Len(e, events, 2)
	require.Equal(e, backends.EventUpdated, events[1].Type)
	require.Equal(e, "before", events[1].Old)
}

func retractSince(e *env) {
	now := e.clock.Now()
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "2")))
	e.clock.pass(time.Minute)
	a := e.apply(store.Retract("a", now.Add(-time.Hour)), store.Retract("b", time.Time{}))
	require.Equal(e, backends.EventRetracted, a.Results[0].Event)
	require.Equal(e, now.Add(-time.Hour), e.one("a").Invalidated)
	require.Equal(e, now.Add(time.Minute), e.one("b").Invalidated)
	for _, r := range e.get("a", "b") {
		require.False(e, r.Active())
		require.Empty(e, r.SupersededBy)
		require.Equal(e, a.Version, r.Version)
	}
}

func retractTwice(e *env) {
	e.apply(store.Put(record("a", "1")), store.Put(record("old", "o")), store.Supersede("old", record("new", "n")), store.Retract("a", time.Time{}))
	before := e.state()
	e.clock.pass(time.Hour)
	a := e.apply(store.Retract("a", e.clock.Now()), store.Retract("old", time.Time{}))
	require.Equal(e, []store.Result{{ID: "a"}, {ID: "old"}}, a.Results)
	require.Equal(e, before, e.state())
}

func deleteRemoves(e *env) {
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "2")))
	a := e.apply(store.Delete("a"), store.Delete("nobody"))
	require.Equal(e, []store.Result{{ID: "a", Event: backends.EventDeleted}, {ID: "nobody"}}, a.Results)
	require.Equal(e, []string{"b"}, ids(e.get("a", "b")))
	require.Empty(e, e.apply(store.Delete("a")).Results[0].Event)

	back := e.clock.pass(time.Hour)
	again := e.apply(store.Put(record("a", "again")))
	require.Equal(e, backends.EventAdded, again.Results[0].Event)
	require.Equal(e, back, e.one("a").Created)
}

func incrementAdds(e *env) {
	a := record("a", "1")
	a.Metadata, a.Vector = map[string]any{"calls": 3.0, "other": "x"}, []byte{7}
	e.apply(store.Put(a), store.Put(record("bare", "2")))
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
		e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{store.Increment("no", "n", 1)}}, value)
	}
}

func incrementIsAtomic(e *env) {
	const n = 100
	e.apply(store.Put(record("a", "1")))
	values := make([]float64, n)
	together(n, func(i int) error {
		a, err := e.Apply(e.ctx, e.p, &store.Batch{Mutations: []store.Mutation{store.Increment("a", "n", 1)}})
		if err == nil {
			values[i] = a.Results[0].Value
		}
		return err
	}, func(err error) { require.NoError(e, err) })
	require.Equal(e, float64(n), e.one("a").Metadata["n"])
	require.Equal(e, int64(n+1), e.one("a").Version)
	seen := map[float64]bool{}
	for _, v := range values {
		require.False(e, seen[v], "value %v twice", v)
		seen[v] = true
	}
}

func createOnce(e *env) {
	const n = 16
	won := make([]bool, n)
	together(n, func(i int) error {
		m := store.Put(record("a", "x"))
		m.Expect = store.MustNotExist
		_, err := e.Apply(e.ctx, e.p, &store.Batch{Mutations: []store.Mutation{m}})
		won[i] = err == nil
		return err
	}, func(err error) {
		if err != nil {
			require.ErrorIs(e, err, backends.ErrConflict)
		}
	})
	winners := 0
	for _, w := range won {
		if w {
			winners++
		}
	}
	require.Equal(e, 1, winners)
	require.Len(e, e.history("a"), 1)
}

// together runs fn n times at the same time, then check on each result.
func together(n int, fn func(i int) error, check func(error)) {
	errs, start := make([]error, n), make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		check(err)
	}
}
