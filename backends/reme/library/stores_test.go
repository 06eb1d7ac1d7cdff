// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testredis"
)

// Every store does the same, in memory, in a file and on a server, at once and staged.
func TestR26LibrariesOnEveryStore(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		c := &clock{t: start}
		st, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "memory.db"), &sqlitestore.Config{Clock: c.Now})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		onAStore(t, st, c)
	})
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		c := &clock{t: start}
		st, err := redisstore.New(context.Background(), open(t), &redisstore.Config{Clock: c.Now, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		onAStore(t, st, c)
	})
}

func onAStore(t *testing.T, st store.Store, c *clock) {
	var dumps []string
	for _, oneBatch := range []int{0, 20} {
		w := open(t, options{store: st, clock: c, embedder: &embedder{}, config: library.Config{OneBatch: oneBatch}})
		w.load(shop, many("old", 30))
		require.Equal(t, 60, w.load(shop, many("一", 60)).Loaded)
		require.Len(t, w.ids(shop), 60)
		require.Len(t, w.found(shop, "do step 7"), 60)
		_, err := w.Copy(w.ctx, &library.CopyRequest{From: shop, To: lab})
		require.NoError(t, err)
		require.ElementsMatch(t, w.ids(shop), w.ids(lab))
		dumps = append(dumps, w.dump(&library.DumpRequest{Scope: lab, Vectors: true}))
		w.nothingStaged(shop)
		n, err := w.Delete(w.ctx, &library.DeleteRequest{Scope: lab, Erase: true})
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, 60)
		require.ElementsMatch(t, []string{"shop"}, w.workspaces(""))
	}
	require.Equal(t, dumps[0], dumps[1])

	w := open(t, options{store: st, clock: c, config: library.Config{OneBatch: 20}})
	f := &faulty{Store: st}
	for n := 20; n <= 30; n++ { // around the decision
		w.load(shop, before)
		was := w.all(shop)
		f.calls, f.before = 0, func(call int, _ string) error { return failIf(call >= n) }
		dying := open(t, options{store: f, clock: c, config: library.Config{OneBatch: staging}})
		got, err := dying.Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
		if err != nil {
			require.ErrorIs(t, err, backends.ErrUnavailable)
		}
		loaded := err == nil || got.Committed
		c.pass(library.LeaseFor)
		resumed, err := w.Resume(w.ctx, shop)
		require.NoError(t, err)
		require.Equal(t, loaded || resumed.Finished > 0, whole(t, w, was))
		w.nothingStaged(shop)
	}
}
