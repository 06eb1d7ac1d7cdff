// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

// The query's vector is (1, 0). Of the memories, "both" matches one of its two
// terms and has cosine 0.6; "words" matches both terms and has cosine 0; "near"
// matches none and has cosine 0.8.
func fusionFixture(t *testing.T, change func(*recall.Config)) *recall.Ranker {
	f := newFakeRecords()
	r := newRanker(t, f, func(c *recall.Config) {
		withEmbedder(table{
			"green tea": {1, 0}, "tea house": {0.6, 0.8}, "green tea leaves": {0, 1}, "matcha bowl": {0.8, 0.6}, "opposite": {-1, 0},
		})(c)
		if change != nil {
			change(c)
		}
	})
	putEmbedded(t, f, r, ann,
		backends.Memory{ID: "both", Text: "tea house"}, backends.Memory{ID: "words", Text: "green tea leaves"},
		backends.Memory{ID: "near", Text: "matcha bowl"}, backends.Memory{ID: "opposite", Text: "opposite"})
	return r
}

func TestWeightedSum(t *testing.T) {
	r := fusionFixture(t, nil)
	hits := find(t, r, ann, &backends.SearchRequest{Query: "green tea"})
	// N = 4 texts of 2, 3, 2 and 1 terms; df(green) = 1, df(tea) = 2.
	idf := func(n float64) float64 { return math.Log(1 + (4-n+0.5)/(n+0.5)) }
	green, tea := idf(1), idf(2)
	weight := func(length float64) float64 { return 2.2 / (1 + 1.2*(0.25+0.75*length/2)) }
	attainable := 2.2 * (green + tea)
	both, words := tea*weight(2)/attainable, (green+tea)*weight(3)/attainable
	value := map[string]float64{"both": (both/words + 0.6/0.8) / 2, "words": 0.5, "near": 0.5}
	require.Equal(t, []string{"both", "near", "words"}, ids(hits), "order of %v", value)
	require.InDelta(t, both, hits[0].Parts.Lexical, 1e-9)
	require.InDelta(t, 0.6, hits[0].Parts.Vector, 1e-6)
	require.InDelta(t, (both+0.6)/2, hits[0].Score, 1e-6)
	require.InDelta(t, 0.4, hits[1].Score, 1e-6)
	require.InDelta(t, words/2, hits[2].Score, 1e-6)
}

func TestWeights(t *testing.T) {
	lexical := fusionFixture(t, func(c *recall.Config) { c.Weights = &recall.Weights{Lexical: 3} })
	require.Equal(t, []string{"words", "both"}, ids(find(t, lexical, ann, &backends.SearchRequest{Query: "green tea"})))
	vector := fusionFixture(t, func(c *recall.Config) { c.Weights = &recall.Weights{Vector: 0.1} })
	hits := find(t, vector, ann, &backends.SearchRequest{Query: "green tea"})
	require.Equal(t, []string{"near", "both"}, ids(hits))
	require.InDelta(t, 0.8, hits[0].Score, 1e-6)
}

// flipped reranks the pool back to front.
type flipped struct {
	pool []backends.Hit
	give func([]float64) ([]float64, error)
}

func (f *flipped) Rerank(_ context.Context, _ string, hits []backends.Hit) ([]float64, error) {
	f.pool = hits
	scores := make([]float64, len(hits))
	for i := range hits {
		scores[i] = float64(i+1) / float64(len(hits))
	}
	if f.give != nil {
		return f.give(scores)
	}
	return scores, nil
}

func TestRerankerSeesThePool(t *testing.T) {
	rr := &flipped{}
	r := fusionFixture(t, func(c *recall.Config) { c.Reranker = rr })
	hits := find(t, r, ann, &backends.SearchRequest{Query: "green tea", TopK: 1})
	require.Equal(t, []string{"words"}, ids(hits), "the last of three comes first")
	require.Equal(t, []string{"both", "near", "words"}, ids(rr.pool))
	require.Equal(t, 1.0, hits[0].Parts.Rerank)
	require.Less(t, hits[0].Score, 1.0, "the score stays on its scale")
}

func TestRerankerThatFailsLeavesTheOrder(t *testing.T) {
	down := errors.New("down")
	for name, give := range map[string]func([]float64) ([]float64, error){
		"error":        func([]float64) ([]float64, error) { return nil, down },
		"too few":      func(s []float64) ([]float64, error) { return s[1:], nil },
		"NaN":          func(s []float64) ([]float64, error) { s[1] = math.NaN(); return s, nil },
		"out of range": func(s []float64) ([]float64, error) { s[0] = 1.5; return s, nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := fusionFixture(t, func(c *recall.Config) { c.Reranker = &flipped{give: give} })
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "green tea", TopK: 2})
			require.NoError(t, err)
			require.Error(t, resp.Degraded)
			require.Equal(t, []string{"both", "near"}, ids(resp.Hits))
			require.Zero(t, resp.Hits[0].Parts.Rerank)
		})
	}
}

func TestEmphasis(t *testing.T) {
	quality := func(q float64) *float64 { return &q }
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	memories := []backends.Memory{
		{ID: "a-old", Text: "tea", Observed: now.AddDate(0, 0, -4)},
		{ID: "b-good", Text: "tea", Observed: now.AddDate(0, 0, -4), Quality: quality(1)},
		{ID: "c-bad", Text: "tea", Observed: now.AddDate(0, 0, -4), Quality: quality(0)},
		{ID: "d-new", Text: "tea", Observed: now.AddDate(0, 0, -2)},
		{ID: "e-user", Text: "tea", Observed: now.AddDate(0, 0, -4), Origin: backends.Origin{Role: "user"}},
	}
	for _, c := range []struct {
		name   string
		change func(*recall.Config)
		want   []string
	}{
		{"nothing: newer first, then by id", nil, []string{"d-new", "a-old", "b-good", "c-bad", "e-user"}},
		{"quality", func(c *recall.Config) { c.QualityWeight = 0.5 }, []string{"b-good", "d-new", "a-old", "e-user", "c-bad"}},
		{"recency against quality", func(c *recall.Config) {
			c.RecencyHalfLife, c.QualityWeight = 48*time.Hour, 0.9 // a half-life is a factor of 2
		}, []string{"d-new", "b-good", "a-old", "e-user", "c-bad"}},
		{"quality against recency", func(c *recall.Config) {
			c.RecencyHalfLife, c.QualityWeight = 49*time.Hour, 1
		}, []string{"b-good", "d-new", "a-old", "e-user", "c-bad"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeRecords()
			r := newRanker(t, f, func(cfg *recall.Config) {
				cfg.Clock = func() time.Time { return now }
				if c.change != nil {
					c.change(cfg)
				}
			})
			for _, m := range memories {
				apply(t, f, ann, put(m))
			}
			hits := find(t, r, ann, &backends.SearchRequest{Query: "tea"})
			require.Equal(t, c.want, ids(hits))
			require.Equal(t, hits[0].Score, hits[4].Score, "the order changes, the score does not")
		})
	}
}
