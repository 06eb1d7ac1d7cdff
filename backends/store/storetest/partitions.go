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

// fill stores something of everything that a partition can hold.
func (e *env) fill() {
	e.Helper()
	b := keyed("k", put("a", "1"), put("b", "2"), store.Supersede("a", record("c", "3")))
	b.Embedding = small()
	e.applyBatch(b)
	e.apply(store.Delete("b"), put("d", "4"))
	e.append("s", message("m1", "x"), message("m2", "y"))
	e.append("", message("m1", "x"))
	e.putBlob("s", "b1", []byte("1"))
	e.putBlob("no session", "b1", []byte("1"))
	e.putBlob("s", "b2", nil)
}

// partitions reads all pages of the partitions of the namespace.
func (e *env) partitions(limit int) []backends.Partition {
	e.Helper()
	return e.partitionsFrom(store.Page{Limit: limit})
}

func (e *env) partitionsFrom(page store.Page) []backends.Partition {
	e.Helper()
	return pages(e, page, nil, func(at store.Page) ([]backends.Partition, string) {
		got := must(e.Partitions(e.ctx, e.p.Namespace, at))(e)
		require.LessOrEqual(e, len(got.Partitions), at.Size())
		return got.Partitions, got.Next
	})
}

// finds reads all pages of the partitions that match, of a store that is a Finder.
func (e *env) finds(kind backends.PartitionKind, part string, limit int) (ids []string) {
	e.Helper()
	finder, ok := e.Store.(store.Finder)
	if !ok {
		e.Skip("this store is no store.Finder")
	}
	for _, p := range pages(e, store.Page{Limit: limit}, nil, func(at store.Page) ([]backends.Partition, string) {
		got := must(finder.FindPartitions(e.ctx, store.PartitionQuery{Namespace: e.p.Namespace, Kind: kind, Part: part, Page: at}))(e)
		require.LessOrEqual(e, len(got.Partitions), at.Size())
		return got.Partitions, got.Next
	}) {
		ids = append(ids, string(p.Kind)+" "+p.ID)
	}
	return ids
}

var kinds = []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace}

