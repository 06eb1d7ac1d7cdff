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

var invalidBehaviours = []behaviour{
	{"a partition that is not legal is refused by every call", invalidPartition},
	{"a session id that is not legal is refused by every call", invalidSession},
	{"a batch that is not legal is refused", invalidBatch},
	{"an append, an update or a blob that is not legal is refused", invalidSessions},
	{"a cursor of nobody is refused", invalidCursor},
}

// everyCall names each call of a store.
func everyCall(ctx context.Context, s store.Store, p backends.Partition, session string) map[string]func() error {
	put := []store.Mutation{store.Put(record("a", "1"))}
	return map[string]func() error{
		"Apply":      func() error { _, err := s.Apply(ctx, p, &store.Batch{Mutations: put}); return err },
		"Get":        func() error { _, err := s.Get(ctx, p, "a"); return err },
		"Changes":    func() error { _, err := s.Changes(ctx, p, ""); return err },
		"History":    func() error { _, err := s.History(ctx, p, "a"); return err },
		"Drop":       func() error { _, err := s.Drop(ctx, p); return err },
		"Partitions": func() error { _, err := s.Partitions(ctx, p.Namespace, store.Page{}); return err },
		"Append": func() error {
			_, err := s.Append(ctx, p, session, &store.Append{Entries: []store.Entry{message("m", "x")}})
			return err
		},
		"Session":   func() error { _, err := s.Session(ctx, p, session); return err },
		"Read":      func() error { _, err := s.Read(ctx, p, session, store.Range{}); return err },
		"Update":    func() error { _, err := s.Update(ctx, p, &store.SessionUpdate{Session: session}); return err },
		"List":      func() error { _, err := s.List(ctx, store.SessionQuery{Partition: &p}); return err },
		"Delete":    func() error { return s.Delete(ctx, p, session) },
		"PutBlob":   func() error { return s.PutBlob(ctx, p, session, "b", []byte("x")) },
		"GetBlob":   func() error { _, err := s.GetBlob(ctx, p, session, "b"); return err },
		"ListBlobs": func() error { _, err := s.ListBlobs(ctx, p, session, "", store.Page{}); return err },
	}
}

// sessionCalls are those of everyCall that name a session.
var sessionCalls = []string{"Append", "Session", "Read", "Update", "Delete", "PutBlob", "GetBlob", "ListBlobs"}

func invalidPartition(e *env) {
	long := strings.Repeat("x", backends.MaxScopePart+1)
	for _, change := range []func(*backends.Partition){
		func(p *backends.Partition) { *p = backends.Partition{} },
		func(p *backends.Partition) { p.Kind = "group" },
		func(p *backends.Partition) { p.ID = "" },
		func(p *backends.Partition) { p.ID = " ann" },
		func(p *backends.Partition) { p.ID = "an*" },
		func(p *backends.Partition) { p.ID = "a\nb" },
		func(p *backends.Partition) { p.ID = "\xff" },
		func(p *backends.Partition) { p.ID = long },
		func(p *backends.Partition) { p.Namespace = "" },
		func(p *backends.Partition) { p.Namespace = "*" },
		func(p *backends.Partition) { p.Namespace = "\x00" },
	} {
		p := e.p
		change(&p)
		for name, call := range everyCall(e.ctx, e, p, "s") {
			if name == "Partitions" && p.Namespace == e.p.Namespace {
				continue
			}
			require.ErrorIs(e, call(), backends.ErrInvalid, "%s of %+v", name, p)
		}
	}
	require.Empty(e, e.partitions(0))
}

func invalidSession(e *env) {
	for _, id := range []string{" ", " s", "s\t", "s*", "\x00", "\xff", strings.Repeat("x", backends.MaxScopePart+1)} {
		calls := everyCall(e.ctx, e, e.p, id)
		for _, name := range sessionCalls {
			require.ErrorIs(e, calls[name](), backends.ErrInvalid, "%s of %q", name, id)
		}
		_, err := e.Apply(e.ctx, e.p, &store.Batch{Session: &store.SessionUpdate{Session: id}})
		require.ErrorIs(e, err, backends.ErrInvalid, "%q", id)
	}
}

