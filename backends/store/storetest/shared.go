// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// sharedBehaviours are about two handles on one storage.
var sharedBehaviours = []struct {
	name string
	test func(a, b *env)
}{
	{"records of one handle are seen by the other", func(a, b *env) {
		x := b.index().follow()
		a.applyBatch(&store.Batch{Embedding: small(), Mutations: []store.Mutation{put("a", "1")}})
		require.Equal(a, "1", b.one("a").Text)
		require.Len(a, x.follow().records, 1)
		require.Equal(a, small(), x.space)
		b.apply(store.Supersede("a", record("a2", "2")))
		require.Equal(a, "a2", a.one("a").SupersededBy)
		require.Equal(a, a.history("a"), b.history("a"))
		a.apply(store.Delete("a2"))
		require.Equal(a, []string{"a"}, ids(x.follow().sorted()))
		require.Equal(a, a.partitions(0), b.partitions(0))
	}},
	{"sessions and blobs of one handle are seen by the other", func(a, b *env) {
		a.append("s", message("m1", "1"))
		require.Equal(a, int64(2), b.append("s", message("m1", "1"), message("m2", "2")).LastSeq)
		require.Equal(a, []int64{1, 2}, seqs(a.read("s", store.Range{})))
		a.putBlob("s", "b", []byte("x"))
		require.Equal(a, []byte("x"), b.blob("s", "b"))
		require.Equal(a, a.list(store.SessionQuery{}), b.list(store.SessionQuery{}))
		b.deleteSession("s")
		a.noSession("s")
		a.learnt("s", "m1")
		b.watermark(b.learnt("s", "m2"), 2, 2)
		a.append("s", message("m3", "z"))
		b.watermark(b.learnt("s", "m4"), 2, 4)
	}},
	{"expected versions and keys hold across handles", func(a, b *env) {
		v := a.apply(put("a", "1")).Version
		m := expecting(put("a", "2"), v)
		b.apply(m)
		a.conflicts(m)
		s := a.append("s", message("m1", "1"))
		b.append("s", message("m2", "1"))
		a.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: s.Version, Summary: ptr("x")})

		first := a.applyBatch(keyed("k", put("k", "1")))
		second := b.applyBatch(keyed("k", put("k", "1")))
		require.True(a, second.Replayed)
		require.Equal(a, first.Results, second.Results)
	}},
	// Of two summaries that continue the same one, the first is kept; appends in between
	// prevent none.
	{"a summary continues the one that it was made from", func(a, b *env) {
		a.append("s", message("m1", "1"), message("m2", "2"))
		summary := func(text string, from, upto int64) *store.SessionUpdate {
			return &store.SessionUpdate{Session: "s", Summarised: &from, Summary: &text, SummaryUpto: &upto}
		}
		b.append("s", message("m3", "3"))
		a.update(summary("a's", 0, 2))
		b.updateFails(backends.ErrConflict, summary("b's", 0, 3))
		a.append("s", message("m4", "4"))
		require.EqualValues(b, 3, b.update(summary("b's", 2, 3)).SummaryUpto)
		require.Equal(a, "b's", a.session("s").Summary)
	}},
	{"a lease holds across handles", func(a, b *env) {
		a.append("s", message("m1", "1"))
		token := a.acquire("w1").Token
		b.refused("w2")
		a.update(&store.SessionUpdate{Session: "s", Token: token, Release: true})
		b.acquire("w2")
		a.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(1))})
	}},
	{"a drop by one handle resets readers of the other", func(a, b *env) {
		a.fill()
		x := a.index().follow()
		b.drop()
		b.apply(put("new", "n"))
		require.Equal(a, []string{"new"}, ids(x.follow().sorted()))
		require.Equal(a, 1, x.resets)
	}},
	{"two handles that write at the same time lose nothing", func(a, b *env) {
		const n, each = 8, 10
		a.apply(put("count", "x"))
		a.allTogether(n, func(i int) error {
			e := []*env{a, b}[i%2]
			for j := range each {
				id := fmt.Sprintf("%d-%d", i, j)
				if err := errOf(e.Apply(e.ctx, e.p, batch(store.Increment("count", "n", 1), put(id, id)))); err != nil {
					return err
				}
				if err := errOf(e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(id, "x")}})); err != nil {
					return err
				}
			}
			return nil
		})
		require.Equal(a, float64(n*each), a.one("count").Metadata["n"])
		x := a.index().follow()
		require.Len(a, x.records, n*each+1)
		require.Equal(a, int64(n*each+1), x.version)
		for i, entry := range b.read("s", store.Range{}) {
			require.Equal(a, int64(i+1), entry.Seq)
		}
		require.Equal(a, int64(n*each), b.session("s").LastSeq)
	}},
}
