// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// drawConfig makes up how a ranker scores.
func drawConfig(t *rapid.T, now time.Time) recall.Config {
	c := recall.Config{Clock: func() time.Time { return now },
		Encoding: rapid.SampledFrom([]recall.Encoding{recall.Float32, recall.Int8}).Draw(t, "encoding"),
		Scoring:  rapid.SampledFrom([]recall.Scoring{recall.Absolute, recall.Absolute, recall.Mem0Compatible}).Draw(t, "scoring"),
		Fusion:   rapid.SampledFrom([]recall.Fusion{recall.WeightedSum, recall.WeightedSum, recall.ReciprocalRank}).Draw(t, "fusion"),
		Weights: rapid.SampledFrom([]*recall.Weights{nil, nil, {Lexical: 0.2, Vector: 0.8}, {Lexical: 3, Vector: 1}, {Vector: 1}, {Lexical: 1}}).
			Draw(t, "weights")}
	if rapid.Bool().Draw(t, "emphasis") {
		c.RecencyHalfLife, c.QualityWeight = 24*time.Hour, 0.5
		c.RoleWeights = map[string]float64{"user": 2, "tool": 0}
	}
	return c
}

// both are two rankers over the same records: one that leaves the vectors in the
// store, and one that loads them.
type both struct {
	records      *nearRecords
	remote, full *recall.Ranker
}

func newBoth(t require.TestingT, c recall.Config, e embedding.Embedder) both {
	b := both{records: newNearRecords()}
	c.Records, c.Embedder, c.EmbeddingModel = b.records, e, "directions"
	c.Large = 1
	var err error
	b.remote, err = recall.New(context.Background(), &c)
	require.NoError(t, err)
	b.remote.AskFewer()
	c.Large = -1
	b.full, err = recall.New(context.Background(), &c)
	require.NoError(t, err)
	return b
}

func (b both) close(t require.TestingT) {
	require.NoError(t, b.remote.Close())
	require.NoError(t, b.full.Close())
}

// search asks both and returns what the one that loads found.
func (b both) search(t require.TestingT, q *backends.SearchRequest) []backends.Hit {
	var hits [2][]backends.Hit
	for i, r := range []*recall.Ranker{b.full, b.remote} {
		resp, err := r.Search(context.Background(), ann, q)
		require.NoError(t, err)
		require.NoError(t, resp.Degraded)
		hits[i] = resp.Hits
	}
	require.Equal(t, ids(hits[0]), ids(hits[1]))
	for i, want := range hits[0] {
		got := hits[1][i]
		require.Equal(t, want.Memory, got.Memory)
		require.InDelta(t, want.Score, got.Score, 1e-6)
		require.InDelta(t, want.Parts.Lexical, got.Parts.Lexical, 1e-6)
		require.InDelta(t, want.Parts.Vector, got.Parts.Vector, 1e-6)
		require.InDelta(t, want.Parts.Signals, got.Parts.Signals, 1e-6)
		require.Equal(t, want.Sources, got.Sources)
	}
	return hits[0]
}

// made is a memory made up by chance, often one that may be returned.
func made(rnd *rand.Rand, id string, now time.Time) backends.Memory {
	day := func(share float64) (t time.Time) {
		if rnd.Float64() < share {
			t = now.AddDate(0, 0, rnd.IntN(8)-4)
		}
		return t
	}
	quality := rnd.Float64()
	m := backends.Memory{ID: id, Text: sentence(rnd, rnd.IntN(9)), Created: now.AddDate(0, 0, -3), Quality: &quality,
		Kind:     []backends.Kind{backends.KindFact, backends.KindFact, backends.KindEpisode, backends.KindTask}[rnd.IntN(4)],
		Observed: day(0.7), Valid: day(0.2), Invalidated: day(0.1), Expires: day(0.2),
		Metadata: map[string]any{"n": float64(rnd.IntN(4)), "name": id},
		Origin:   backends.Origin{Role: []string{"", "user", "tool"}[rnd.IntN(3)], Turn: fmt.Sprint(rnd.IntN(20))}}
	if !m.Invalidated.IsZero() && rnd.IntN(2) == 0 {
		m.SupersededBy = "successor"
	}
	return m
}