func invalidBatch(e *env) {
	with := func(change func(*store.Record)) store.Mutation {
		r := record("a", "1")
		change(r)
		return store.Put(r)
	}
	e.apply(store.Put(record("there", "x")))
	for name, m := range map[string]store.Mutation{
		"no operation":       {},
		"unknown operation":  {Op: "merge", ID: "there"},
		"no record":          {Op: store.OpPut},
		"no id":              store.Put(record("", "x")),
		"long id":            store.Put(record(strings.Repeat("x", store.MaxID+1), "x")),
		"id not UTF-8":       store.Put(record("\xff", "x")),
		"text not UTF-8":     store.Put(record("a", "\xff")),
		"when not UTF-8":     with(func(r *store.Record) { r.WhenToUse = "\xff" }),
		"metadata no JSON":   with(func(r *store.Record) { r.Metadata = map[string]any{"f": func() {}} }),
		"metadata NaN":       with(func(r *store.Record) { r.Metadata = map[string]any{"f": math.NaN()} }),
		"quality NaN":        with(func(r *store.Record) { r.Quality = ptr(math.NaN()) }),
		"time out of range":  with(func(r *store.Record) { r.Observed = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"supersede nothing":  store.Supersede("", record("a", "x")),
		"supersede itself":   store.Supersede("there", record("there", "x")),
		"supersede by none":  {Op: store.OpSupersede, ID: "there"},
		"retract no id":      store.Retract("", time.Time{}),
		"delete no id":       store.Delete(""),
		"increment no id":    store.Increment("", "n", 1),
		"increment no field": store.Increment("there", "", 1),
		"increment by NaN":   store.Increment("there", "n", math.NaN()),
		"increment by Inf":   store.Increment("there", "n", math.Inf(1)),
	} {
		e.fails(backends.ErrInvalid, &store.Batch{Mutations: []store.Mutation{store.Put(record("b", "2")), m}}, name)
		require.Empty(e, e.history("b"), name)
	}
	e.fails(backends.ErrInvalid, &store.Batch{Mutations: make([]store.Mutation, store.MaxBatch+1)})
	for _, space := range []store.Embedding{{}, {Model: "m"}, {Dim: 3}, {Model: "m", Dim: -1}} {
		e.fails(backends.ErrInvalid, &store.Batch{Embedding: &space})
	}
	e.fails(backends.ErrInvalid, nil)
}

func invalidSessions(e *env) {
	_, err := e.Append(e.ctx, e.p, "s", nil)
	require.ErrorIs(e, err, backends.ErrInvalid)
	extra := message("m", "x")
	extra.Extra = map[string]any{"f": func() {}}
	for name, bad := range map[string]store.Entry{
		"no id": message("", "x"), "long id": message(strings.Repeat("x", store.MaxID+1), "x"), "id not UTF-8": message("\xff", "x"),
		"text not UTF-8": message("m", "\xff"), "no message": {Message: backends.Message{ID: "m"}}, "extra no JSON": extra,
	} {
		_, err := e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message("m0", "x"), bad}})
		require.ErrorIs(e, err, backends.ErrInvalid, name)
	}
	e.noSession("s")

	e.append("s", message("m", "x"))
	_, err = e.Update(e.ctx, e.p, nil)
	require.ErrorIs(e, err, backends.ErrInvalid)
	for name, u := range map[string]store.SessionUpdate{
		"no owner": {Acquire: &store.Acquire{For: time.Minute}}, "no duration": {Acquire: &store.Acquire{Owner: "w"}},
		"negative duration": {Acquire: &store.Acquire{Owner: "w", For: -1}}, "release of nothing": {Release: true},
		"title not UTF-8": {Title: ptr("\xff")}, "title of two lines": {Title: ptr("a\nb")}, "long title": {Title: ptr(strings.Repeat("é", store.MaxTitle+1))},
	} {
		u.Session = "s"
		e.updateFails(backends.ErrInvalid, &u, name)
	}
	for _, name := range []string{"", "\xff", strings.Repeat("x", store.MaxID+1)} {
		require.ErrorIs(e, e.PutBlob(e.ctx, e.p, "s", name, []byte("x")), backends.ErrInvalid)
		_, err := e.GetBlob(e.ctx, e.p, "s", name)
		require.ErrorIs(e, err, backends.ErrInvalid)
	}
}

func invalidCursor(e *env) {
	e.apply(store.Put(record("a", "1")))
	e.append("s", message("m", "x"))
	for _, cursor := range []string{"?", "not a cursor", "1.2.3.x", "\x00", "🎈"} {
		_, err := e.Changes(e.ctx, e.p, cursor)
		require.ErrorIs(e, err, backends.ErrInvalid, "%q", cursor)
		_, err = e.List(e.ctx, store.SessionQuery{Partition: &e.p, Page: store.Page{Cursor: cursor}})
		require.ErrorIs(e, err, backends.ErrInvalid, "%q", cursor)
		_, err = e.Partitions(e.ctx, e.p.Namespace, store.Page{Cursor: cursor})
		require.ErrorIs(e, err, backends.ErrInvalid, "%q", cursor)
	}
}

var contextBehaviours = []behaviour{
	{"a cancelled context ends every call and changes nothing", cancelledContext},
}

func cancelledContext(e *env) {
	e.apply(store.Put(record("there", "x")))
	e.append("s", message("m0", "x"))
	before := e.state()
	for cause, ctx := range endedContexts(e.ctx) {
		for name, call := range everyCall(ctx, e, e.p, "s") {
			require.ErrorIs(e, call(), cause, name)
		}
	}
	require.Equal(e, before, e.state())
	e.noBlob("s", "b")
}

func endedContexts(parent context.Context) map[error]context.Context {
	cancelled, cancel := context.WithCancel(parent)
	cancel()
	late, cancel := context.WithDeadline(parent, time.Unix(0, 0))
	cancel()
	return map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late}
}
