// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
)

// usersOf says how many users a process serves, and within how many bytes.
func usersOf() (users int, budget int64) {
	if os.Getenv("EINOMEM_LONG") == "1" {
		return 10_000, 16 << 20
	}
	return 1000, 2 << 20
}

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// One process that serves many more users than fit into its budget stays within it,
// whatever the order in which they come, and finds for each what is theirs.
func TestAProcessOfManyUsersHoldsItsBudget(t *testing.T) {
	const each, workers = 20, 8
	users, budget := usersOf()
	server := testredis.Need(t).Start(t)
	client := server.Client(t, func(o *redis.Options) { o.ContextTimeoutEnabled, o.PoolSize = true, workers })
	s, err := redisstore.New(t.Context(), client, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ranker, err := recall.New(t.Context(), &recall.Config{Records: s, MaxBytes: budget, Embedder: &testkit.Embedder{Dim: 64}, EmbeddingModel: "words"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ranker.Close()) })
	partition := func(user int) backends.Partition {
		return backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprint("user-", user)}
	}
	forAll := func(order []int, do func(ctx context.Context, user int) error) {
		t.Helper()
		all, ctx := errgroup.WithContext(t.Context())
		var next atomic.Int64
		for range workers {
			all.Go(func() error {
				for i := next.Add(1) - 1; int(i) < len(order); i = next.Add(1) - 1 {
					if err := do(ctx, order[i]); err != nil {
						return fmt.Errorf("user %d: %w", order[i], err)
					}
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
	}
	forAll(rand.Perm(users), func(ctx context.Context, user int) error {
		b := &store.Batch{}
		var texts []string
		for i := range each {
			texts = append(texts, fmt.Sprintf("user%d keeps the secret word%dof%d in drawer%d", user, i, user, i))
		}
		vectors, space, err := ranker.Embed(ctx, texts)
		if err != nil {
			return err
		}
		b.Embedding = space
		for i, text := range texts {
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: text}, Vector: vectors[i]}))
		}
		_, err = s.Apply(ctx, partition(user), b)
		return err
	})
	before, goroutines := heap(), runtime.NumGoroutine()
	var most atomic.Int64
	for range 2 {
		forAll(rand.Perm(users), func(ctx context.Context, user int) error {
			i := user % each
			found, err := ranker.Search(ctx, partition(user), &backends.SearchRequest{Query: fmt.Sprintf("secret word%dof%d", i, user), TopK: 3})
			if err != nil || found.Degraded != nil {
				return fmt.Errorf("%w %w", err, found.Degraded)
			}
			if len(found.Hits) != 3 || found.Hits[0].ID != fmt.Sprint(i) {
				return fmt.Errorf("found %v", found.Hits)
			}
			stats := ranker.Stats()
			for was := most.Load(); stats.Bytes > was && !most.CompareAndSwap(was, stats.Bytes); was = most.Load() {
			}
			if stats.Bytes > budget {
				return fmt.Errorf("%d bytes are held", stats.Bytes)
			}
			return nil
		})
	}
	stats, grown := ranker.Stats(), heap()-before
	assert.Greater(t, stats.Evictions, int64(users), "the test shows nothing if all users fit")
	assert.Less(t, grown, budget+budget/2+4<<20, "the process holds what the ranker counts, and little else")
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+workers)
	pool := client.PoolStats()
	assert.LessOrEqual(t, int(pool.TotalConns), workers)
	t.Logf("%d users of %d memories, each searched twice: at most %d of %d bytes counted, the heap grew by %d; %d partitions held, %d loads, %d evictions; %d goroutines more, %d connections",
		users, each, most.Load(), budget, grown, stats.Partitions, stats.Loads, stats.Evictions, runtime.NumGoroutine()-goroutines, pool.TotalConns)
}
