// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var leaseBehaviours = []behaviour{
	{"a free lease is granted, a held one is not", leaseIsExclusive},
	{"its owner renews a lease under the same token", leaseRenewal},
	{"an expired lease goes to another under a higher token", leaseExpiry},
	{"a released lease is free, and its token is never used again", leaseRelease},
	{"a session begun anew does not give the tokens of the old one again", leaseAnew},
	{"a write under a token that is not held is refused", leaseFencing},
	{"of many that ask one gets the lease", leaseTogether},
	{"an append needs no lease and keeps it", leaseAndAppend},
}

func (e *env) acquire(owner string) store.Lease {
	e.Helper()
	return e.update(&store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: owner, For: time.Minute}}).Lease
}

func (e *env) refused(owner string) {
	e.Helper()
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: owner, For: time.Minute}})
}

func leaseIsExclusive(e *env) {
	e.append("s", message("m1", "hi"))
	got := e.acquire("w1")
	require.Equal(e, store.Lease{Owner: "w1", Token: got.Token, Expires: e.clock.Now().Add(time.Minute)}, got)
	require.Positive(e, got.Token)
	require.Equal(e, got, e.session("s").Lease)
	e.refused("w2")
	e.clock.pass(time.Minute - time.Microsecond)
	e.refused("w2")
}

func leaseRenewal(e *env) {
	e.append("s", message("m1", "hi"))
	first := e.acquire("w1")
	e.clock.pass(30 * time.Second)
	second := e.acquire("w1")
	require.Equal(e, first.Token, second.Token)
	require.Equal(e, e.clock.Now().Add(time.Minute), second.Expires)
	e.clock.pass(40 * time.Second) // the first term is over, the second is not
	e.refused("w2")
	third := e.update(&store.SessionUpdate{Session: "s", Token: first.Token, Acquire: &store.Acquire{Owner: "w1", For: time.Hour}}).Lease
	require.Equal(e, first.Token, third.Token)
	require.Equal(e, e.clock.Now().Add(time.Hour), third.Expires)

	e.clock.pass(2 * time.Hour)
	require.Equal(e, first.Token, e.acquire("w1").Token, "nobody took it meanwhile")
}

func leaseExpiry(e *env) {
	e.append("s", message("m1", "hi"))
	first := e.acquire("w1")
	e.clock.pass(time.Minute)
	second := e.acquire("w2")
	require.Greater(e, second.Token, first.Token)
	e.refused("w1")
	e.clock.pass(time.Minute)
	require.Greater(e, e.acquire("w1").Token, second.Token)
}

func leaseRelease(e *env) {
	e.append("s", message("m1", "hi"))
	first := e.acquire("w1")
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: first.Token + 1, Release: true})
	got := e.update(&store.SessionUpdate{Session: "s", Token: first.Token, Release: true, Watermark: ptr(int64(1))})
	require.Empty(e, got.Lease.Owner)
	require.Equal(e, int64(1), got.Watermark)
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: first.Token, Release: true}, "it is held no more")
	second := e.acquire("w1")
	require.Greater(e, second.Token, first.Token)
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: first.Token, Release: true})
	e.update(&store.SessionUpdate{Session: "s", Token: second.Token, Release: true})
	require.Greater(e, e.acquire("w2").Token, second.Token)
}

func leaseAnew(e *env) {
	e.append("s", message("m1", "hi"), message("m2", "ho"))
	old := e.acquire("w1")
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
	e.append("s", message("m1", "another"))
	e.clock.pass(time.Microsecond)
	require.Greater(e, e.acquire("w2").Token, old.Token)
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: old.Token, Watermark: ptr(int64(2))})
	require.Zero(e, e.session("s").Watermark)
}

func leaseFencing(e *env) {
	e.append("s", message("m1", "hi"))
	e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: 1, Summary: ptr("x")}, "never leased")
	first := e.acquire("w1")
	write := func(token int64) *store.SessionUpdate {
		return &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(1)), Summary: ptr("x")}
	}
	put := []store.Mutation{store.Put(record("a", "1"))}
	e.clock.pass(time.Minute)
	e.updateFails(backends.ErrConflict, write(first.Token), "expired")
	e.fails(backends.ErrConflict, &store.Batch{Mutations: put, Session: write(first.Token)}, "expired")
	second := e.acquire("w2")
	e.updateFails(backends.ErrConflict, write(first.Token), "another holds it")
	e.fails(backends.ErrConflict, &store.Batch{Mutations: put, Session: write(first.Token)}, "another holds it")
	e.updateFails(backends.ErrConflict, write(second.Token+1), "a token of the future")
	require.Equal(e, int64(1), e.applyBatch(&store.Batch{Mutations: put, Session: write(second.Token)}).Session.Watermark)
	e.update(&store.SessionUpdate{Session: "s", Summary: ptr("no token, no lease needed")})
}

func leaseTogether(e *env) {
	e.append("s", message("m1", "hi"))
	for range 3 {
		winners := 0
		together(16, func(i int) error {
			_, err := e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: string(rune('a' + i)), For: time.Minute}})
			return err
		}, func(err error) {
			if err == nil {
				winners++
				return
			}
			require.ErrorIs(e, err, backends.ErrConflict)
		})
		require.Equal(e, 1, winners)
		e.update(&store.SessionUpdate{Session: "s", Token: e.session("s").Lease.Token, Release: true})
	}
}

func leaseAndAppend(e *env) {
	e.append("s", message("m1", "hi"))
	lease := e.acquire("w1")
	require.Equal(e, lease, e.append("s", message("m2", "ho")).Lease)
	e.update(&store.SessionUpdate{Session: "s", Token: lease.Token, Watermark: ptr(int64(1)), Release: true})
	require.True(e, e.session("s").Pending(), "what came meanwhile is still to be learnt from")
}
