// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// briefBehaviours are about records that a batch touches more than once.
var briefBehaviours = []behaviour{
	{"a record that a batch creates and deletes is told in the history alone", briefRecord},
	{"a record that a batch deletes and puts again is changed, with its new vector", briefAbsence},
	{"a mutation may expect the version that its own batch gives", briefVersion},
}

func briefRecord(e *env) {
	put := func(id string) store.Mutation { return store.Put(record(id, "x")) }
	e.apply(put("was"), put("stays"))
	early, late := e.index().follow(), e.index().follow()
	e.apply(store.Delete("was"))
	require.Equal(e, []string{"was"}, late.page().Removed)

	require.Equal(e, int64(3), e.apply(put("new"), store.Delete("new"), put("was"), store.Delete("was")).Version)
	set := late.page()
	require.Equal(e, int64(3), set.Version)
	require.Empty(e, set.Records)
	require.Empty(e, set.Removed)
	require.Equal(e, []string{"was"}, early.page().Removed, "who read before the deletion hears of it still")
	require.Len(e, e.history("new"), 2)
	require.Len(e, e.history("was"), 4)

	e.apply(put("was"), put("new"))
	require.Len(e, late.page().Records, 2)
	e.apply(store.Delete("was"), store.Delete("new"))
	require.ElementsMatch(e, []string{"was", "new"}, late.page().Removed)
}

func briefAbsence(e *env) {
	with := func(text string, vector []byte) *store.Record {
		r := record("a", text)
		r.Vector = vector
		return r
	}
	for _, c := range []struct{ before, after []byte }{{[]byte{1}, []byte{2}}, {[]byte{1}, []byte{1}}, {[]byte{1}, nil}, {nil, []byte{1}}} {
		e.apply(store.Put(with("1", c.before)))
		x := e.index().follow()
		e.apply(store.Delete("a"), store.Put(with("2", c.after)), store.Increment("a", "n", 1))
		set := x.page()
		require.Empty(e, set.Removed)
		require.Len(e, set.Records, 1)
		require.Equal(e, "2", set.Records[0].Text)
		require.Equal(e, c.after, set.Records[0].Vector)
		require.Equal(e, 1.0, set.Records[0].Metadata["n"])
	}
}

func briefVersion(e *env) {
	expecting := func(version int64) store.Mutation {
		m := store.Put(record("a", "2"))
		m.Expect = version
		return m
	}
	e.apply(store.Put(record("b", "1")))
	require.Equal(e, int64(2), e.apply(store.Put(record("a", "1")), expecting(2)).Version)
	e.fails(backends.ErrConflict, &store.Batch{Mutations: []store.Mutation{store.Put(record("a", "3")), expecting(2)}})
}
