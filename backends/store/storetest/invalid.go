// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// calls names each call of a store that takes a partition.
func (e *env) calls(ctx context.Context, p backends.Partition) map[string]func() error {
	return map[string]func() error{
		"Apply":        func() error { return errOf(e.Apply(ctx, p, batch(put("a", "1")))) },
		"Get":          func() error { return errOf(e.Get(ctx, p, "a")) },
		"Changes":      func() error { return errOf(e.Changes(ctx, p, "")) },
		"History":      func() error { return errOf(e.History(ctx, p, "a")) },
		"Deleted":      func() error { return errOf(e.Deleted(ctx, p, store.Page{})) },
		"Drop":         func() error { return errOf(e.Drop(ctx, p)) },
		"List":         func() error { return errOf(e.List(ctx, store.SessionQuery{Partition: &p})) },
		"BlobSessions": func() error { return errOf(e.BlobSessions(ctx, p, store.Page{})) },
	}
}

// sessionCalls names each call that takes a session too.
func (e *env) sessionCalls(ctx context.Context, p backends.Partition, session string) map[string]func() error {
	one := &store.Append{Entries: []store.Entry{message("m", "x")}}
	return map[string]func() error{
		"Append":    func() error { return errOf(e.Append(ctx, p, session, one)) },
		"Session":   func() error { return errOf(e.Session(ctx, p, session)) },
		"Read":      func() error { return errOf(e.Read(ctx, p, session, store.Range{})) },
		"Update":    func() error { return errOf(e.Update(ctx, p, &store.SessionUpdate{Session: session})) },
		"Delete":    func() error { return e.Delete(ctx, p, session) },
		"PutBlob":   func() error { return e.PutBlob(ctx, p, session, "b", []byte("x")) },
		"GetBlob":   func() error { return errOf(e.GetBlob(ctx, p, session, "b")) },
		"ListBlobs": func() error { return errOf(e.ListBlobs(ctx, p, session, "", store.Page{})) },
	}
}

// allFail proves that each call returns an error.
func (e *env) allFail(target error, calls map[string]func() error, msg any) {
	e.Helper()
	for name, call := range calls {
		require.ErrorIs(e, call(), target, "%s of %+q", name, msg)
	}
}

