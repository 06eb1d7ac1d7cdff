// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var expiryBehaviours = []behaviour{
	{"a session ends so long after its last append", ttlFromLastAppend},
	{"an expired session is gone for every call", expiredIsGone},
	{"an expired session begins anew with nothing of the old one", expiredBeginsAnew},
	{"many expired sessions begin anew, each by itself", manyBeginAnew},
	{"an update sets when a session ends, and clears it", expiresIsSet},
	{"without a time to live a session never ends", noTTL},
}

func (e *env) appendFor(ttl time.Duration, id string) *store.Session {
	e.Helper()
	return e.appendAll("s", &store.Append{TTL: ttl, Entries: []store.Entry{message(id, "x")}})
}

func ttlFromLastAppend(e *env) {
	require.Equal(e, e.clock.Now().Add(time.Hour), e.appendFor(time.Hour, "m1").Expires)
	e.clock.pass(40 * time.Minute)
	require.Equal(e, e.clock.Now().Add(time.Hour), e.appendFor(time.Hour, "m2").Expires)
	e.clock.pass(40 * time.Minute)
	e.update(&store.SessionUpdate{Session: "s", Summary: ptr("an update is no append")})
	require.Len(e, e.read("s", store.Range{}), 2)
	e.clock.pass(20*time.Minute - time.Microsecond)
	e.session("s")
	e.clock.pass(time.Microsecond)
	e.noSession("s")
}

func expiredIsGone(e *env) {
	e.appendFor(time.Hour, "m1")
	e.append("stays", message("m1", "x"))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b", []byte("x")))
	require.Len(e, e.list(store.SessionQuery{Pending: true}), 2)
	e.clock.pass(time.Hour)

	e.noSession("s")
	_, err := e.GetBlob(e.ctx, e.p, "s", "b")
	require.ErrorIs(e, err, backends.ErrNotFound)
	_, err = e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Expires: &time.Time{}})
	require.ErrorIs(e, err, backends.ErrNotFound)
	for _, pending := range []bool{true, false} {
		got := e.list(store.SessionQuery{Pending: pending})
		require.Len(e, got, 1)
		require.Equal(e, "stays", got[0].ID)
	}
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
}

func expiredBeginsAnew(e *env) {
	e.appendFor(time.Hour, "m1")
	e.appendFor(time.Hour, "m2")
	e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(2)), Summary: ptr("x"), Acquire: &store.Acquire{Owner: "w", For: 2 * time.Hour}})
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b", []byte("x")))
	now := e.clock.pass(time.Hour)
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "new", []byte("y")))
	got := e.append("s", message("m1", "again"))
	require.Equal(e, store.Session{Partition: e.p, ID: "s", Version: got.Version, LastSeq: 1, Created: now, Updated: now}, *got)
	require.Equal(e, []int64{1}, seqs(e.read("s", store.Range{})))
	_, err := e.GetBlob(e.ctx, e.p, "s", "b")
	require.ErrorIs(e, err, backends.ErrNotFound)
	data, err := e.GetBlob(e.ctx, e.p, "s", "new")
	require.NoError(e, err)
	require.Equal(e, []byte("y"), data)
}

// A store may sweep some expired sessions with each write; none may depend on it.
func manyBeginAnew(e *env) {
	const n = 24
	for i := range n {
		id := fmt.Sprint(i)
		e.appendAll(id, &store.Append{TTL: time.Hour, Entries: []store.Entry{message("m1", "x"), message("m2", "y")}})
		e.putBlob(id, "b", []byte("x"))
	}
	e.clock.pass(2 * time.Hour)
	for i := n - 1; i >= 0; i-- {
		id := fmt.Sprint(i)
		require.Equal(e, int64(1), e.append(id, message("m2", "again")).LastSeq)
		require.Equal(e, []int64{1}, seqs(e.read(id, store.Range{})))
		e.noBlob(id, "b")
	}
	require.Equal(e, store.DropCount{Sessions: n, Messages: n}, e.drop())
}

func expiresIsSet(e *env) {
	e.append("s", message("m1", "x"))
	at := e.clock.Now().Add(time.Minute)
	require.Equal(e, at, e.update(&store.SessionUpdate{Session: "s", Expires: &at}).Expires)
	require.Zero(e, e.update(&store.SessionUpdate{Session: "s", Expires: &time.Time{}}).Expires)
	e.clock.pass(time.Hour)
	e.session("s")
	require.Len(e, e.list(store.SessionQuery{}), 1)
	past := e.clock.Now()
	_, err := e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Expires: &past})
	require.NoError(e, err)
	e.noSession("s")
}

func noTTL(e *env) {
	require.Zero(e, e.append("s", message("m1", "x")).Expires)
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b", []byte("x")))
	e.clock.pass(100 * 365 * 24 * time.Hour)
	e.session("s")
	_, err := e.GetBlob(e.ctx, e.p, "s", "b")
	require.NoError(e, err)
}
