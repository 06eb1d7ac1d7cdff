// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var embeddingBehaviours = []behaviour{
	{"the first embedding becomes the partition's", firstEmbedding},
	{"another embedding is refused with all of its batch", otherEmbedding},
	{"reembedding replaces it", reembedding},
	{"each partition has its own embedding", embeddingIsLocal},
}

func small() *store.Embedding { return &store.Embedding{Model: "small", Dim: 3} }

func firstEmbedding(e *env) {
	x := e.index().follow()
	require.Nil(e, x.space)
	e.apply(store.Put(record("a", "no vector yet")))
	require.Nil(e, x.follow().space)
	given := small()
	e.applyBatch(&store.Batch{Embedding: given, Mutations: []store.Mutation{store.Put(record("b", "2"))}})
	given.Dim = 99
	require.Equal(e, small(), x.follow().space)
	e.apply(store.Put(record("c", "a batch without one")))
	require.Equal(e, small(), x.follow().space)
	x.space.Dim = 99
	require.Equal(e, small(), x.follow().space, "nothing changed, and still it is told")
}

func otherEmbedding(e *env) {
	e.applyBatch(&store.Batch{Embedding: small()})
	for _, other := range []store.Embedding{{Model: "small", Dim: 4}, {Model: "large", Dim: 3}} {
		e.fails(backends.ErrDimension, &store.Batch{Key: "k", Embedding: &other, Mutations: []store.Mutation{store.Put(record("a", "1"))}})
	}
	e.applyBatch(&store.Batch{Embedding: small(), Mutations: []store.Mutation{store.Put(record("a", "1"))}})
}

func reembedding(e *env) {
	a := record("a", "1")
	a.Vector = []byte{1, 2, 3}
	e.applyBatch(&store.Batch{Embedding: small(), Mutations: []store.Mutation{store.Put(a)}})
	x := e.index().follow()
	large := &store.Embedding{Model: "large", Dim: 4}
	a.Vector = []byte{1, 2, 3, 4}
	e.applyBatch(&store.Batch{Embedding: large, Reembed: true, Mutations: []store.Mutation{store.Put(a)}})
	x.follow()
	require.Equal(e, large, x.space)
	require.Equal(e, []byte{1, 2, 3, 4}, x.records["a"].Vector)
	e.fails(backends.ErrDimension, &store.Batch{Embedding: small()})
}

func embeddingIsLocal(e *env) {
	e.applyBatch(&store.Batch{Embedding: small()})
	bob := e.user("bob")
	bob.applyBatch(&store.Batch{Embedding: &store.Embedding{Model: "large", Dim: 4}})
	require.Equal(e, small(), e.index().follow().space)
	e.drop()
	require.Nil(e, e.index().follow().space)
	e.applyBatch(&store.Batch{Embedding: &store.Embedding{Model: "new", Dim: 5}})
}