var invalidBehaviours = []behaviour{
	{"a partition or a session id that is not legal is refused by every call", func(e *env) {
		for _, bad := range []string{"", " ann", "an*", "a\nb", "\x00", "\xff", strings.Repeat("x", backends.MaxScopePart+1)} {
			for _, p := range []backends.Partition{
				{Namespace: bad, Kind: e.p.Kind, ID: "a"},
				{Namespace: e.p.Namespace, Kind: e.p.Kind, ID: bad},
				{Namespace: e.p.Namespace, Kind: "group", ID: "a"},
			} {
				e.allFail(backends.ErrInvalid, e.calls(e.ctx, p), p)
				e.allFail(backends.ErrInvalid, e.sessionCalls(e.ctx, p, "s"), p)
			}
			require.ErrorIs(e, errOf(e.Partitions(e.ctx, bad, store.Page{})), backends.ErrInvalid, "Partitions of %q", bad)
			if bad != "" { // which is a session
				e.allFail(backends.ErrInvalid, e.sessionCalls(e.ctx, e.p, bad), bad)
				e.fails(backends.ErrInvalid, &store.Batch{Session: &store.SessionUpdate{Session: bad}}, bad)
			}
		}
		require.Empty(e, e.partitions(0))
	}},
	// Package store checks all rules itself: here each kind of rule is broken once.
	{"a batch that is not legal is refused", func(e *env) {
		with := func(change func(*store.Record)) store.Mutation {
			r := record("a", "1")
			change(r)
			return store.Put(r)
		}
		e.apply(put("there", "x"))
		for name, m := range map[string]store.Mutation{
			"no operation":      {},
			"text not UTF-8":    put("a", "\xff"),
			"metadata no JSON":  with(func(r *store.Record) { r.Metadata = map[string]any{"f": func() {}} }),
			"quality NaN":       with(func(r *store.Record) { r.Quality = ptr(math.NaN()) }),
			"time out of range": with(func(r *store.Record) { r.Observed = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }),
			"restore nothing":   store.Restore("a", nil, nil),
		} {
			e.fails(backends.ErrInvalid, batch(put("b", "2"), m), name)
			require.Empty(e, e.history("b"), name)
		}
		e.fails(backends.ErrInvalid, batch(make([]store.Mutation, store.MaxBatch+1)...))
		e.fails(backends.ErrInvalid, &store.Batch{Embedding: &store.Embedding{Dim: -1}})
		e.fails(backends.ErrInvalid, nil)
	}},
	{"an append, an update or a blob that is not legal is refused", func(e *env) {
		require.ErrorIs(e, e.tryAppend(nil), backends.ErrInvalid)
		extra := message("m", "x")
		extra.Extra = map[string]any{"f": func() {}}
		for name, bad := range map[string]store.Entry{
			"no id": message("", "x"), "text not UTF-8": message("m", "\xff"), "no message": {Message: backends.Message{ID: "m"}}, "extra no JSON": extra,
		} {
			require.ErrorIs(e, e.tryAppend(&store.Append{Entries: []store.Entry{message("m0", "x"), bad}}), backends.ErrInvalid, name)
		}
		e.noSession("s")

		e.append("s", message("m", "x"))
		require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, nil)), backends.ErrInvalid)
		for name, u := range map[string]store.SessionUpdate{
			"no duration":        {Acquire: &store.Acquire{Owner: "w"}},
			"release of nothing": {Release: true},
			"title of two lines": {Title: ptr("a\nb")},
		} {
			u.Session = "s"
			e.updateFails(backends.ErrInvalid, &u, name)
		}
		for _, name := range []string{"", "\xff", strings.Repeat("x", store.MaxID+1)} {
			require.ErrorIs(e, e.PutBlob(e.ctx, e.p, "s", name, []byte("x")), backends.ErrInvalid)
			require.ErrorIs(e, errOf(e.GetBlob(e.ctx, e.p, "s", name)), backends.ErrInvalid)
			if name != "" { // which every name begins with
				require.ErrorIs(e, errOf(e.ListBlobs(e.ctx, e.p, "s", name, store.Page{})), backends.ErrInvalid)
			}
		}
	}},
	{"a cursor that no store gave out is refused", func(e *env) {
		e.fill()
		for _, cursor := range []string{"?", "not a cursor", "1.2.3.x", "\x00", "🎈"} {
			page := store.Page{Cursor: cursor}
			for name, err := range map[string]error{
				"Changes":      errOf(e.Changes(e.ctx, e.p, cursor)),
				"List":         errOf(e.List(e.ctx, store.SessionQuery{Partition: &e.p, Page: page})),
				"Partitions":   errOf(e.Partitions(e.ctx, e.p.Namespace, page)),
				"Deleted":      errOf(e.Deleted(e.ctx, e.p, page)),
				"BlobSessions": errOf(e.BlobSessions(e.ctx, e.p, page)),
				"ListBlobs":    errOf(e.ListBlobs(e.ctx, e.p, "s", "", page)),
			} {
				require.ErrorIs(e, err, backends.ErrInvalid, "%s of %q", name, cursor)
			}
		}
	}},
	{"a context that has ended ends every call and changes nothing", func(e *env) {
		e.fill()
		before := e.state()
		cancelled, cancel := context.WithCancel(e.ctx)
		cancel()
		late, cancel := context.WithDeadline(e.ctx, time.Unix(0, 0))
		defer cancel()
		for cause, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
			e.allFail(cause, e.calls(ctx, e.p), cause)
			e.allFail(cause, e.sessionCalls(ctx, e.p, "s"), cause)
			require.ErrorIs(e, errOf(e.Partitions(ctx, e.p.Namespace, store.Page{})), cause)
		}
		require.Equal(e, before, e.state())
		e.noBlob("s", "b")
	}},
}
