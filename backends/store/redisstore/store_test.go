// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/testredis"
)

// The contract, on every kind of server that this machine has.
func TestStore(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
			return newStore(t, open(t), &redisstore.Config{Clock: o.Clock})
		})
		t.Run("shared", func(t *testing.T) {
			storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
				return newStore(t, open(t), nil), newStore(t, open(t), nil)
			})
		})
	})
}

func newStore(t testing.TB, client redis.UniversalClient, cfg *redisstore.Config) *redisstore.Store {
	t.Helper()
	if cfg == nil {
		cfg = &redisstore.Config{}
	}
	if cfg.Logger == nil { // what New warns of is tested apart
		quiet := *cfg
		quiet.Logger = slog.New(slog.DiscardHandler)
		cfg = &quiet
	}
	s, err := redisstore.New(t.Context(), client, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
