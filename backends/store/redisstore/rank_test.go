// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testredis"
)

// noon is when everything of these tests happens.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

func atNoon() time.Time { return noon }

// dice embeds a text by what its bytes are: texts with words in common are no nearer,
// and equal texts are equal.
type dice struct{}

func (dice) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range 24 {
			out[i] = append(out[i], rnd.NormFloat64())
		}
	}
	return out, nil
}

var vocabulary = strings.Fields("tea coffee green climbs mountain Ann Bob cat cats dog Paris London likes hates works at the in 2026 绿茶 喜欢 北京 张伟 喝 咖啡 的 住在 上海 猫")

func phrase(rnd *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[rnd.IntN(len(vocabulary))]
	}
	return strings.Join(words, []string{" ", ""}[rnd.IntN(2)])
}

// corpus writes the same memories to any store, batch by batch: many with the same
// text, superseded, retracted, deleted, expired and written again.
func corpus(t *testing.T, s store.Records, r *recall.Ranker, batches int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(5, 6))
	id := func() string { return fmt.Sprint("m", rnd.IntN(80)) }
	quality := 0.7
	for range batches {
		b := &store.Batch{}
		var texts []string
		for range 1 + rnd.IntN(4) {
			m := backends.Memory{ID: id(), Kind: []backends.Kind{backends.KindFact, backends.KindProcedure}[rnd.IntN(2)], Text: phrase(rnd, 1+rnd.IntN(6)*rnd.IntN(2)),
				Observed: noon.Add(-time.Duration(rnd.IntN(5)) * 24 * time.Hour), Scope: backends.Scope{SessionID: fmt.Sprint("s", rnd.IntN(3))},
				Metadata: map[string]any{"n": float64(rnd.IntN(10)), "tags": []any{phrase(rnd, 1), "x"}, "deep": map[string]any{"a": 0.1 * float64(rnd.IntN(7))}}}
			switch rnd.IntN(8) {
			case 0:
				m.Expires = noon.Add(time.Duration(rnd.IntN(3)-1) * time.Hour)
			case 1:
				m.Quality = &quality
			case 2:
				m.Valid = noon.Add(-time.Duration(rnd.IntN(100)) * time.Hour)
			}
			texts = append(texts, m.Text)
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
		}
		vectors, space, err := r.Embed(t.Context(), texts)
		require.NoError(t, err)
		b.Embedding = space
		for i := range texts {
			b.Mutations[i].Record.Vector = vectors[i]
		}
		_, err = s.Apply(t.Context(), ann, b)
		require.NoError(t, err)
		change := []store.Mutation{store.Delete(id()), store.Retract(id(), noon), store.Increment(id(), "n", 0.1), store.Supersede(id(), b.Mutations[0].Record)}[rnd.IntN(4)]
		_, _ = s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{change}}) // a conflict on one is one on all
	}
}

// queries asks what there is to ask.
func queries(t *testing.T, r *recall.Ranker) (out []*backends.SearchResponse) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(9, 9))
	filters := []*backends.Filter{nil}
	for _, f := range []backends.Filter{backends.Gt("n", 4), backends.Eq("session_id", "s1"), backends.In("kind", "fact"), backends.Lt("observed", noon.Add(-36*time.Hour))} {
		filters = append(filters, &f)
	}
	for i := range 60 {
		q := &backends.SearchRequest{Query: phrase(rnd, 1+rnd.IntN(4)), TopK: 100, Filter: filters[i%len(filters)],
			IncludeSuperseded: i%3 == 1, IncludeExpired: i%4 == 1}
		if i%7 == 6 {
			q.AsOf = noon.Add(-48 * time.Hour)
		}
		got, err := r.Search(t.Context(), ann, q)
		require.NoError(t, err)
		require.NoError(t, got.Degraded)
		out = append(out, got)
	}
	return out
}

// rankings returns the answers to all queries of each kind of ranker, of one that
// watched the corpus being written and of one that read it afterwards.
func rankings(t *testing.T, s store.Records) map[string][]*backends.SearchResponse {
	t.Helper()
	ranker := func(cfg recall.Config) *recall.Ranker {
		cfg.Records, cfg.Clock, cfg.Large = s, atNoon, -1
		r, err := recall.New(t.Context(), &cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}
	watching := ranker(recall.Config{Embedder: dice{}, EmbeddingModel: "dice"})
	corpus(t, s, watching, 20)
	queries(t, watching) // loads what there is
	corpus(t, s, watching, 40)
	out := map[string][]*backends.SearchResponse{"watching": queries(t, watching)}
	for name, cfg := range map[string]recall.Config{
		"lexical": {},
		"vectors": {Embedder: dice{}, EmbeddingModel: "dice", Weights: &recall.Weights{Vector: 1}},
		"both":    {Embedder: dice{}, EmbeddingModel: "dice"},
		"ranks":   {Embedder: dice{}, EmbeddingModel: "dice", Fusion: recall.ReciprocalRank},
		"mem0":    {Embedder: dice{}, EmbeddingModel: "dice", Scoring: recall.Mem0Compatible},
		"age":     {RecencyHalfLife: 24 * time.Hour, QualityWeight: 0.5},
	} {
		out[name] = queries(t, ranker(cfg))
	}
	return out
}

// The same corpus and the same queries give the same hits in the same order with the
// same scores, to the last bit, on every store.
func TestRankingIsTheSameOnEveryServer(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), ":memory:", &sqlitestore.Config{Clock: atNoon})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	want := rankings(t, db)
	require.Equal(t, want["watching"], want["both"], "loaded cold and warm")
	hits, ties := 0, 0
	for name, answers := range want {
		require.Greater(t, sizes(answers), 100, name)
		for _, a := range answers {
			hits += len(a.Hits)
			for i := 1; i < len(a.Hits); i++ {
				if a.Hits[i].Score == a.Hits[i-1].Score { //nolint:testifylint // bits
					ties++
				}
			}
		}
	}
	require.Greater(t, ties, 100)
	t.Logf("%d kinds of ranker, 60 queries, %d hits, %d ties", len(want), hits, ties)
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		got := rankings(t, newStore(t, open(t), &redisstore.Config{Clock: atNoon}))
		for name := range want {
			for i := range want[name] {
				require.Equal(t, want[name][i], got[name][i], "%s, query %d", name, i)
			}
		}
	})
}

func sizes(all []*backends.SearchResponse) (n int) {
	for _, a := range all {
		n += len(a.Hits)
	}
	return n
}
