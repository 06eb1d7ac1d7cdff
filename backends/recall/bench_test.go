// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

const (
	benchMemories = 10_000
	benchDim      = 1536
)

// dice is an embedder whose vectors are random numbers seeded by the text.
type dice struct{ dim int }

func (d dice) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t))
		rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float64, d.dim)
		for j := range out[i] {
			out[i][j] = rnd.Float64()
		}
	}
	return out, nil
}

// sentence makes up n words whose frequencies follow Zipf's law.
func sentence(rnd *rand.Rand, n int) string {
	zipf := rand.NewZipf(rnd, 1.1, 8, 20_000)
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%dx", zipf.Uint64())
	}
	return strings.Join(words, " ")
}

// benchRecords returns a store with n made-up memories of about 20 words.
func benchRecords(b *testing.B, n int, encoding recall.Encoding, withVectors bool) (*fakeRecords, *recall.Ranker) {
	b.Helper()
	f := newFakeRecords()
	r := newRanker(b, f, func(c *recall.Config) {
		if withVectors {
			c.Embedder, c.EmbeddingModel, c.Encoding = dice{benchDim}, "dice", encoding
		}
	})
	rnd := rand.New(rand.NewPCG(1, 2))
	for start := 0; start < n; start += 1000 { // a batch is never split between pages
		batch := &store.Batch{}
		var texts []string
		for i := start; i < min(n, start+1000); i++ {
			m := backends.Memory{ID: fmt.Sprintf("m%06d", i), Text: sentence(rnd, 10+rnd.IntN(20)), Observed: f.now.Add(time.Duration(i) * time.Minute)}
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
			texts = append(texts, m.Text)
		}
		if withVectors {
			vectors, space, err := r.Embed(b.Context(), texts)
			require.NoError(b, err)
			batch.Embedding = space
			for i := range batch.Mutations {
				batch.Mutations[i].Record.Vector = vectors[i]
			}
		}
		_, err := f.Apply(b.Context(), ann, batch)
		require.NoError(b, err)
	}
	return f, r
}

func benchQueries() []string {
	rnd := rand.New(rand.NewPCG(3, 4))
	out := make([]string, 64)
	for i := range out {
		out[i] = sentence(rnd, 8)
	}
	return out
}

func searchLoop(b *testing.B, r *recall.Ranker) {
	b.Helper()
	queries := benchQueries()
	find(b, r, ann, &backends.SearchRequest{Query: queries[0]}) // warm
	i := 0
	for b.Loop() {
		find(b, r, ann, &backends.SearchRequest{Query: queries[i%len(queries)]})
		i++
	}
}

// BenchmarkSearchVector times searches, and before each the bare scan of the same
// matrix, so that both meet the same noise of the machine. It reports how many
// scans a search takes.
func BenchmarkSearchVector(b *testing.B) {
	for _, e := range []struct {
		name     string
		encoding recall.Encoding
	}{{"float32", recall.Float32}, {"int8", recall.Int8}} {
		b.Run(e.name, func(b *testing.B) {
			_, r := benchRecords(b, benchMemories, e.encoding, true)
			queries := benchQueries()
			find(b, r, ann, &backends.SearchRequest{Query: queries[0]}) // warm
			vector := make([]float32, benchDim)
			for i := range vector {
				vector[i] = rand.Float32()
			}
			var sink float32
			var scans, searches time.Duration
			n := 0
			for b.Loop() {
				begin := time.Now()
				sink += r.BareScan(ann, vector)
				middle := time.Now()
				find(b, r, ann, &backends.SearchRequest{Query: queries[n%len(queries)]})
				scans, searches = scans+middle.Sub(begin), searches+time.Since(middle)
				n++
			}
			require.NotZero(b, sink)
			b.ReportMetric(float64(scans)/float64(n), "ns/scan")
			b.ReportMetric(float64(searches)/float64(n), "ns/search")
			b.ReportMetric(float64(searches)/float64(scans), "scans/search")
		})
	}
}

func BenchmarkSearchLexical(b *testing.B) {
	for _, n := range []int{1000, benchMemories} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, r := benchRecords(b, n, recall.Float32, false)
			searchLoop(b, r)
		})
	}
}

// BenchmarkSearchHybrid is a search with a filter and both parts.
func BenchmarkSearchHybrid(b *testing.B) {
	f, r := benchRecords(b, benchMemories, recall.Float32, true)
	queries := benchQueries()
	after := backends.Gte("observed", f.now.Add(5000*time.Minute))
	find(b, r, ann, &backends.SearchRequest{Query: queries[0]})
	i := 0
	for b.Loop() {
		find(b, r, ann, &backends.SearchRequest{Query: queries[i%len(queries)], Filter: &after, TopK: 20})
		i++
	}
}

// BenchmarkLoad reads a partition and builds its index.
func BenchmarkLoad(b *testing.B) {
	for _, vectors := range []bool{false, true} {
		b.Run(fmt.Sprintf("vectors=%v", vectors), func(b *testing.B) {
			f, _ := benchRecords(b, benchMemories, recall.Float32, vectors)
			for b.Loop() {
				r := newRanker(b, f, func(c *recall.Config) {
					if vectors {
						c.Embedder, c.EmbeddingModel = dice{benchDim}, "dice"
					}
				})
				_, err := r.All(b.Context(), ann)
				require.NoError(b, err)
				require.NoError(b, r.Close())
			}
		})
	}
}
