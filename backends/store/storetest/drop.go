// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var dropBehaviours = []behaviour{
	{"a drop erases everything and counts it", dropErases},
	{"what does not exist is dropped as nothing", dropOfNothing},
	{"a drop leaves other partitions alone", dropIsLocal},
}

func (e *env) fill() {
	e.Helper()
	e.applyBatch(&store.Batch{Key: "k", Embedding: small(), Mutations: []store.Mutation{
		store.Put(record("a", "1")), store.Put(record("b", "2")), store.Supersede("a", record("c", "3"))}})
	e.apply(store.Delete("b"), store.Put(record("d", "4")))
	e.append("s", message("m1", "x"), message("m2", "y"))
	e.append("", message("m1", "x"))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b1", []byte("1")))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "no session", "b1", []byte("1")))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b2", nil))
}

func (e *env) isEmpty() {
	e.Helper()
	for _, id := range []string{"a", "b", "c", "d"} {
		require.Empty(e, e.get(id))
		require.Empty(e, e.history(id))
	}
	require.Empty(e, e.index().follow().records)
	e.noSession("s")
	e.noSession("")
	require.Empty(e, e.list(store.SessionQuery{}))
	for _, session := range []string{"s", "no session"} {
		_, err := e.GetBlob(e.ctx, e.p, session, "b1")
		require.ErrorIs(e, err, backends.ErrNotFound)
	}
}

func dropErases(e *env) {
	e.fill()
	require.Equal(e, store.DropCount{Records: 4, Sessions: 2, Messages: 3, Blobs: 2}, e.drop(), "a, c, d and the tombstone of b")
	e.isEmpty()
	require.Zero(e, e.drop())
	e.fill() // the key, the embedding and the ids are as new
	require.Equal(e, store.DropCount{Records: 4, Sessions: 2, Messages: 3, Blobs: 2}, e.drop())
	e.isEmpty()
}

func dropOfNothing(e *env) {
	require.Zero(e, e.drop())
	e.isEmpty()
}

func dropIsLocal(e *env) {
	bob := e.user("bob")
	e.fill()
	bob.fill()
	before := bob.state()
	e.drop()
	require.Equal(e, before, bob.state())
	data, err := bob.GetBlob(e.ctx, bob.p, "s", "b1")
	require.NoError(e, err)
	require.Equal(e, []byte("1"), data)
}

var partitionBehaviours = []behaviour{
	{"partitions that hold something are listed, whatever it is", partitionsThatHold},
	{"every partition is met exactly once in pages", partitionPages},
	{"a namespace lists its own partitions", partitionsOfNamespace},
}

func (e *env) partitions(limit int) []backends.Partition {
	e.Helper()
	var out []backends.Partition
	page := store.Page{Limit: limit}
	for {
		got, err := e.Partitions(e.ctx, e.p.Namespace, page)
		require.NoError(e, err)
		if limit > 0 {
			require.LessOrEqual(e, len(got.Partitions), limit)
		}
		out = append(out, got.Partitions...)
		if page.Cursor = got.Next; got.Next == "" {
			return out
		}
	}
}

func partitionsThatHold(e *env) {
	require.Empty(e, e.partitions(0))
	record, session, blob, gone, expired := e.user("record"), e.user("session"), e.user("blob"), e.user("gone"), e.user("expired")
	record.apply(store.Put(&store.Record{Memory: backends.Memory{ID: "a"}}))
	session.append("", message("m1", "x"))
	require.NoError(e, blob.PutBlob(e.ctx, blob.p, "s", "b", []byte{}))
	gone.fill()
	gone.drop()
	expired.appendAll("s", &store.Append{TTL: time.Minute, Entries: []store.Entry{message("m1", "x")}})
	expired.putBlob("s", "b", []byte("x"))
	require.ElementsMatch(e, []backends.Partition{record.p, session.p, blob.p, expired.p}, e.partitions(0))
	e.clock.pass(time.Hour)
	require.ElementsMatch(e, []backends.Partition{record.p, session.p, blob.p}, e.partitions(0))

	require.Empty(e, e.user("read only").get("a"))
	_, err := e.Changes(e.ctx, e.user("read only").p, "")
	require.NoError(e, err)
	require.NoError(e, session.Delete(e.ctx, session.p, ""))
	require.NoError(e, blob.PutBlob(e.ctx, blob.p, "s", "b", nil))
	require.Equal(e, []backends.Partition{record.p}, e.partitions(0))
}

func partitionPages(e *env) {
	var want []backends.Partition
	for i := range 23 {
		p := e.p
		p.ID, p.Kind = fmt.Sprint(i/3), []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace}[i%3]
		e.in(p).apply(store.Put(record("a", "1")))
		want = append(want, p)
	}
	for _, limit := range []int{1, 2, 5, 23, 24, 0} {
		require.ElementsMatch(e, want, e.partitions(limit), "pages of %d", limit)
	}

	first, err := e.Partitions(e.ctx, e.p.Namespace, store.Page{Limit: 5})
	require.NoError(e, err)
	added := e.user("added meanwhile")
	added.apply(store.Put(record("a", "1")))
	for _, p := range want { // every partition changes, and none is met twice or not at all
		e.in(p).apply(store.Put(record("a", "2")))
	}
	met := first.Partitions
	for page := (store.Page{Limit: 5, Cursor: first.Next}); page.Cursor != ""; {
		got, err := e.Partitions(e.ctx, e.p.Namespace, page)
		require.NoError(e, err)
		met, page.Cursor = append(met, got.Partitions...), got.Next
	}
	met = slices.DeleteFunc(met, func(p backends.Partition) bool { return p == added.p })
	require.ElementsMatch(e, want, met)
}

func partitionsOfNamespace(e *env) {
	other := e.p
	other.Namespace += "x"
	e.apply(store.Put(record("a", "1")))
	e.in(other).apply(store.Put(record("a", "1")))
	require.Equal(e, []backends.Partition{e.p}, e.partitions(0))
	require.Equal(e, []backends.Partition{other}, e.in(other).partitions(0))
}
