// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// hostile are names that are all legal, and that have been taken for another one
// somewhere: by a key that is joined with ':', a hash tag, a pattern, a quote, a
// case or a normalisation that folds.
var hostile = []string{
	"a", "A", "a:b", "a/b", "a%2Fb", "a%3Ab", "%61", "{a}", "{a", "a}", "{}", "a,b", "a b", "a  b", "a.b", "a_b", "a-b", "a%", "%", "?", "[a]", "a?", `\`, `a\b`,
	"'", `"`, "a'; DROP TABLE records; --", "é", "e\u0301", "ａ", "а" /* Cyrillic */, "🎈", "日本語", "\u200b", "null", "0", "00", "-1", "1e3", "0x1", "..", "default", "user",
}

var isolationBehaviours = []behaviour{
	{"partitions with look-alike names never meet", partitionsNeverMeet},
	{"sessions with look-alike names never meet", sessionsNeverMeet},
	{"records with look-alike ids never meet", recordsNeverMeet},
	{"blobs with look-alike names never meet", blobsNeverMeet},
	{"messages with look-alike ids never meet", messagesNeverMeet},
}

// lookAlikes are partitions whose names are put together from the same parts.
func lookAlikes(namespace string) []backends.Partition {
	var out []backends.Partition
	for _, id := range hostile {
		for _, kind := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace} {
			out = append(out, backends.Partition{Namespace: namespace, Kind: kind, ID: id})
		}
	}
	for _, suffix := range []string{":user", "/user", "/user/a", ":user:a", " ", "}", "%"} {
		out = append(out, backends.Partition{Namespace: namespace + suffix + "x", Kind: backends.PartitionUser, ID: "a"})
	}
	return append(out, backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "user/a"},
		backends.Partition{Namespace: namespace + "/user", Kind: backends.PartitionUser, ID: "a"})
}

func partitionsNeverMeet(e *env) {
	all := lookAlikes(e.p.Namespace)
	for i, p := range all {
		in := e.in(p)
		require.Empty(e, in.get("a"), "%v", p)
		in.apply(store.Put(record("a", fmt.Sprint(i))))
		in.append("s", message("m1", fmt.Sprint(i)))
		in.putBlob("s", "b", []byte(fmt.Sprint(i)))
	}
	for i, p := range all {
		in := e.in(p)
		require.Equal(e, fmt.Sprint(i), in.one("a").Text, "%v", p)
		require.Len(e, in.history("a"), 1, "%v", p)
		require.Equal(e, fmt.Sprint(i), in.read("s", store.Range{})[0].Content, "%v", p)
		require.Equal(e, []byte(fmt.Sprint(i)), in.blob("s", "b"), "%v", p)
		require.Len(e, in.list(store.SessionQuery{}), 1, "%v", p)
		require.Equal(e, store.DropCount{Records: 1, Sessions: 1, Messages: 1, Blobs: 1}, in.drop(), "%v", p)
	}
}

func sessionsNeverMeet(e *env) {
	all := append([]string{""}, hostile...)
	for _, id := range all {
		e.noSession(id)
		require.Equal(e, int64(1), e.append(id, message("m1", "in "+id)).LastSeq)
	}
	require.Len(e, e.list(store.SessionQuery{Page: store.Page{Limit: 1000}}), len(all))
	for _, id := range all {
		require.Equal(e, "in "+id, e.read(id, store.Range{})[0].Content)
		require.Equal(e, id, e.session(id).ID)
		require.NoError(e, e.Delete(e.ctx, e.p, id))
		e.noSession(id)
	}
}

func recordsNeverMeet(e *env) {
	all := append([]string{"\x00", "a\x00b", "*", " ", " a", "a\n"}, hostile...)
	for i, id := range all {
		require.Equal(e, backends.EventAdded, e.apply(store.Put(record(id, id))).Results[0].Event, "%q", id)
		require.Len(e, e.index().follow().records, i+1)
	}
	require.Equal(e, all, ids(e.get(all...)))
	for _, id := range all {
		require.Equal(e, id, e.one(id).Text)
		e.apply(store.Delete(id))
		require.Len(e, e.history(id), 2, "%q", id)
	}
	require.Empty(e, e.index().follow().records)
}

func blobsNeverMeet(e *env) {
	for _, session := range []string{"", "a", "a:b", "b"} {
		for _, name := range hostile {
			e.noBlob(session, name)
			e.putBlob(session, name, []byte(session+"|"+name))
		}
	}
	for _, session := range []string{"", "a", "a:b", "b"} {
		for _, name := range hostile {
			require.Equal(e, session+"|"+name, string(e.blob(session, name)))
		}
	}
}

func messagesNeverMeet(e *env) {
	all := append([]string{"\x00", "a\x00b", "*", " "}, hostile...)
	for i, id := range all {
		require.Equal(e, int64(i+1), e.append("s", message(id, id)).LastSeq, "%q", id)
	}
	for i, entry := range e.read("s", store.Range{}) {
		require.Equal(e, all[i], entry.ID)
	}
}
