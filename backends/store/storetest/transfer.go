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
		other := e.elsewhere()
		count, none := store.TransferCount{Partitions: 1, Records: 33, Deleted: 1, Sessions: 3, Messages: 5, Blobs: 2}, store.TransferCount{Partitions: 1}
		require.Equal(e, count, e.transfer(other))
		require.Equal(e, none, e.transfer(other), "all is there: what differed would be an error")
		require.Equal(e, none, other.transfer(e))
		e.drop()
		e.clock.pass(time.Hour)
		require.Equal(e, count, other.transfer(e))
		require.Equal(e, none, e.transfer(other))
		require.Equal(e, none, other.transfer(e))
		require.Equal(e, []string{"s", ""}, names(e.list(store.SessionQuery{Pending: true})))
		e.apply(put("r3", "new"))
		events := e.history("r3")
		require.Greater(e, events[len(events)-1].Version, events[len(events)-2].Version)
		require.Equal(e, "r3", e.index().page().Records[32].ID, "what changes next comes last")
	}},
}
