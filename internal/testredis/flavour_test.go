// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

const envServers = "EINOMEM_REDIS_SERVERS"

// imitate writes a program that prints a line, and returns its path.
func imitate(t *testing.T, name, prints string) string {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+prints+"'\n"), 0o700))
	return path
}

func TestFlavoursAreThoseNamedElseThoseOnThePath(t *testing.T) {
	one, two := imitate(t, "redis-server", ""), imitate(t, "valkey-server", "")
	t.Setenv("PATH", filepath.Dir(two))
	t.Setenv(envServers, "  one="+one+"\n two=/no/such/program ")
	assert.Equal(t, []testredis.Flavour{{Name: "one", Program: one}, {Name: "two", Program: "/no/such/program"}}, testredis.Flavours())
	assert.Equal(t, "one", testredis.Need(t).Name)
	t.Setenv(envServers, "")
	assert.Empty(t, testredis.Flavours())
	t.Run("skipped", func(t *testing.T) {
		defer func() { assert.True(t, t.Skipped()) }()
		testredis.Need(t)
	})
	ran := 0
	testredis.Each(t, func(*testing.T, func(testing.TB) redis.UniversalClient) { ran++ })
	assert.Equal(t, 1, ran, "the imitation")

	require.NoError(t, os.Unsetenv(envServers)) // t.Setenv restores it
	assert.Equal(t, []testredis.Flavour{{Name: "valkey", Program: two}}, testredis.Flavours())
	t.Setenv("PATH", filepath.Dir(two)+string(os.PathListSeparator)+filepath.Dir(one))
	assert.Equal(t, []testredis.Flavour{{Name: "redis", Program: one}, {Name: "valkey", Program: two}}, testredis.Flavours())
}

func TestEachRunsOnAllAndSharesAServer(t *testing.T) {
	var ran []string
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		ran = append(ran, t.Name()[strings.LastIndex(t.Name(), "/")+1:])
		a, b := open(t), open(t)
		require.NotSame(t, a, b)
		require.NoError(t, a.Set(t.Context(), "k", "v", 0).Err())
		require.Equal(t, "v", b.Get(t.Context(), "k").Val())
		t.Run("closed with its test", func(t *testing.T) { a = open(t) })
		require.ErrorIs(t, a.Ping(t.Context()).Err(), redis.ErrClosed)
	})
	want := []string{"miniredis"}
	all := testredis.Flavours()
	if testing.Short() && len(all) > 0 {
		all = all[:1]
	}
	for _, f := range all {
		want = append(want, f.Name)
	}
	if len(all) > 0 && !testing.Short() {
		want = append(want, "cluster")
	}
	assert.Equal(t, want, ran)
}
