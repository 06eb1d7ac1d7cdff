// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// must returns the result of a call that must succeed.
func must[T any](v T, err error) func(*env) T {
	return func(e *env) T {
		e.Helper()
		require.NoError(e, err)
		return v
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// The methods below carry out a call that must succeed.

func (e *env) apply(ms ...store.Mutation) *store.Applied {
	e.Helper()
	return e.applyBatch(batch(ms...))
}

func (e *env) applyBatch(b *store.Batch) *store.Applied {
	e.Helper()
	out := must(e.Apply(e.ctx, e.p, b))(e)
	require.Len(e, out.Results, len(b.Mutations))
	return out
}

func (e *env) get(ids ...string) []store.Record   { return must(e.Get(e.ctx, e.p, ids...))(e) }
func (e *env) history(id string) []backends.Event { return must(e.History(e.ctx, e.p, id))(e) }
func (e *env) drop() store.DropCount              { return must(e.Drop(e.ctx, e.p))(e) }
func (e *env) session(id string) *store.Session   { return must(e.Session(e.ctx, e.p, id))(e) }
func (e *env) deleteSession(id string)            { require.NoError(e, e.Delete(e.ctx, e.p, id)) }
func (e *env) blob(session, name string) []byte   { return must(e.GetBlob(e.ctx, e.p, session, name))(e) }
func (e *env) putBlob(session, name string, data []byte) {
	e.Helper()
	require.NoError(e, e.PutBlob(e.ctx, e.p, session, name, data))
}

func (e *env) one(id string) store.Record {
	e.Helper()
	out := e.get(id)
	require.Len(e, out, 1, "record %q", id)
	return out[0]
}

func (e *env) append(session string, entries ...store.Entry) *store.Session {
	e.Helper()
	return e.appendAll(session, &store.Append{Entries: entries})
}

func (e *env) appendAll(session string, a *store.Append) *store.Session {
	e.Helper()
	return must(e.Append(e.ctx, e.p, session, a))(e)
}

// appendFor appends a message to the session "s", which ends after ttl.
func (e *env) appendFor(ttl time.Duration, id string) *store.Session {
	e.Helper()
	return e.appendAll("s", &store.Append{TTL: ttl, Entries: []store.Entry{message(id, "x")}})
}

func (e *env) read(session string, r store.Range) []store.Entry {
	e.Helper()
	return must(e.Read(e.ctx, e.p, session, r))(e)
}

func (e *env) update(u *store.SessionUpdate) *store.Session {
	e.Helper()
	return must(e.Update(e.ctx, e.p, u))(e)
}

// pages reads all pages of a listing and calls between, unless nil, after each but the last.
func pages[T any](e *env, at store.Page, between func(page int), read func(at store.Page) (some []T, next string)) []T {
	e.Helper()
	out := []T{}
	for i := 0; ; i++ {
		some, next := read(at)
		out = append(out, some...)
		if at.Cursor = next; next == "" {
			return out
		}
		require.Less(e, i, 1000, "a listing without an end")
		if between != nil {
			between(i)
		}
	}
}

// list returns all sessions of the partition that match.
func (e *env) list(q store.SessionQuery) []store.Session {
	e.Helper()
	q.Partition = &e.p
	all := e.listing(q, nil)
	byBeginning := func(a, b store.Session) int { return a.Created.Compare(b.Created) }
	require.True(e, slices.IsSortedFunc(all, byBeginning), "what began first comes first")
	return all
}

func (e *env) listing(q store.SessionQuery, between func(page int)) []store.Session {
	e.Helper()
	return pages(e, q.Page, between, func(at store.Page) ([]store.Session, string) {
		q.Page = at
		page := must(e.List(e.ctx, q))(e)
		return page.Sessions, page.Next
	})
}

// idPages reads all pages of a listing of ids, and returns them sorted.
func (e *env) idPages(list func(context.Context, backends.Partition, store.Page) (*store.IDPage, error), limit int) []string {
	e.Helper()
	out := pages(e, store.Page{Limit: limit}, nil, func(at store.Page) ([]string, string) {
		page := must(list(e.ctx, e.p, at))(e)
		return page.IDs, page.Next
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func (e *env) deleted(limit int) []string      { return e.idPages(e.Deleted, limit) }
func (e *env) blobSessions(limit int) []string { return e.idPages(e.BlobSessions, limit) }

// The methods below carry out a call that must fail.

// fails applies a batch that must fail, and proves that the state stays the same.
func (e *env) fails(target error, b *store.Batch, msg ...any) {
	e.Helper()
	before := e.state()
	require.ErrorIs(e, errOf(e.Apply(e.ctx, e.p, b)), target, msg...)
	require.Equal(e, before, e.state(), msg...)
}

// updateFails makes an update that must fail, alone and with a batch, and proves that the
// state stays the same.
func (e *env) updateFails(target error, u *store.SessionUpdate, msg ...any) {
	e.Helper()
	before := e.state()
	require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, u)), target, msg...)
	require.Equal(e, before, e.state(), msg...)
	b := keyed("refused", put("learnt", "twice"))
	b.Session = u
	e.fails(target, b, msg...)
	require.Empty(e, e.history("learnt"), msg...)
}

func (e *env) noSession(id string) {
	e.Helper()
	require.ErrorIs(e, errOf(e.Session(e.ctx, e.p, id)), backends.ErrNotFound)
	require.Empty(e, e.read(id, store.Range{}))
}

func (e *env) noBlob(session, name string) {
	e.Helper()
	require.ErrorIs(e, errOf(e.GetBlob(e.ctx, e.p, session, name)), backends.ErrNotFound)
}

// record makes a record with the given text.
func record(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
}

// put makes the mutation that puts such a record.
func put(id, text string) store.Mutation { return store.Put(record(id, text)) }

// batch makes a batch of mutations, keyed one with an idempotency key.
func batch(ms ...store.Mutation) *store.Batch { return &store.Batch{Mutations: ms} }

func keyed(key string, ms ...store.Mutation) *store.Batch {
	return &store.Batch{Key: key, Mutations: ms}
}

// small is an embedding of three dimensions.
func small() *store.Embedding { return &store.Embedding{Model: "small", Dim: 3} }

// expecting returns the mutation with the version that it expects.
func expecting(m store.Mutation, version int64) store.Mutation {
	m.Expect = version
	return m
}

// message makes an entry of a user's message.
func message(id, text string) store.Entry {
	return store.Entry{Message: backends.Message{ID: id, Turn: "t1", Message: schema.UserMessage(text)}}
}

// pluck returns a field of each element.
func pluck[T, F any](all []T, field func(*T) F) []F {
	out := []F{}
	for i := range all {
		out = append(out, field(&all[i]))
	}
	return out
}

func ids(all []store.Record) []string {
	return pluck(all, func(r *store.Record) string { return r.ID })
}
func seqs(all []store.Entry) []int64 { return pluck(all, func(e *store.Entry) int64 { return e.Seq }) }
func names(all []store.Session) []string {
	return pluck(all, func(s *store.Session) string { return s.ID })
}
func namesOf(all []store.BlobInfo) []string {
	return pluck(all, func(b *store.BlobInfo) string { return b.Name })
}

func ptr[T any](v T) *T { return &v }

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

// page reads one page and applies it as the contract says.
func (x *index) page() *store.ChangeSet {
	x.env.Helper()
	set := must(x.env.Changes(x.env.ctx, x.env.p, x.cursor))(x.env)
	x.pages++
	if set.Reset {
		x.resets++
		x.records = map[string]store.Record{}
	}
	byVersion := func(a, b store.Record) int { return cmp.Compare(a.Version, b.Version) }
	require.True(x.env, slices.IsSortedFunc(set.Records, byVersion), "oldest change first")
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

// follow reads pages up to the last one.
func (x *index) follow() *index {
	x.env.Helper()
	for x.page().More {
		require.Less(x.env, x.pages, 100_000, "pages without an end")
	}
	return x
}

// sorted returns the records of the index by id.
func (x *index) sorted() []store.Record {
	out := []store.Record{}
	for _, r := range x.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b store.Record) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// state is the readable state of a partition.
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
	out := state{Version: x.version, Records: x.sorted(), Embedding: x.space, Sessions: e.list(store.SessionQuery{}),
		Events: map[string][]backends.Event{}, Entries: map[string][]store.Entry{}}
	for _, id := range append(ids(out.Records), e.deleted(0)...) {
		out.Events[id] = e.history(id)
	}
	for _, s := range out.Sessions {
		out.Entries[s.ID] = e.read(s.ID, store.Range{})
	}
	return out
}
