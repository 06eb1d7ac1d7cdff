// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// topics is an embedder that puts a text near to the direction of its topic, which
// is its first word. Half of a vector is common to all, as it is with the
// embeddings of sentences.
type topics struct{ dim int }

func (e topics) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		topic, _, _ := strings.Cut(t, " ")
		out[i] = make([]float64, e.dim)
		for _, part := range []struct {
			seed  string
			share float64
		}{{"common", 0.5}, {topic, 0.6}, {t, 0.6}} {
			h := fnv.New64a()
			_, _ = h.Write([]byte(part.seed))
			rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
			for j := range out[i] {
				out[i][j] += part.share * rnd.NormFloat64()
			}
		}
	}
	return out, nil
}

// about makes up a text of n words about a topic.
func about(rnd *rand.Rand, topic, n int) string {
	words := []string{fmt.Sprintf("t%dx", topic)}
	for range n {
		if rnd.IntN(3) == 0 {
			words = append(words, fmt.Sprintf("t%dw%dx", topic, rnd.IntN(40)))
		} else {
			words = append(words, sentence(rnd, 1))
		}
	}
	return strings.Join(words, " ")
}

// fillTopics stores n memories about n/100 topics.
func fillTopics(t testing.TB, b both, n int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for start := 0; start < n; start += 1000 {
		var texts []string
		for range min(1000, n-start) {
			texts = append(texts, about(rnd, rnd.IntN(max(1, n/100)), 8+rnd.IntN(20)))
		}
		vectors, space, err := b.full.Embed(t.Context(), texts)
		require.NoError(t, err)
		batch := &store.Batch{Embedding: space}
		for i := range texts {
			m := backends.Memory{ID: fmt.Sprintf("m%06d", start+i), Text: texts[i], Metadata: map[string]any{"n": float64(i % 20), "name": fmt.Sprintf("m%06d", start+i)}}
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m, Vector: vectors[i]}))
		}
		_, err = b.records.Apply(t.Context(), ann, batch)
		require.NoError(t, err)
	}
}

// unlike drops a tenth of the neighbours, others for each record.
func unlike(id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%10 == 0
}

// BenchmarkRemote searches a partition whose vectors stay in the store. It reports
// what a search asks for, and which share of the hits of the loaded partition it
// finds (recall@10). The time is mostly that of the store made up for tests.
func BenchmarkRemote(b *testing.B) {
	const memories, dim = 20_000, 128
	few := backends.Eq("n", 7)
	for _, c := range []struct {
		name   string
		drop   func(string) bool
		noise  float64 // of the cosines of the index
		filter *backends.Filter
		space  embedding.Embedder
	}{
		{name: "exact"}, {name: "drops10%", drop: unlike}, {name: "rounds=0.02", noise: 0.02}, {name: "rounds=0.1", noise: 0.1},
		{name: "filter5%", filter: &few}, {name: "unrelated", space: dice{dim}},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.space == nil {
				c.space = topics{dim}
			}
			two := newBoth(b, recall.Config{}, c.space)
			two.remote.Widely()
			defer two.close(b)
			two.records.drop, two.records.noise = c.drop, c.noise
			fillTopics(b, two, memories)
			rnd := rand.New(rand.NewPCG(5, 6))
			var queries, hits, found int
			for b.Loop() {
				q := &backends.SearchRequest{Query: about(rnd, rnd.IntN(memories/100), 6), TopK: 10, Filter: c.filter}
				got := ids(find(b, two.remote, ann, q))
				b.StopTimer()
				for _, id := range ids(find(b, two.full, ann, q)) {
					hits++
					if slices.Contains(got, id) {
						found++
					}
				}
				queries++
				b.StartTimer()
			}
			b.ReportMetric(float64(found)/float64(hits), "recall@10")
			b.ReportMetric(float64(len(two.records.queries))/float64(queries), "nearest/search")
			b.ReportMetric(float64(two.remote.Stats().Vectors)/float64(queries), "vectors/search")
			b.ReportMetric(float64(two.records.reads)/float64(queries), "reads/search")
		})
	}
}
