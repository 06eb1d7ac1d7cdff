// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testredis"
)

func TestOnEveryStore(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "core.db")
		onAStore(t, func(t testing.TB) store.Store {
			st, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Clock: fixed})
			require.NoError(t, err)
			t.Cleanup(func() { _ = st.Close() })
			return st
		})
	})
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		onAStore(t, func(t testing.TB) store.Store {
			st, err := redisstore.New(context.Background(), open(t), &redisstore.Config{Clock: fixed})
			require.NoError(t, err)
			t.Cleanup(func() { _ = st.Close() })
			return st
		})
	})
}

// onAStore runs what every store has to pass. connect returns another connection to
// the one store, as another process has it.
func onAStore(t *testing.T, connect func(t testing.TB) store.Store) {
	for name, f := range map[string]func(*testing.T, func(testing.TB) store.Store, backends.Scope){
		"isolation": isolation, "appends": concurrentAppends, "repetitions": concurrentRepetitions,
	} {
		t.Run(name, func(t *testing.T) {
			s := ann
			s.Namespace = name
			f(t, connect, s)
		})
	}
}
