// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// on lets f do something at the first call of the given name.
func on(f *nearRecords, call string, do func()) {
	var done atomic.Bool
	f.hold = func(_ context.Context, name string) error {
		if name == call && !done.Swap(true) {
			do()
		}
		return nil
	}
}

// What others write while a search asks the store is either seen or not, and never
// makes it return what is hidden by then.
func TestWritesWhileTheStoreIsAsked(t *testing.T) {
	for _, call := range []string{"Nearest", "Vectors"} {
		t.Run(call, func(t *testing.T) {
			f, r := shelf(t, nil)
			find(t, r, ann, tea)
			on(f, call, func() {
				apply(t, f, ann, store.Delete("7"), store.Retract("8", f.now))
				stock(t, f, r, ann, 60, 1)
				stock(t, f, r, ann, 9, 1)
				find(t, r, ann, tea) // brings the index up to date
			})
			hits := find(t, r, ann, &backends.SearchRequest{Query: text(7), TopK: 10})
			require.NotContains(t, ids(hits), "7")
			require.NotContains(t, ids(hits), "8")
			require.Len(t, hits, 10)

			on(f, call, func() {
				_, err := f.Drop(context.Background(), ann)
				require.NoError(t, err)
				find(t, r, ann, tea)
			})
			resp, err := r.Search(t.Context(), ann, tea)
			require.NoError(t, err)
			require.Empty(t, resp.Hits)
		})
	}
}

// Somebody who writes before every answer does not keep a search from its end.
func TestSomebodyWritesAllTheTime(t *testing.T) {
	f, r := shelf(t, nil)
	find(t, r, ann, tea)
	n := 1000
	var writing sync.Mutex
	f.hold = func(_ context.Context, call string) error {
		if call != "Vectors" || !writing.TryLock() {
			return nil
		}
		defer writing.Unlock()
		n++
		stock(t, f, r, ann, n, 1)
		_, err := r.All(context.Background(), ann)
		return err
	}
	old := backends.Lt("created", f.now.AddDate(1, 0, 0))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 100, Filter: &old})
	require.GreaterOrEqual(t, len(hits), 60)
	require.Less(t, n, 1100)
}

// A partition that gets vectors of another model meanwhile.
func TestReembedWhileTheStoreIsAsked(t *testing.T) {
	f, r := shelf(t, nil)
	other := large(t, f, 1, func(c *recall.Config) { c.EmbeddingModel = "other" })
	find(t, r, ann, tea)
	on(f, "Vectors", func() {
		_, err := other.Reembed(context.Background(), ann)
		require.NoError(t, err)
		_, err = r.All(context.Background(), ann)
		require.NoError(t, err)
	})
	_, err := r.Search(t.Context(), ann, tea)
	require.ErrorIs(t, err, backends.ErrDimension)
}

// A caller who gives up gets that, and no degraded answer.
func TestCancelledWhileTheStoreIsAsked(t *testing.T) {
	for _, call := range []string{"Nearest", "Vectors"} {
		f, r := shelf(t, nil)
		find(t, r, ann, tea)
		ctx, cancel := context.WithCancel(t.Context())
		on(f, call, cancel)
		_, err := r.Search(ctx, ann, tea)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Where too many could be among the best, the most promising are looked at, and
// Stats say so. A search without enough hits goes on all the same.
func TestBudget(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 1, nil)
	r.AskFewer()
	r.Spend(30)
	var ms []backends.Memory
	for i := range 400 {
		ms = append(ms, backends.Memory{ID: fmt.Sprintf("%03d", i), Text: "tea"})
	}
	texts := make([]string, len(ms))
	for i := range texts {
		texts[i] = fmt.Sprint("direction ", i)
	}
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	batch := &store.Batch{Embedding: space}
	for i := range ms {
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: ms[i], Vector: vectors[i]}))
	}
	_, err = f.Apply(t.Context(), ann, batch)
	require.NoError(t, err)
	require.Len(t, find(t, r, ann, tea), 3)
	s := r.Stats()
	require.Equal(t, int64(1), s.Cut)
	require.Less(t, s.Vectors, int64(60))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 3, Threshold: 0.9})
	want := find(t, large(t, f, -1, nil), ann, &backends.SearchRequest{Query: "tea", TopK: 3, Threshold: 0.9})
	require.Equal(t, ids(want), ids(hits))
	require.Less(t, len(hits), 3)
}

// 8 goroutines search a partition that grows and shrinks across the threshold while
// the store fails now and then.
func TestConcurrentSearchesOfLargePartitions(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 30, nil)
	r.AskFewer()
	stock(t, f, r, ann, 0, 29)
	var turn sync.Mutex
	calls := 0
	f.hold = func(_ context.Context, call string) error {
		turn.Lock()
		defer turn.Unlock()
		if calls++; calls%17 == 0 && call != "Outline" && call != "Count" {
			return errors.New("a hiccup")
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() {
		for round := range 6 {
			stock(t, f, r, ann, 29, 10+round)
			for i := 5; i < 29+10+round; i++ {
				apply(t, f, ann, store.Delete(fmt.Sprint(i)))
			}
			stock(t, f, r, ann, 5, 24)
		}
	})
	for range 8 {
		all.Go(func() {
			for i := range 60 {
				resp, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: text(i % 5), TopK: 5})
				if err != nil || len(resp.Hits) == 0 || resp.Hits[0].ID != fmt.Sprint(i%5) {
					t.Errorf("%v: %v", err, resp)
					return
				}
			}
		})
	}
	all.Wait()
}
