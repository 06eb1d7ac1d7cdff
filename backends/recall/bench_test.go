// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const benchMemories, benchDim = 10_000, 1536

// sentence makes up n words whose frequencies follow Zipf's law.
func sentence(rnd *rand.Rand, n int) string {
	zipf, text := rand.NewZipf(rnd, 1.1, 8, 20_000), ""
	for range n {
		text += fmt.Sprintf("w%dx ", zipf.Uint64())
	}
	return text
}

// benchContents are what a partition may hold.
var benchContents = []struct {
	name    string
	vectors bool
	int8    bool
}{{"lexical", false, false}, {"int8", true, true}, {"float32", true, false}}

// benchRanker returns a store with n made-up messages of about 20 words, in sessions of 30, in
// batches of 1,000, a function that returns rankers, one that has loaded the store, and queries.
func benchRanker(b *testing.B, n int, vectors, rounded bool) (s *memStore, open func(store.Records) *Ranker, r *Ranker, queries []string) {
	b.Helper()
	s = newStore(1)
	open = func(s store.Records) *Ranker {
		return newRanker(b, s, func(c *Config) {
			if vectors {
				c.Embedder, c.EmbeddingModel, c.Int8 = hashed(benchDim), "hashed", rounded
			}
		})
	}
	r = open(s)
	rnd := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < n; from += 1000 {
		var ms []backends.Memory
		for i := from; i < min(n, from+1000); i++ {
			ms = append(ms, backends.Memory{
				ID: fmt.Sprintf("m%06d", i), Kind: backends.KindEpisode, Text: sentence(rnd, 10+rnd.IntN(20)), Observed: start.Add(time.Duration(i) * time.Minute),
				Origin: backends.Origin{Session: fmt.Sprint("s", i/30)},
			})
		}
		embed(b, s, r, ann, nil, ms...)
	}
	for range 64 {
		queries = append(queries, sentence(rnd, 8))
	}
	find(b, r, queries[0])
	return s, open, r, queries
}

// BenchmarkSearchVector times searches, and before each the bare scan of as many vectors, so
// that both meet the same noise of the machine. It reports medians, and how many scans a search takes.
func BenchmarkSearchVector(b *testing.B) {
	for _, c := range []struct {
		memories int
		int8     bool
	}{{benchMemories, true}, {benchMemories, false}, {10 * benchMemories, false}} {
		b.Run(fmt.Sprintf("%d/int8=%v", c.memories, c.int8), func(b *testing.B) {
			_, _, r, queries := benchRanker(b, c.memories, true, c.int8)
			rows, vector := make([]float32, c.memories*benchDim), make([]float32, benchDim)
			for i := range rows {
				rows[i] = float32(i % 7)
			}
			var sink float32
			var scans, searches []time.Duration
			for b.Loop() {
				begin := time.Now()
				for row := range slices.Chunk(rows, benchDim) {
					sink += vek32.Dot(vector, row)
				}
				middle := time.Now()
				search(b, r, ann, backends.SearchRequest{Query: queries[len(scans)%len(queries)]})
				scans, searches = append(scans, middle.Sub(begin)), append(searches, time.Since(middle))
			}
			require.Zero(b, sink)
			median := func(d []time.Duration) float64 { return float64(slices.Sorted(slices.Values(d))[len(d)/2]) }
			b.ReportMetric(median(scans), "ns/scan")
			b.ReportMetric(median(searches), "ns/search")
			b.ReportMetric(median(searches)/median(scans), "scans/search")
		})
	}
}

func BenchmarkSearchLexical(b *testing.B) {
	for _, n := range []int{1000, benchMemories} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, _, r, queries := benchRanker(b, n, false, false)
			i := 0
			for b.Loop() {
				search(b, r, ann, backends.SearchRequest{Query: queries[i%len(queries)]})
				i++
			}
		})
	}
}

// BenchmarkSearchAtOnce is for -cpu 1,2: with as many goroutines as processors the time of a
// search is divided by their number.
func BenchmarkSearchAtOnce(b *testing.B) {
	for _, vectors := range []bool{false, true} {
		b.Run(fmt.Sprintf("vectors=%v", vectors), func(b *testing.B) {
			_, _, r, queries := benchRanker(b, benchMemories, vectors, false)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					search(b, r, ann, backends.SearchRequest{Query: queries[i%len(queries)]})
				}
			})
		})
	}
}

// BenchmarkSearchHybrid is a search with a filter and both parts.
func BenchmarkSearchHybrid(b *testing.B) {
	_, _, r, queries := benchRanker(b, benchMemories, true, false)
	after := backends.Filter{Op: "gte", Field: "observed", Value: start.Add(5000 * time.Minute)}
	i := 0
	for b.Loop() {
		search(b, r, ann, backends.SearchRequest{Query: queries[i%len(queries)], Filter: &after, TopK: 20})
		i++
	}
}

// readyPages is a store.Records that has its answers at hand, so that what is measured is
// the time of this package alone.
type readyPages struct {
	store.Records
	pages map[string]*store.ChangeSet // by cursor
}

func (r readyPages) Changes(_ context.Context, _ backends.Partition, cursor string) (*store.ChangeSet, error) {
	return r.pages[cursor], nil
}

// BenchmarkColdLoad is what a new process does for its first search: it reads all pages,
// builds the index and ranks.
func BenchmarkColdLoad(b *testing.B) {
	for _, c := range benchContents {
		b.Run(fmt.Sprintf("%s/%d", c.name, benchMemories), func(b *testing.B) {
			s, open, _, queries := benchRanker(b, benchMemories, c.vectors, c.int8)
			ready := readyPages{pages: map[string]*store.ChangeSet{}}
			for cursor := ""; ready.pages[cursor] == nil; cursor = ready.pages[cursor].Cursor {
				ready.pages[cursor] = s.changes(ann, cursor)
			}
			query := backends.SearchRequest{Query: queries[0]}
			b.ReportAllocs()
			for b.Loop() {
				r := open(ready)
				require.NotEmpty(b, search(b, r, ann, query))
				require.NoError(b, r.Close())
			}
		})
	}
}

// BenchmarkRefresh is a look-up after a write of one memory to a loaded partition.
func BenchmarkRefresh(b *testing.B) {
	for _, c := range benchContents {
		b.Run(fmt.Sprintf("%s/%d", c.name, benchMemories), func(b *testing.B) {
			s, open, r, _ := benchRanker(b, benchMemories, c.vectors, c.int8)
			ready := readyPages{pages: map[string]*store.ChangeSet{"": s.changes(ann, "")}}
			ready.pages[""].More = false
			records := s.changes(ann, "0:9").Records
			vectors, space, err := r.Embed(b.Context(), []string{"w1x w2x"})
			require.NoError(b, err)
			r, cursor, n := open(ready), ready.pages[""].Cursor, 0
			for b.Loop() {
				record := records[n%len(records)]
				record.Text, record.Vector = fmt.Sprintf("%s w%dx", record.Text, n), nil
				if c.vectors {
					record.Vector = vectors[0]
				}
				n++
				next := fmt.Sprint(n)
				ready.pages[cursor] = &store.ChangeSet{Records: []store.Record{record}, Cursor: next, Embedding: space}
				ready.pages[next] = &store.ChangeSet{Cursor: next, Embedding: space}
				cursor = next
				_, err := r.Get(b.Context(), ann, record.ID)
				require.NoError(b, err)
			}
		})
	}
}
