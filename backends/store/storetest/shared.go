// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// sharedBehaviour is a test of two handles on one storage.
type sharedBehaviour struct {
	name string
	test func(a, b *env)
}

var sharedBehaviours = []sharedBehaviour{
	{"records of one handle are seen by the other", sharedRecords},
	{"sessions and blobs of one handle are seen by the other", sharedSessions},
	{"an expected version holds across handles", sharedVersions},
	{"a summary goes on from the one that it was made from", sharedSummary},
	{"a lease holds across handles", sharedLease},
	{"a key holds across handles", sharedKeys},
	{"a drop of one handle resets readers of the other", sharedDrop},
	{"entries that are learnt from already, of two handles, wait for nobody", sharedLearnt},
	{"two handles that write at the same time lose nothing", sharedWrites},
}

func sharedRecords(a, b *env) {
	x := b.index().follow()
	a.applyBatch(&store.Batch{Embedding: small(), Mutations: []store.Mutation{store.Put(record("a", "1"))}})
	require.Equal(a, "1", b.one("a").Text)
	require.Len(a, x.follow().records, 1)
	require.Equal(a, small(), x.space)
	b.apply(store.Supersede("a", record("a2", "2")))
	require.Equal(a, "a2", a.one("a").SupersededBy)
	require.Equal(a, a.history("a"), b.history("a"))
	a.apply(store.Delete("a2"))
	require.Equal(a, []string{"a"}, ids(x.follow().sorted()))
	require.Equal(a, a.partitions(0), b.partitions(0))
}

func sharedSessions(a, b *env) {
	a.append("s", message("m1", "1"))
	require.Equal(a, int64(2), b.append("s", message("m1", "1"), message("m2", "2")).LastSeq)
	require.Equal(a, []int64{1, 2}, seqs(a.read("s", store.Range{})))
	a.putBlob("s", "b", []byte("x"))
	require.Equal(a, []byte("x"), b.blob("s", "b"))
	require.Equal(a, a.list(store.SessionQuery{}), b.list(store.SessionQuery{}))
	require.NoError(a, b.Delete(b.ctx, b.p, "s"))
	a.noSession("s")
}

func sharedVersions(a, b *env) {
	v := a.apply(store.Put(record("a", "1"))).Version
	m := store.Put(record("a", "2"))
	m.Expect = v
	b.apply(m)
	a.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{m}})
	s := a.append("s", message("m1", "1"))
	b.append("s", message("m2", "1"))
	a.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: s.Version, Summary: ptr("x")})
}

// Of two summaries that go on from one, the first is kept; what is appended
// meanwhile keeps nobody from writing one.
func sharedSummary(a, b *env) {
	a.append("s", message("m1", "1"), message("m2", "2"))
	first := func(text string, upto int64) *store.SessionUpdate {
		return &store.SessionUpdate{Session: "s", Summarised: ptr(int64(0)), Summary: ptr(text), SummaryUpto: ptr(upto)}
	}
	b.append("s", message("m3", "3"))
	a.update(first("a's", 2))
	b.updateFails(backends.ErrConflict, first("b's", 3))
	require.Equal(b, "a's", b.session("s").Summary)
	a.append("s", message("m4", "4"))
	got := b.update(&store.SessionUpdate{Session: "s", Summarised: ptr(int64(2)), Summary: ptr("b's"), SummaryUpto: ptr(int64(3))})
	require.EqualValues(b, 3, got.SummaryUpto)
	require.Equal(a, "b's", a.session("s").Summary)
}

func sharedLease(a, b *env) {
	a.append("s", message("m1", "1"))
	token := a.acquire("w1").Token
	b.refused("w2")
	a.update(&store.SessionUpdate{Session: "s", Token: token, Release: true})
	b.acquire("w2")
	a.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(1))})
}

func sharedKeys(a, b *env) {
	batch := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(record("a", "1"))}}
	first := a.applyBatch(batch)
	second := b.applyBatch(batch)
	require.True(a, second.Replayed)
	require.Equal(a, first.Results, second.Results)
}

func sharedDrop(a, b *env) {
	a.fill()
	x := a.index().follow()
	b.drop()
	b.apply(store.Put(record("new", "n")))
	require.Equal(a, []string{"new"}, ids(x.follow().sorted()))
	require.Equal(a, 1, x.resets)
}

func sharedWrites(a, b *env) {
	const n, each = 8, 10
	a.apply(store.Put(record("count", "x")))
	together(n, func(i int) error {
		e := []*env{a, b}[i%2]
		for j := range each {
			id := fmt.Sprintf("%d-%d", i, j)
			if _, err := e.Apply(e.ctx, e.p, &store.Batch{Mutations: []store.Mutation{store.Increment("count", "n", 1), store.Put(record(id, id))}}); err != nil {
				return err
			}
			if _, err := e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(id, "x")}}); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { require.NoError(a, err) })
	require.Equal(a, float64(n*each), a.one("count").Metadata["n"])
	x := a.index().follow()
	require.Len(a, x.records, n*each+1)
	require.Equal(a, int64(n*each+1), x.version)
	for i, entry := range b.read("s", store.Range{}) {
		require.Equal(a, int64(i+1), entry.Seq)
	}
	require.Equal(a, int64(n*each), b.session("s").LastSeq)
}
