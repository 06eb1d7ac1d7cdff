// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

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

func TestEachWithoutServers(t *testing.T) {
	t.Setenv(testredis.EnvServers, "")
	ran := 0
	testredis.Each(t, func(*testing.T, func(testing.TB) redis.UniversalClient) { ran++ })
	assert.Equal(t, 1, ran)
}
