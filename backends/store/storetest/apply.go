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
	{"what is put comes back as it was given", fieldsAreKept},
	{"a store neither changes nor keeps the caller's record", callersRecordIsTheirs},
	{"created and updated are set where they are zero", timesAreSet},
	{"records are got in the order asked for, without those that do not exist", getKeepsTheOrder},
	{"records are got whether they are active, expired or not", getHidesNothing},
	{"a batch that changes something raises the version by one", versionRises},
	{"a batch that changes nothing leaves the version", versionStays},
	{"a failing mutation leaves nothing of its batch", batchesAreAtomic},
	{"mutations of a batch see those before them", mutationsAreInOrder},
	{"an expected version that does not hold fails the batch", expectedVersions},
	{"a session that does not hold fails the batch", sessionFailsTheBatch},
	{"a session is updated in the same write", sessionIsUpdated},
	{"five thousand mutations are one batch", largeBatch},
}

func fieldsAreKept(e *env) {
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

	bare := record("bare", "")
	bare.Kind = ""
	e.apply(store.Put(bare))
	require.Empty(e, e.one("bare").Vector)
	require.Empty(e, e.one("bare").Text)
}

func callersRecordIsTheirs(e *env) {
	r := record("a", "before")
	r.Metadata, r.Vector = map[string]any{"k": "before"}, []byte{1}
	e.apply(store.Put(r), store.Put(record("old", "o")))
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

	s := record("new", "n")
	e.apply(store.Supersede("old", s))
	require.Empty(e, s.Supersedes)
}

func timesAreSet(e *env) {
	first := e.clock.Now()
	e.apply(store.Put(record("a", "1")))
	require.Equal(e, first, e.one("a").Created)
	require.Equal(e, first, e.one("a").Updated)

	second := e.clock.pass(time.Hour)
	e.apply(store.Put(record("a", "2")))
	require.Equal(e, first, e.one("a").Created, "an update keeps when it was first stored")
	require.Equal(e, second, e.one("a").Updated)

	given := record("a", "3")
	given.Created, given.Updated = first.Add(-time.Hour), first.Add(-time.Minute)
	e.apply(store.Put(given))
	require.Equal(e, given.Created, e.one("a").Created)
	require.Equal(e, given.Updated, e.one("a").Updated)
}

func getKeepsTheOrder(e *env) {
	require.Empty(e, e.get("a"))
	require.Empty(e, e.get())
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "2")), store.Put(record("c", "3")))
	require.Equal(e, []string{"c", "a", "b"}, ids(e.get("c", "nobody", "a", "", "b", "A")))
}

func getHidesNothing(e *env) {
	gone := record("expired", "x")
	gone.Expires = e.clock.Now()
	e.apply(store.Put(gone), store.Put(record("old", "o")), store.Put(record("retracted", "r")),
		store.Supersede("old", record("new", "n")), store.Retract("retracted", time.Time{}))
	e.clock.pass(48 * time.Hour)
	require.Equal(e, []string{"expired", "old", "retracted", "new"}, ids(e.get("expired", "old", "retracted", "new")))
	require.Len(e, e.index().follow().records, 4)
}

func versionRises(e *env) {
	for i := int64(1); i <= 5; i++ {
		a := e.apply(store.Put(record("a", "same")), store.Put(record(fmt.Sprint(i), "x")))
		require.Equal(e, i, a.Version)
		require.Equal(e, i, e.one("a").Version)
		require.False(e, a.Replayed)
		require.Nil(e, a.Session)
	}
	require.Equal(e, int64(2), e.one("2").Version, "what did not change keeps its version")
	require.Equal(e, int64(6), e.applyBatch(&store.Batch{Embedding: &store.Embedding{Model: "m", Dim: 3}}).Version)
	e.append("s", message("m", "hi"))
	require.Equal(e, int64(7), e.applyBatch(&store.Batch{Session: &store.SessionUpdate{Session: "s", Watermark: ptr(int64(1))}}).Version)
	require.Equal(e, int64(7), e.index().follow().version)
}

