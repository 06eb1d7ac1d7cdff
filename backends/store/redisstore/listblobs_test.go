// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// meteredConn counts what is received.
type meteredConn struct {
	net.Conn
	received *atomic.Int64
}

func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func TestBlobsAreListedAndPutWithoutTheirData(t *testing.T) {
	var received atomic.Int64
	client := clientOf(t, miniredis.RunT(t).Addr(), func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return meteredConn{conn, &received}, err
		}
	})
	s := newStore(t, client, nil)
	before, names := received.Load(), 0
	for i := range 50 {
		name := fmt.Sprintf("archive/%04d", i)
		names += len(name)
		require.NoError(t, s.PutBlob(t.Context(), ann, "s", name, make([]byte, 20<<10)))
	}
	require.Less(t, received.Load()-before, int64(10_000))

	before = received.Load()
	for cursor, more := "", true; more; {
		page, err := s.ListBlobs(t.Context(), ann, "s", "archive/", store.Page{Limit: 20, Cursor: cursor})
		require.NoError(t, err)
		for _, b := range page.Blobs {
			require.Equal(t, int64(20<<10), b.Size)
		}
		cursor, more = page.Next, page.Next != ""
	}
	require.Less(t, received.Load()-before, int64(3*2*names+5_000), "three times the names")
	_, err := s.GetBlob(t.Context(), ann, "s", "archive/0000")
	require.NoError(t, err)
	require.Greater(t, received.Load()-before, int64(20<<10), "the meter counts")
}

// Between the names and the sizes a blob may go.
func TestABlobThatGoesWhileItIsListedIsLeftOut(t *testing.T) {
	server := miniredis.RunT(t)
	client := clientOf(t, server.Addr())
	s := newStore(t, client, nil)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, s.PutBlob(t.Context(), ann, "s", name, []byte{}))
	}
	_, err := s.ListBlobs(t.Context(), ann, "s", "", store.Page{})
	require.NoError(t, err, "the server knows the script")
	client.AddHook(&hook{before: func(name string) error {
		if name == "evalsha" {
			server.HDel("{em:n:user:ann}:s:s:blobs", "b")
		}
		return nil
	}})
	page, err := s.ListBlobs(t.Context(), ann, "s", "", store.Page{})
	require.NoError(t, err)
	require.Equal(t, []store.BlobInfo{{Name: "a"}, {Name: "c"}}, page.Blobs)
}

// blobsEnd looks at the time to live that the server knows of.
func blobsEnd(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := emptyOps(t, open)
	ends := func(session string) bool {
		left := o.raw.PTTL(o.ctx, o.tag+":s:"+session+":blobs").Val()
		require.NotEqual(t, time.Duration(-2), left, "no blobs of %s", session)
		if left > 0 {
			require.InDelta(t, o.raw.PTTL(o.ctx, o.tag+":s:"+session+":st").Val().Seconds(), left.Seconds(), 10)
		}
		return left > 0
	}
	blob := func(session, name string) { require.NoError(t, o.PutBlob(o.ctx, o.p, session, name, []byte("x"))) }
	blob("before", "a")
	require.False(t, ends("before"), "what is of no session yet has no end")
	o.append("before", time.Hour, spoke("m1", 1))
	require.True(t, ends("before"))
	o.append("after", time.Hour, spoke("m1", 1))
	blob("after", "a")
	require.True(t, ends("after"))
	blob("after", "a")
	blob("after", "b")
	require.True(t, ends("after"))
	o.append("never", 0, spoke("m1", 1))
	blob("never", "a")
	require.False(t, ends("never"))

	soon := backends.SystemClock().Add(time.Hour)
	for _, expires := range []time.Time{{}, soon} {
		for _, session := range []string{"before", "after", "never"} {
			_, err := o.Update(o.ctx, o.p, &store.SessionUpdate{Session: session, Expires: &expires})
			require.NoError(t, err)
			require.Equal(t, !expires.IsZero(), ends(session), session)
		}
	}
	o.sound()
}

func TestVerifyMeetsATitleThatIsNotLegal(t *testing.T) {
	o := newOps(t, imitated)
	key := o.tag + ":s:s:st"
	state := o.raw.HGet(o.ctx, key, "state").Val()
	require.Contains(t, state, `"title":"Moving `)
	o.do("HSET", key, "state", strings.Replace(state, `"title":"Moving `, `"title":"Moving\n`, 1))
	require.Contains(t, spoken(o.verify()), "a title is one line")
	require.False(t, o.repair().OK(), "what it was nobody knows")
	_, err := o.Update(o.ctx, o.p, &store.SessionUpdate{Session: "s", Title: text("")})
	require.NoError(t, err)
	o.sound()
}

// Putting a blob must cost the same however many others the session has.
func BenchmarkBlobs(b *testing.B) {
	s, data := benchStore(b), make([]byte, 200<<10)
	for _, others := range []int{0, 500} {
		session := fmt.Sprint("beside ", others)
		for i := range others {
			require.NoError(b, s.PutBlob(b.Context(), ann, session, fmt.Sprintf("archive/%04d", i), data))
		}
		b.Run(fmt.Sprintf("put 200 KB beside %d", others), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				require.NoError(b, s.PutBlob(b.Context(), ann, session, "archive/b", data))
			}
		})
		b.Run(fmt.Sprintf("list 100 of %d", others), func(b *testing.B) {
			for b.Loop() {
				_, err := s.ListBlobs(b.Context(), ann, session, "archive/", store.Page{})
				require.NoError(b, err)
			}
		})
	}
}
