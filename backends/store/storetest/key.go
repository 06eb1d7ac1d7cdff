// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var keyBehaviours = []behaviour{
	{"a repeated batch changes nothing and has the first results", repeatIsHarmless},
	{"a key is known for thirty days", keysAreKept},
	{"a key belongs to its partition", keysAreLocal},
	{"a repeated batch is not refused for what has changed since", repeatIsNotChecked},
	{"a batch that fails leaves its key unused", failureLeavesTheKey},
	{"hostile keys are different keys", keysAreDistinct},
}

func repeatIsHarmless(e *env) {
	e.append("s", message("m1", "hi"))
	a := record("a", "1")
	b := &store.Batch{Key: "k", Embedding: &store.Embedding{Model: "m", Dim: 2}, Session: &store.SessionUpdate{Session: "s", Watermark: ptr(int64(1))},
		Mutations: []store.Mutation{store.Put(a), store.Put(record("old", "o")), store.Supersede("old", record("new", "n")),
			store.Increment("a", "n", 2.5), store.Delete("nobody"), store.Retract("a", time.Time{}), store.Delete("a")}}
	first := e.applyBatch(b)
	require.False(e, first.Replayed)
	e.apply(store.Put(record("later", "x")))
	before := e.state()

	e.clock.pass(time.Hour)
	second := e.applyBatch(b)
	require.True(e, second.Replayed)
	require.Equal(e, first.Results, second.Results)
	require.Equal(e, first.Version, second.Version)
	require.NotNil(e, second.Session)
	require.Equal(e, *e.session("s"), *second.Session)
	require.Equal(e, before, e.state())

	other, err := e.Apply(e.ctx, e.p, &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(record("other", "x"))}})
	require.NoError(e, err)
	require.True(e, other.Replayed, "the key decides, not what the batch holds")
	require.Equal(e, first.Results, other.Results)
	require.Equal(e, before, e.state())
}

func keysAreKept(e *env) {
	b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(record("a", "1"))}}
	e.applyBatch(b)
	e.clock.pass(30*24*time.Hour - time.Second)
	e.applyBatch(&store.Batch{Key: "another"})
	require.True(e, e.applyBatch(b).Replayed)
}

func keysAreLocal(e *env) {
	b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(record("a", "1"))}}
	e.applyBatch(b)
	require.False(e, e.user("bob").applyBatch(b).Replayed)
	e.drop()
	require.False(e, e.applyBatch(b).Replayed, "Drop erases keys")
}

func repeatIsNotChecked(e *env) {
	e.append("s", message("m1", "hi"))
	token := e.update(&store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w", For: time.Minute}}).Lease.Token
	m := store.Put(record("a", "1"))
	m.Expect = store.MustNotExist
	b := &store.Batch{Key: "k", Mutations: []store.Mutation{m}, Embedding: &store.Embedding{Model: "m", Dim: 2},
		Session: &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(1)), Release: true}}
	first := e.applyBatch(b)
	e.applyBatch(&store.Batch{Embedding: &store.Embedding{Model: "other", Dim: 2}, Reembed: true})
	e.clock.pass(time.Hour)
	again := e.applyBatch(b)
	require.True(e, again.Replayed)
	require.Equal(e, first.Results, again.Results)

	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
	require.True(e, e.applyBatch(b).Replayed)
}

// Backends ask by a batch that cannot succeed whether a key is known.
func failureLeavesTheKey(e *env) {
	never := store.Delete("a")
	never.Expect = 1 << 53 // beyond any version
	ask := &store.Batch{Key: "k", Mutations: []store.Mutation{never}}
	e.fails(backends.ErrConflict, ask, "nothing is there")
	e.apply(store.Put(record("a", "1")))
	e.fails(backends.ErrConflict, ask, "another version is there")
	first := e.applyBatch(&store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(record("b", "2"))}})
	require.False(e, first.Replayed)
	before := e.state()
	known := e.applyBatch(ask)
	require.True(e, known.Replayed)
	require.Equal(e, first.Results, known.Results)
	require.Equal(e, before, e.state())
}

func keysAreDistinct(e *env) {
	for i, key := range hostile {
		a := e.applyBatch(&store.Batch{Key: key, Mutations: []store.Mutation{store.Put(record("a", key))}})
		require.False(e, a.Replayed, "%q", key)
		require.Equal(e, int64(i+1), a.Version)
	}
	for i, key := range hostile {
		a := e.applyBatch(&store.Batch{Key: key, Mutations: []store.Mutation{store.Put(record("a", key))}})
		require.True(e, a.Replayed, "%q", key)
		require.Equal(e, int64(i+1), a.Version)
		require.Equal(e, "a", a.Results[0].ID)
	}
	require.Equal(e, backends.EventUpdated, e.history("a")[len(hostile)-1].Type)
}