func versionStays(e *env) {
	require.Zero(e, e.apply().Version)
	require.Zero(e, e.apply(store.Delete("nobody")).Version)
	e.apply(store.Put(record("a", "1")), store.Retract("a", time.Time{}))
	space := &store.Embedding{Model: "m", Dim: 3}
	e.applyBatch(&store.Batch{Embedding: space})
	x := e.index().follow()
	for _, b := range []*store.Batch{
		{}, {Key: "k"}, {Embedding: space}, {Embedding: space, Reembed: true},
		{Mutations: []store.Mutation{store.Delete("nobody")}},
		{Mutations: []store.Mutation{store.Retract("a", e.clock.Now())}},
	} {
		a := e.applyBatch(b)
		require.Equal(e, int64(2), a.Version)
		for _, r := range a.Results {
			require.Empty(e, r.Event)
		}
		set := x.page()
		require.Empty(e, set.Records)
		require.Empty(e, set.Removed)
		require.Equal(e, int64(2), set.Version)
	}
}

// failing are mutations that conflict with a partition that holds the active
// records a and b and the retracted c.
func failing(now time.Time) map[string]store.Mutation {
	with := func(m store.Mutation, version int64) store.Mutation {
		m.Expect = version
		return m
	}
	return map[string]store.Mutation{
		"put what must not exist":       with(store.Put(record("a", "x")), store.MustNotExist),
		"put over another version":      with(store.Put(record("a", "x")), 99),
		"put over what is not there":    with(store.Put(record("nobody", "x")), 1),
		"supersede what is not there":   store.Supersede("nobody", record("x", "x")),
		"supersede what was retracted":  store.Supersede("c", record("x", "x")),
		"supersede another version":     with(store.Supersede("a", record("x", "x")), 99),
		"retract what is not there":     store.Retract("nobody", now),
		"retract another version":       with(store.Retract("a", now), 99),
		"delete another version":        with(store.Delete("a"), 99),
		"delete what is not there":      with(store.Delete("nobody"), 1),
		"increment what is not there":   store.Increment("nobody", "n", 1),
		"increment what is no number":   store.Increment("a", "text", 1),
		"increment another version":     with(store.Increment("a", "n", 1), 99),
		"supersede one that was hidden": store.Supersede("b", record("x", "x")), // batchesAreAtomic hides b before it
	}
}

func batchesAreAtomic(e *env) {
	a := record("a", "1")
	a.Metadata = map[string]any{"text": "x"}
	e.apply(store.Put(a), store.Put(record("b", "2")), store.Put(record("c", "3")), store.Retract("c", time.Time{}))
	e.append("s", message("m1", "hi"))
	for name, bad := range failing(e.clock.Now()) {
		e.fails(backends.ErrConflict, &store.Batch{
			Key: "k", Embedding: &store.Embedding{Model: "m", Dim: 1},
			Session: &store.SessionUpdate{Session: "s", Summary: ptr("no")},
			Mutations: []store.Mutation{
				store.Put(record("new", "n")), store.Put(record("a2", "1a")), store.Supersede("b", record("b2", "2b")), store.Increment("a", "n", 1),
				bad, store.Delete("a"), store.Retract("b2", time.Time{}),
			},
		}, name)
		require.Empty(e, e.history("new"), name)
		require.Empty(e, e.get("new", "b2", "x"), name)
	}
	require.False(e, e.applyBatch(&store.Batch{Key: "k"}).Replayed, "a batch that failed does not use up its key")
}