var partitionBehaviours = []behaviour{
	{"partitions that hold something are listed, whatever it is", func(e *env) {
		require.Empty(e, e.partitions(0))
		record, session, blob, gone, expired := e.user("record"), e.user("session"), e.user("blob"), e.user("gone"), e.user("expired")
		record.apply(put("a", ""))
		session.append("", message("m1", "x"))
		blob.putBlob("s", "b", []byte{})
		gone.fill()
		require.Equal(e, store.DropCount{Records: 4, Sessions: 2, Messages: 3, Blobs: 2}, gone.drop(), "a, c, d and the tombstone of b")
		expired.appendFor(time.Minute, "m1")
		expired.putBlob("s", "b", []byte("x"))
		require.ElementsMatch(e, []backends.Partition{record.p, session.p, blob.p, expired.p}, e.partitions(0))
		e.clock.pass(time.Hour)
		require.ElementsMatch(e, []backends.Partition{record.p, session.p, blob.p}, e.partitions(0))

		require.Empty(e, e.user("read only").index().follow().records)
		session.deleteSession("")
		blob.putBlob("s", "b", nil)
		record.apply(store.Delete("a"))
		require.Equal(e, []backends.Partition{record.p}, e.partitions(0), "a history is something")
	}},
	{"partitions are found by a part of their names, and facts are counted", func(e *env) {
		for i, id := range []string{"Ann Lee", "ann_b", "joanna", "bob", "100%", `back\slash`, "李雯"} {
			for _, kind := range kinds[:1+i%2] {
				p := e.p
				p.ID, p.Kind = id, kind
				e.in(p).apply(put("a", "1"), put("b", "2"))
			}
		}
		e.user("annexe: read only").index()
		for _, limit := range []int{1, 2, 100} {
			require.ElementsMatch(e, []string{"user Ann Lee", "user ann_b", "agent ann_b", "user joanna"}, e.finds("", "ANN", limit))
			require.ElementsMatch(e, []string{"user Ann Lee", "user ann_b", "user joanna"}, e.finds(backends.PartitionUser, "ann", limit))
		}
		for part, want := range map[string]string{"_": "ann_b", "%": "100%", `\`: `back\slash`, "雯": "李雯", "n_b": "ann_b"} {
			require.Equal(e, []string{"user " + want}, e.finds(backends.PartitionUser, part, 1), part)
		}
		require.Empty(e, e.finds("", "nobody", 1))
		require.Empty(e, e.finds(backends.PartitionWorkspace, "", 1))
		said, ended, retracted := record("said", "x"), record("ended", "x"), record("retracted", "x")
		said.Kind, ended.SupersededBy, retracted.Invalidated = backends.KindEpisode, "a", e.clock.Now()
		e.apply(store.Put(said), store.Put(ended), store.Put(retracted))
		require.EqualValues(e, 20, must(e.Store.(store.Finder).CountFacts(e.ctx, e.p.Namespace))(e))
	}},
	{"partitions that change while they are listed are listed exactly once", func(e *env) {
		var want []backends.Partition
		for i := range 23 {
			p := e.p
			p.ID, p.Kind = fmt.Sprint(i/3), kinds[i%3]
			e.in(p).apply(put("a", "1"))
			want = append(want, p)
		}
		first := must(e.Partitions(e.ctx, e.p.Namespace, store.Page{Limit: 5}))(e)
		added := e.user("added meanwhile")
		for _, p := range append(want, added.p) {
			e.in(p).apply(put("a", "2"))
		}
		got := append(first.Partitions, e.partitionsFrom(store.Page{Limit: 5, Cursor: first.Next})...)
		require.ElementsMatch(e, want, slices.DeleteFunc(got, func(p backends.Partition) bool { return p == added.p }))
	}},
}

// hostile are legal names that have been taken for another one somewhere. The causes are
// a key that is joined with ':', a hash tag, a pattern, a quote, a case or a
// normalisation that folds.
var hostile = []string{
	"a", "A", "a:b", "a/b", "a%2Fb", "a%3Ab", "%61", "{a}", "{a", "a}", "{}", "a,b", "a b", "a  b", "a.b", "a_b", "a-b",
	"a%", "%", "?", "[a]", "a?", `\`, `a\b`, "'", `"`, "a'; DROP TABLE records; --", "é", "e\u0301", "ａ", "а" /* Cyrillic */, "🎈", "日本語", "\u200b",
	"null", "0", "00", "-1", "1e3", "0x1", "..", "default", "user",
}

// lookAlikes are partitions whose names are put together from the same parts.
func lookAlikes(namespace string) []backends.Partition {
	var out []backends.Partition
	for _, id := range hostile {
		for _, kind := range kinds {
			out = append(out, backends.Partition{Namespace: namespace, Kind: kind, ID: id})
		}
	}
	for _, suffix := range []string{":user", "/user", "/user/a", ":user:a", " ", "}", "%"} {
		out = append(out, backends.Partition{Namespace: namespace + suffix + "x", Kind: backends.PartitionUser, ID: "a"})
	}
	return append(out, backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "user/a"},
		backends.Partition{Namespace: namespace + "/user", Kind: backends.PartitionUser, ID: "a"})
}

var isolationBehaviours = []behaviour{
	{"partitions with look-alike names never mix", func(e *env) {
		all := lookAlikes(e.p.Namespace)
		for i, p := range all {
			in := e.in(p)
			require.Empty(e, in.get("a"), "%v", p)
			in.apply(put("a", fmt.Sprint(i)))
			in.append("s", message("m1", fmt.Sprint(i)))
			in.putBlob("s", "b", []byte(fmt.Sprint(i)))
		}
		for i, p := range all {
			in := e.in(p)
			require.Equal(e, fmt.Sprint(i), in.one("a").Text, "%v", p)
			require.Len(e, in.history("a"), 1, "%v", p)
			require.Equal(e, fmt.Sprint(i), in.read("s", store.Range{})[0].Content, "%v", p)
			require.Equal(e, fmt.Sprint(i), string(in.blob("s", "b")), "%v", p)
			require.Len(e, in.list(store.SessionQuery{}), 1, "%v", p)
			require.Equal(e, store.DropCount{Records: 1, Sessions: 1, Messages: 1, Blobs: 1}, in.drop(), "%v", p)
		}
	}},
	{"sessions and keys with look-alike names never mix", func(e *env) {
		for i, id := range hostile {
			e.noSession(id)
			require.Equal(e, int64(1), e.append(id, message("m1", "in "+id)).LastSeq, "%q", id)
			applied := e.applyBatch(keyed(id, put("a", id)))
			require.False(e, applied.Replayed, "%q", id)
			require.Equal(e, int64(i+1), applied.Version, "%q", id)
		}
		require.Len(e, e.list(store.SessionQuery{Page: store.Page{Limit: 1000}}), len(hostile))
		for i, id := range hostile {
			again := e.applyBatch(keyed(id, put("b", id)))
			require.True(e, again.Replayed, "%q", id)
			require.Equal(e, int64(i+1), again.Version, "%q", id)
			require.Equal(e, "a", again.Results[0].ID)
			require.Equal(e, id, e.session(id).ID)
			require.Equal(e, "in "+id, e.read(id, store.Range{})[0].Content)
			e.deleteSession(id)
			e.noSession(id)
		}
	}},
	{"records and messages with look-alike ids never mix", func(e *env) {
		all := append([]string{"\x00", "a\x00b", "*", " ", " a", "a\n"}, hostile...)
		for i, id := range all {
			require.Equal(e, backends.OutcomeAdded, e.apply(put(id, id)).Results[0].Event, "%q", id)
			require.Len(e, e.index().follow().records, i+1)
			require.Equal(e, int64(i+1), e.append("s", message(id, id)).LastSeq, "%q", id)
		}
		require.Equal(e, all, ids(e.get(all...)))
		require.Equal(e, all, pluck(e.read("s", store.Range{}), func(m *store.Entry) string { return m.ID }))
		for _, id := range all {
			require.Equal(e, id, e.one(id).Text)
			e.apply(store.Delete(id))
			require.Len(e, e.history(id), 2, "%q", id)
		}
		require.Empty(e, e.index().follow().records)
		require.Equal(e, slices.Sorted(slices.Values(all)), e.deleted(0))
	}},
}
