// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// index follows a partition through Changes, as an index in memory does.
type index struct {
	env     *env
	cursor  string
	version int64
	records map[string]store.Record
	space   *store.Embedding
	resets  int
	pages   int
}

func (e *env) index() *index { return &index{env: e, records: map[string]store.Record{}} }

// page reads one page and carries it out as the contract says.
func (x *index) page() *store.ChangeSet {
	x.env.Helper()
	set, err := x.env.Changes(x.env.ctx, x.env.p, x.cursor)
	require.NoError(x.env, err)
	x.pages++
	if set.Reset {
		x.resets++
		x.records = map[string]store.Record{}
	}
	seen := map[string]bool{}
	for _, r := range set.Records {
		require.False(x.env, seen[r.ID], "record %q twice in a page", r.ID)
		seen[r.ID] = true
		x.records[r.ID] = r
	}
	for _, id := range set.Removed {
		delete(x.records, id)
	}
	x.cursor, x.version, x.space = set.Cursor, set.Version, set.Embedding
	return set
}

// follow reads pages until there are no more.
func (x *index) follow() *index {
	x.env.Helper()
	for x.page().More {
		require.Less(x.env, x.pages, 100_000, "pages without an end")
	}
	return x
}

// sorted returns what the index holds, by id.
func (x *index) sorted() []store.Record {
	out := []store.Record{}
	for _, r := range x.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b store.Record) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// state is all that can be seen of a partition.
type state struct {
	Version   int64
	Records   []store.Record
	Embedding *store.Embedding
	Events    map[string][]backends.Event
	Sessions  []store.Session
	Entries   map[string][]store.Entry
}

func (e *env) state() state {
	e.Helper()
	x := e.index().follow()
	out := state{Version: x.version, Records: x.sorted(), Embedding: x.space,
		Events: map[string][]backends.Event{}, Entries: map[string][]store.Entry{}}
	for _, r := range out.Records {
		out.Events[r.ID] = e.history(r.ID)
	}
	for _, s := range e.list(store.SessionQuery{}) {
		out.Sessions = append(out.Sessions, s)
		out.Entries[s.ID] = e.read(s.ID, store.Range{})
	}
	return out
}

// list returns all sessions of the partition that match.
func (e *env) list(q store.SessionQuery) []store.Session {
	e.Helper()
	q.Partition = &e.p
	var out []store.Session
	for {
		page, err := e.List(e.ctx, q)
		require.NoError(e, err)
		out = append(out, page.Sessions...)
		if q.Page.Cursor = page.Next; page.Next == "" {
			return out
		}
	}
}
