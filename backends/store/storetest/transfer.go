// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// elsewhere returns the same test on another store, in memory.
func (e *env) elsewhere() *env {
	e.Helper()
	s := must(sqlitestore.Open(e.ctx, sqlitestore.Memory, &sqlitestore.Config{Clock: e.clock.Now}))(e)
	e.TB.(testing.TB).Cleanup(func() { require.NoError(e, s.Close()) })
	other := *e
	other.Store = s
	return &other
}

// moved is the state without what a transfer leaves behind, with what state leaves out.
type moved struct {
	state
	Order []string
	Blobs map[string][]byte
}

func (e *env) moved() moved {
	e.Helper()
	out := moved{state: e.state(), Blobs: map[string][]byte{}}
	out.Version = 0
	for i := range out.Records {
		out.Records[i].Version = 0
	}
	for i := range out.Sessions {
		s := &out.Sessions[i]
		s.Version, s.Lease, s.Created, s.Updated = 0, store.Lease{}, time.Time{}, time.Time{}
	}
	for x, more := e.index(), true; more; {
		set := x.page()
		out.Order, more = append(out.Order, ids(set.Records)...), set.More
	}
	for _, session := range e.blobSessions(0) {
		for _, name := range e.blobNames(session, "", 0) {
			out.Blobs[session+"/"+name] = e.blob(session, name)
		}
	}
	return out
}

func (e *env) transfer(to *env) store.TransferCount {
	e.Helper()
	return must(store.Transfer(e.ctx, e.Store, to.Store, &store.TransferOptions{Partitions: []backends.Partition{e.p}}))(e)
}

var transferBehaviours = []behaviour{
	{"a partition moves to another store and back", func(e *env) {
		e.fill()
		for i := range 30 { // every record has a version of its own
			r := record(fmt.Sprint("r", (i*7)%30), "line\n\"two\" <&> \u2028 日本語 🎈")
			r.Metadata, r.Vector = map[string]any{"n": 1.5, "list": []any{"a", nil}}, []byte{byte(i), 0xff}
			r.Expires = e.clock.pass(time.Second).Add(time.Hour)
			e.apply(store.Put(r))
		}
		e.apply(store.Increment("r3", "n", 1), store.Retract("r4", time.Time{}), store.Supersede("r5", record("r6", "x")))
		at := e.clock.Now().Add(24 * time.Hour)
		e.appendAll("learnt", &store.Append{Entries: []store.Entry{message("m1", "x"), message("m2", "x")}, Learnt: true})
		e.update(&store.SessionUpdate{
			Session: "s", Watermark: ptr(int64(1)), Title: ptr("T"), Summary: ptr("x"), SummaryUpto: ptr(int64(1)), Expires: &at,
			Retry:    &store.Retry{Attempts: 1, After: at, Upto: 2, InDoubt: true},
			Failures: &[]store.Failure{{From: 1, Upto: 1, Reason: "no", Time: at}},
		})
		want, other := e.moved(), e.elsewhere()
		count := store.TransferCount{Partitions: 1, Records: 33, Deleted: 1, Sessions: 3, Messages: 5, Blobs: 2}
		require.Equal(e, count, e.transfer(other))
		require.Equal(e, want, other.moved())
		require.Equal(e, store.TransferCount{Partitions: 1}, other.transfer(e), "all is there")
		e.drop()
		e.clock.pass(time.Hour)
		require.Equal(e, count, other.transfer(e))
		require.Equal(e, want, e.moved())
		require.Equal(e, store.TransferCount{Partitions: 1}, other.transfer(e))
		require.Equal(e, []string{"", "s"}, names(e.list(store.SessionQuery{Pending: true})))
		e.apply(put("r3", "new"))
		events := e.history("r3")
		require.Greater(e, events[len(events)-1].Version, events[len(events)-2].Version)
		require.Equal(e, "r3", e.index().page().Records[32].ID, "what changes next comes last")
	}},
	{"a partition that holds other data is no target", func(e *env) {
		other := e.elsewhere()
		other.fill()
		e.apply(put("z", "x"))
		e.putBlob("s", "other", []byte("x"))
		before := e.moved()
		one := &store.TransferOptions{Partitions: []backends.Partition{e.p}}
		require.ErrorIs(e, errOf(store.Transfer(e.ctx, other.Store, e.Store, one)), backends.ErrConflict)
		require.Equal(e, before, e.moved())
		e.drop()
		require.Equal(e, store.TransferCount{Partitions: 1, Records: 3, Deleted: 1, Sessions: 2, Messages: 3, Blobs: 2}, other.transfer(e))
		require.Equal(e, other.moved(), e.moved())
	}},
}
