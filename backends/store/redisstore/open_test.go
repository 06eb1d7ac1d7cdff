// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"crypto/tls"
	"net/url"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
)

func withTLS(o *redis.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }

// A password of any bytes opens the server, and no error ever shows it.
func TestOpenAndPasswords(t *testing.T) {
	const password = "s3cr3t p@ss/wörd?#%&:[]"
	server := miniredis.RunT(t)
	server.RequireUserAuth("ann", password)
	u := url.URL{Scheme: "redis", User: url.UserPassword("ann", password), Host: server.Addr(), Path: "/0"}
	s, err := redisstore.Open(t.Context(), u.String(), nil)
	require.NoError(t, err)
	beginning(t, s, ann)
	require.NoError(t, s.Close())

	escaped := url.QueryEscape(password)
	for _, address := range []string{
		"redis://ann:" + password + "@" + server.Addr(),
		"redis://ann:" + escaped + "@" + server.Addr() + "/%zz",
		"redis://ann:" + escaped + "@" + server.Addr() + ":x",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0?read_timeout=soon",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0?nonsense=1",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0/1",
		"redis://ann:" + escaped + "@" + server.Addr() + "/zero",
		"redis://ann:" + escaped + "x@" + server.Addr(),
		"redis://ann:" + escaped + "@127.0.0.1:1",
		"redis://ann:" + escaped + "@127.0.0.1:1?cluster=true",
		"redis://ann:" + escaped + "@127.0.0.1:1?cluster=true&nonsense=1",
		"redis://ann:" + escaped + "@127.0.0.1:1?master_name=m&nonsense=1",
		"rediss://ann:" + escaped + "@" + server.Addr(),
		"http://ann:" + escaped + "@" + server.Addr(),
		"ann:" + escaped + "@" + server.Addr(),
		"\x7f://ann:" + escaped + "@" + server.Addr(),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := redisstore.Open(ctx, address, nil)
		cancel()
		require.Error(t, err, address)
		for _, secret := range []string{password, escaped, "s3cr3t"} {
			assert.NotContains(t, err.Error(), secret)
		}
	}
}

func TestOpenOfWhatIsNoURL(t *testing.T) {
	for address, says := range map[string]string{
		"":                                 "want a URL such as redis://localhost:6379/0",
		"localhost:6379":                   "want a URL",
		"http://localhost":                 "invalid URL scheme",
		"redis://localhost/db":             "want a URL",
		"redis://localhost?pool_size=many": "pool_size",
		"redis://localhost?poolsize=1":     "poolsize",
	} {
		_, err := redisstore.Open(t.Context(), address, nil)
		require.ErrorIs(t, err, backends.ErrInvalid, address)
		require.ErrorContains(t, err, says)
	}
	_, err := redisstore.Open(t.Context(), "redis://127.0.0.1:1", &redisstore.Config{Prefix: "{"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Options of go-redis go into the URL; databases are apart.
func TestOpenWithOptions(t *testing.T) {
	server := miniredis.RunT(t)
	first, err := redisstore.Open(t.Context(), "redis://"+server.Addr()+"/3?pool_size=1&read_timeout=5s&client_name=einomem", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	beginning(t, first, ann)
	assert.Empty(t, server.DB(0).Keys())
	assert.NotEmpty(t, server.DB(3).Keys())
}

// A store that Open made heeds the deadlines of contexts, which go-redis does not by
// itself.
func TestOpenHeedsDeadlines(t *testing.T) {
	proxy := faultproxy.Start(t, miniredis.RunT(t).Addr())
	s, err := redisstore.Open(t.Context(), "redis://"+proxy.Addr()+"?read_timeout=1h", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	proxy.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = s.Session(ctx, ann, "s")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	proxy.Freeze(false)
}

// The client that Open made ends with the store, also where the store never was.
func TestOpenClosesItsClient(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), "redis://"+server.Addr(), nil)
	require.NoError(t, err)
	require.Positive(t, server.CurrentConnectionCount())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, 10*time.Second, time.Millisecond)
	server.RequireAuth("secret")
	_, err = redisstore.Open(t.Context(), "redis://"+server.Addr(), nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, 10*time.Second, time.Millisecond)
}