func mutationsAreInOrder(e *env) {
	a := e.apply(store.Put(record("a", "1")), store.Put(record("a", "2")), store.Supersede("a", record("b", "3")),
		store.Increment("b", "n", 2), store.Increment("b", "n", 3), store.Delete("a"), store.Put(record("a", "again")))
	require.Equal(e, []store.Result{
		{ID: "a", Event: backends.EventAdded}, {ID: "a", Event: backends.EventUpdated}, {ID: "b", Event: backends.EventSuperseded},
		{ID: "b", Event: backends.EventUpdated, Value: 2}, {ID: "b", Event: backends.EventUpdated, Value: 5},
		{ID: "a", Event: backends.EventDeleted}, {ID: "a", Event: backends.EventAdded},
	}, a.Results)
	require.Equal(e, "again", e.one("a").Text)
	require.Equal(e, 5.0, e.one("b").Metadata["n"])
}

func expectedVersions(e *env) {
	m := store.Put(record("a", "1"))
	m.Expect = store.MustNotExist
	v1 := e.apply(m).Version
	e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{m}})
	e.apply(store.Put(record("b", "other"))) // the partition's version moves on, that of a does not

	for _, next := range []func(int64) store.Mutation{
		func(int64) store.Mutation { return store.Put(record("a", "2")) },
		func(int64) store.Mutation { return store.Increment("a", "n", 1) },
		func(int64) store.Mutation { return store.Retract("a", time.Time{}) },
		func(int64) store.Mutation { return store.Delete("a") },
	} {
		stale, current := next(v1), next(v1)
		stale.Expect, current.Expect = v1-1, v1
		if stale.Expect == 0 {
			stale.Expect = 1000
		}
		e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{stale}})
		v1 = e.apply(current).Version
	}
	e.apply(m) // it was deleted: it may be created again
}

func sessionFailsTheBatch(e *env) {
	e.append("s", message("m1", "hi"))
	stale := e.update(&store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w1", For: time.Minute}}).Lease.Token
	e.clock.pass(2 * time.Minute)
	e.update(&store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w2", For: time.Minute}})
	put := []store.Mutation{store.Put(record("a", "learnt twice"))}
	for name, u := range map[string]*store.SessionUpdate{
		"stale token":   {Session: "s", Token: stale, Watermark: ptr(int64(1))},
		"stale version": {Session: "s", Version: 1, Watermark: ptr(int64(1))},
		"held lease":    {Session: "s", Acquire: &store.Acquire{Owner: "w3", For: time.Minute}},
	} {
		e.fails(backends.ErrConflict, &store.Batch{Mutations: put, Session: u, Key: "k"}, name)
		require.Empty(e, e.history("a"), name)
	}
	before := e.state()
	_, err := e.Apply(e.ctx, e.p, &store.Batch{Mutations: put, Session: &store.SessionUpdate{Session: "nobody", Summary: ptr("x")}})
	require.ErrorIs(e, err, backends.ErrNotFound)
	require.Equal(e, before, e.state())
	require.False(e, e.applyBatch(&store.Batch{Key: "k", Mutations: put}).Replayed)
}

func sessionIsUpdated(e *env) {
	e.append("s", message("m1", "hi"), message("m2", "ho"))
	token := e.update(&store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w", For: time.Minute}}).Lease.Token
	a := e.applyBatch(&store.Batch{
		Mutations: []store.Mutation{store.Put(record("a", "1"))},
		Session:   &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(2)), Summary: ptr("greetings"), Release: true},
	})
	require.NotNil(e, a.Session)
	require.Equal(e, *e.session("s"), *a.Session)
	require.Equal(e, int64(2), a.Session.Watermark)
	require.Equal(e, "greetings", a.Session.Summary)
	require.Empty(e, a.Session.Lease.Owner)
}

func largeBatch(e *env) {
	const n = 5000
	var b store.Batch
	for i := range n {
		b.Mutations = append(b.Mutations, store.Put(record(fmt.Sprintf("r%04d", i), "x")))
	}
	require.Equal(e, int64(1), e.applyBatch(&b).Version)
	set, err := e.Changes(e.ctx, e.p, "")
	require.NoError(e, err)
	require.Len(e, set.Records, n, "a page does not split a batch")
	require.False(e, set.More)
}