// fill stores made-up memories with the given ids. Of those with vectors, some
// share theirs with others.
func (b both) fill(t require.TestingT, rnd *rand.Rand, now time.Time, ids ...string) {
	var texts []string
	for range ids {
		texts = append(texts, fmt.Sprint(rnd.IntN(400)))
	}
	vectors, space, err := b.full.Embed(context.Background(), texts)
	require.NoError(t, err)
	batch := &store.Batch{Embedding: space}
	for i, id := range ids {
		record := &store.Record{Memory: made(rnd, id, now)}
		if rnd.IntN(12) > 0 {
			record.Vector = vectors[i]
		}
		batch.Mutations = append(batch.Mutations, store.Put(record))
	}
	_, err = b.records.Apply(context.Background(), ann, batch)
	require.NoError(t, err)
}

// ask makes up a request.
func ask(t *rapid.T, rnd *rand.Rand, now time.Time) *backends.SearchRequest {
	q := &backends.SearchRequest{Query: "w1x " + sentence(rnd, rnd.IntN(6)), TopK: rapid.IntRange(1, 12).Draw(t, "k"),
		WithSources: rapid.Bool().Draw(t, "sources")}
	some := func(label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 4 }
	if some("with threshold") {
		q.Threshold = rapid.SampledFrom([]float64{-1, 0.123456, 0.31, 0.5, 0.77}).Draw(t, "threshold")
	}
	q.IncludeSuperseded, q.IncludeExpired = some("with superseded"), some("with expired")
	if some("as of") {
		q.AsOf = now.AddDate(0, 0, rapid.IntRange(-4, 4).Draw(t, "day"))
	}
	if some("kinds") {
		q.Kinds = []backends.Kind{backends.KindFact, backends.KindTask}
	}
	if some("filter") {
		f := backends.Or(backends.Gte("n", 2), backends.Eq("kind", backends.KindEpisode))
		q.Filter = &f
	}
	return q
}

// farther is a filter that turns away what is nearest to the query.
func (b both) farther(t require.TestingT, query string, n int) *backends.Filter {
	vectors, space, err := b.full.Embed(context.Background(), []string{query})
	require.NoError(t, err)
	decode := func(v []byte) ([]float32, error) { return recall.DecodeVector(v, *space) }
	v, err := decode(vectors[0])
	require.NoError(t, err)
	var nearest []any
	for _, id := range b.records.scan(ann, &store.NearestQuery{Vector: v, Limit: n, Exact: true, Decode: decode}).IDs {
		nearest = append(nearest, id)
	}
	f := backends.Nin("name", nearest...)
	return &f
}

// A partition whose vectors stay in the store ranks like one that is loaded, hit
// by hit, whatever may be returned and however it is scored, as long as the store
// finds the nearest.
func TestRemoteEqualsLoaded(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	var total recall.Stats
	grown := 0
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		b := newBoth(t, drawConfig(t, now), directions{dim: rapid.IntRange(1, 12).Draw(t, "dim"), seed: rnd.Uint64()})
		defer b.close(t)
		var names []string
		for i := range rapid.SampledFrom([]int{5, 50, 200, 700}).Draw(t, "memories") {
			names = append(names, fmt.Sprint(i))
		}
		b.fill(t, rnd, now, names...)
		for range 4 {
			q := ask(t, rnd, now)
			if rapid.IntRange(0, 3).Draw(t, "with farther") == 3 {
				q.Filter = b.farther(t, q.Query, rapid.IntRange(1, 400).Draw(t, "farther"))
			}
			b.search(t, q)
			b.fill(t, rnd, now, fmt.Sprint(rnd.IntN(800)))
			gone := store.Delete(fmt.Sprint(rnd.IntN(800)))
			_, err := b.records.Apply(context.Background(), ann, &store.Batch{Mutations: []store.Mutation{gone}})
			require.NoError(t, err)
		}
		s := b.remote.Stats()
		total.Near, total.Direct, total.Vectors = total.Near+s.Near, total.Direct+s.Direct, total.Vectors+s.Vectors
		grown += len(b.records.queries) - int(s.Near)
		require.Zero(t, b.full.Stats().Near+b.full.Stats().Direct)
	})
	require.NotZero(t, total.Near, "the neighbours were asked for")
	require.NotZero(t, total.Direct, "few could be returned")
	require.NotZero(t, grown, "the first neighbours were not enough")
	t.Log(total, grown)
}
