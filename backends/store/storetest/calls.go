// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// The methods below carry out a call that must succeed.

func (e *env) apply(ms ...store.Mutation) *store.Applied {
	e.Helper()
	return e.applyBatch(&store.Batch{Mutations: ms})
}

func (e *env) applyBatch(b *store.Batch) *store.Applied {
	e.Helper()
	out, err := e.Apply(e.ctx, e.p, b)
	require.NoError(e, err)
	require.NotNil(e, out)
	require.Len(e, out.Results, len(b.Mutations))
	return out
}

// fails applies what must not succeed, and proves that it left nothing.
func (e *env) fails(target error, b *store.Batch, msg ...any) {
	e.Helper()
	before := e.state()
	_, err := e.Apply(e.ctx, e.p, b)
	require.ErrorIs(e, err, target, msg...)
	require.Equal(e, before, e.state(), msg...)
}

func (e *env) get(ids ...string) []store.Record {
	e.Helper()
	out, err := e.Get(e.ctx, e.p, ids...)
	require.NoError(e, err)
	return out
}

func (e *env) one(id string) store.Record {
	e.Helper()
	out := e.get(id)
	require.Len(e, out, 1, "record %q", id)
	return out[0]
}

func (e *env) history(id string) []backends.Event {
	e.Helper()
	out, err := e.History(e.ctx, e.p, id)
	require.NoError(e, err)
	return out
}

func (e *env) drop() store.DropCount {
	e.Helper()
	out, err := e.Drop(e.ctx, e.p)
	require.NoError(e, err)
	return out
}

func (e *env) append(session string, entries ...store.Entry) *store.Session {
	e.Helper()
	return e.appendAll(session, &store.Append{Entries: entries})
}

func (e *env) appendAll(session string, a *store.Append) *store.Session {
	e.Helper()
	out, err := e.Append(e.ctx, e.p, session, a)
	require.NoError(e, err)
	require.NotNil(e, out)
	return out
}

func (e *env) read(session string, r store.Range) []store.Entry {
	e.Helper()
	out, err := e.Read(e.ctx, e.p, session, r)
	require.NoError(e, err)
	return out
}

func (e *env) session(id string) *store.Session {
	e.Helper()
	out, err := e.Session(e.ctx, e.p, id)
	require.NoError(e, err)
	return out
}

func (e *env) noSession(id string) {
	e.Helper()
	_, err := e.Session(e.ctx, e.p, id)
	require.ErrorIs(e, err, backends.ErrNotFound)
	require.Empty(e, e.read(id, store.Range{}))
}

func (e *env) update(u *store.SessionUpdate) *store.Session {
	e.Helper()
	out, err := e.Update(e.ctx, e.p, u)
	require.NoError(e, err)
	require.NotNil(e, out)
	return out
}

// updateFails makes an update that must not succeed, and proves that it changed
// nothing.
func (e *env) updateFails(target error, u *store.SessionUpdate, msg ...any) {
	e.Helper()
	before := *e.session(u.Session)
	_, err := e.Update(e.ctx, e.p, u)
	require.ErrorIs(e, err, target, msg...)
	require.Equal(e, before, *e.session(u.Session), msg...)
}

// record makes a record with the given text.
func record(id, text string) *store.Record {
	return &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}}
}

// message makes an entry of a user's message.
func message(id, text string) store.Entry {
	return store.Entry{Message: backends.Message{ID: id, Turn: "t1", Message: schema.UserMessage(text)}}
}

func ids(records []store.Record) []string {
	out := []string{}
	for i := range records {
		out = append(out, records[i].ID)
	}
	return out
}

func seqs(entries []store.Entry) []int64 {
	out := []int64{}
	for i := range entries {
		out = append(out, entries[i].Seq)
	}
	return out
}

func ptr[T any](v T) *T { return &v }
