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
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Quantiles sum durations up, in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50_ms" col:"p50;%.2f;blank"`
	P95 float64 `json:"p95_ms" col:"p95;%.2f;blank"`
	P99 float64 `json:"p99_ms" col:"p99;%.2f;blank"`
}

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
			var times []time.Duration
			for op := client; op < ops; op += clients {
				took, err := Time(func() error { return do(ctx, client, op) })
				if err != nil {
					return err
				}
				times = append(times, took)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), all, err
}

// Search is how one way to search did, on one or many partitions of the same size.
type Search struct {
	Where      string    `json:"where" col:"where"` // the store, or the peer
	Partitions int       `json:"partitions" col:"partitions"`
	Memories   int       `json:"memories" col:"memories"` // in each
	How        string    `json:"how" col:"how"`
	Warm       Quantiles `json:"warm" col:"warm "`                                   // of a search of what was searched before
	Times      float64   `json:"times,omitempty" col:"x;%.2f;blank"`                 // Warm.P50 over that of the yardstick
	Cold       Quantiles `json:"cold" col:"cold "`                                   // of the first search in a new process
	TimesCold  float64   `json:"times_cold,omitempty" col:"x;%.2f;blank"`            // Cold.P50 likewise
	Recall10   *float64  `json:"recall_at_10,omitempty" col:"recall@10;%.3f"`        // of vectors alone, against comparing all, 0 to 1
	Stored     int64     `json:"stored_bytes,omitempty" col:"bytes stored;%d;blank"` // where it is stored, a memory
	Held       int64     `json:"held_bytes,omitempty" col:"held;%d;blank"`           // in the process, a memory
	Fill       float64   `json:"fill_s" col:"fill s;%.1f"`                           // how long it took to store them all, in seconds
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
	Where   string    `json:"where" col:"where"`
	What    string    `json:"what" col:"what"`
	Clients int       `json:"clients" col:"clients"`
	PerSec  float64   `json:"per_second" col:"a second;%.0f"`
	Times   float64   `json:"times,omitempty" col:"x;%.2f;blank"` // PerSec over that of the yardstick
	Took    Quantiles `json:"took" col:""`
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

// Numbers are a flag's value: numbers above 0, separated by commas.
type Numbers []int

// Set implements flag.Value.
func (n *Numbers) Set(list string) error {
	var out Numbers
	for s := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || i <= 0 {
			return fmt.Errorf("%q is no number above 0", s)
		}
		out = append(out, i)
	}
	*n = out
	return nil
}

// String implements flag.Value.
func (n *Numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*n)), " ", ","), "[]")
}
