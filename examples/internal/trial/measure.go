// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Quantiles sum durations up, in milliseconds.
type Quantiles struct{ P50, P95, P99 float64 }

// QuantilesOf sums durations up. They are sorted in place.
func QuantilesOf(times []time.Duration) Quantiles {
	if len(times) == 0 {
		return Quantiles{}
	}
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[int(q*float64(len(times)-1))].Nanoseconds()) / 1e6
	}
	return Quantiles{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}

// Time returns how long f takes.
func Time(f func() error) (time.Duration, error) {
	begin := time.Now()
	err := f()
	return time.Since(begin), err
}

// Load has clients that call do at the same time, ops times in all, each with its
// own number and that of the call. It returns how long that took and how long
// each call took.
func Load(ctx context.Context, clients, ops int, do func(ctx context.Context, client, op int) error) (time.Duration, []time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	g, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for client := range clients {
		g.Go(func() error {
			for op := client; op < ops; op += clients {
				took, err := Time(func() error { return do(ctx, client, op) })
				if err != nil {
					return err
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), all, err
}

// Search is how one way to search did, on one or many partitions of the same size.
type Search struct {
	Where      string // the store, or the peer
	Partitions int
	Memories   int // in each
	How        string
	Warm       Quantiles // of a search of what was searched before
	Times      float64   // Warm.P50 over that of the yardstick; 0: there is none
	Cold       Quantiles // of the first search in a new process
	TimesCold  float64   // Cold.P50 likewise
	Recall10   *float64  // of vectors alone, against comparing all, 0 to 1
	Stored     int64     // bytes where it is stored, a memory
	Held       int64     // bytes in the process, a memory
}

// SearchHeader stands above rows of searches, in Markdown.
const SearchHeader = `| where | memories × users | how | warm p50 / p95 / p99 ms | × | cold p50 / p95 ms | × | bytes stored | held | recall@10 |
|---|---|---|---|---|---|---|---|---|---|
`

// String is a row of a table in Markdown.
func (s *Search) String() string {
	recall := ""
	if s.Recall10 != nil {
		recall = fmt.Sprintf("%.3f", *s.Recall10)
	}
	return fmt.Sprintf("| %s | %d × %d | %s | %.2f / %.2f / %.2f | %s | %.1f / %.1f | %s | %d | %d | %s |\n", s.Where, s.Memories, s.Partitions, s.How,
		s.Warm.P50, s.Warm.P95, s.Warm.P99, times(s.Times), s.Cold.P50, s.Cold.P95, times(s.TimesCold), s.Stored, s.Held, recall)
}

// times prints a ratio, if there is one.
func times(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", n)
}

// Search searches the corpus, of which partitions have equal parts: it times each query
// in a partition by chance, and, if vectors answer and one partition has all, it compares
// what they find of the nearest memories with the exact answer. search returns the
// numbers of up to ten memories.
func (s *Search) Search(c *Corpus, vectors bool, search func(partition int, query string) ([]int, error)) error {
	rnd := rand.New(rand.NewPCG(4, 4))
	var times []time.Duration
	for _, q := range c.Queries {
		partition := rnd.IntN(s.Partitions)
		took, err := Time(func() error {
			_, err := search(partition, q)
			return err
		})
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	s.Warm = QuantilesOf(times)
	if !vectors || s.Partitions > 1 {
		return nil
	}
	queries, mean := c.Strange[:min(50, len(c.Strange))], 0.0
	for i, exact := range c.Exact(queries, 10) {
		found, err := search(0, queries[i])
		if err != nil {
			return err
		}
		n := len(slices.DeleteFunc(found, func(f int) bool { return !slices.Contains(exact, f) }))
		mean += float64(n) / float64(len(exact))
	}
	mean /= float64(len(queries))
	s.Recall10 = &mean
	return nil
}

// Write is how one sort of write did.
type Write struct {
	Where, What string
	Clients     int
	PerSec      float64
	Took        Quantiles
}

// WriteHeader stands above rows of writes, in Markdown.
const WriteHeader = `| where | what | clients | a second (p50 / p95 ms) |
|---|---|---|---|
`

// String is a row of a table in Markdown.
func (w *Write) String() string {
	return fmt.Sprintf("| %s | %s | %d | %.0f (%.2f / %.2f) |\n", w.Where, w.What, w.Clients, w.PerSec, w.Took.P50, w.Took.P95)
}

// Machine says on what a benchmark runs.
func Machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// Heap returns how many bytes the process uses, after what it does not was freed.
func Heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// SizeOf returns how many bytes the files below a folder have.
func SizeOf(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
