// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// drawMemory makes up a memory with all that decides whether it may be returned.
func drawMemory(t *rapid.T, id string, now time.Time) backends.Memory {
	day := func(label string) time.Time {
		if n := rapid.IntRange(-4, 3).Draw(t, label); n > -4 {
			return now.AddDate(0, 0, n)
		}
		return time.Time{}
	}
	m := backends.Memory{ID: id, Text: drawText(t, "text"), Created: now.AddDate(0, 0, -3),
		Kind:     rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindEpisode, backends.KindTask}).Draw(t, "kind"),
		Observed: day("observed"), Valid: day("valid"), Invalidated: day("invalidated"), Expires: day("expires"),
		Metadata: map[string]any{"n": float64(rapid.IntRange(0, 3).Draw(t, "n"))}}
	if !m.Invalidated.IsZero() && rapid.Bool().Draw(t, "superseded") {
		m.SupersededBy = "successor"
	}
	return m
}

func drawRequest(t *rapid.T, now time.Time) *backends.SearchRequest {
	q := &backends.SearchRequest{Query: strings.TrimSpace("tea " + drawText(t, "query")), TopK: rapid.IntRange(1, 30).Draw(t, "k"),
		Threshold:         rapid.SampledFrom([]float64{0, 0.123456, 0.31, 0.77}).Draw(t, "threshold"),
		IncludeSuperseded: rapid.Bool().Draw(t, "with superseded"), IncludeExpired: rapid.Bool().Draw(t, "with expired")}
	if rapid.Bool().Draw(t, "as of") {
		q.AsOf = now.AddDate(0, 0, rapid.IntRange(-4, 4).Draw(t, "day"))
	}
	if rapid.Bool().Draw(t, "kinds") {
		q.Kinds = []backends.Kind{backends.KindFact, backends.KindTask}
	}
	if rapid.Bool().Draw(t, "filter") {
		f := backends.Or(backends.Gte("n", 2), backends.Eq("kind", backends.KindEpisode))
		q.Filter = &f
	}
	return q
}

// mayReturn is what the package comment says about who takes part.
func mayReturn(m *backends.Memory, q *backends.SearchRequest, now time.Time) bool {
	if !q.IncludeExpired && !m.Expires.IsZero() && !m.Expires.After(now) {
		return false
	}
	if q.AsOf.IsZero() {
		if !q.IncludeSuperseded && (m.SupersededBy != "" || !m.Invalidated.IsZero()) {
			return false
		}
	} else {
		since := m.Created
		if !m.Observed.IsZero() {
			since = m.Observed
		}
		if !m.Valid.IsZero() {
			since = m.Valid
		}
		over := !m.Invalidated.IsZero() && !m.Invalidated.After(q.AsOf)
		if since.After(q.AsOf) || over && !q.IncludeSuperseded {
			return false
		}
	}
	if q.Kinds != nil && !slices.Contains(q.Kinds, m.Kind) {
		return false
	}
	return q.Filter == nil || m.Metadata["n"].(float64) >= 2 || m.Kind == backends.KindEpisode
}

// reference ranks by the formulas alone: who takes part, both parts over their
// maxima, the weighed sum, the threshold on the absolute score.
func reference(a recall.Analyzer, all []*backends.Memory, vectors map[string]float64, q *backends.SearchRequest, w recall.Weights, now time.Time) (value, score map[string]float64) {
	lexical, attainable := naiveBM25(a, all, q.Query, 1.2, 0.75)
	value, score = map[string]float64{}, map[string]float64{}
	var topLexical, topVector float64
	var in []*backends.Memory
	for _, m := range all {
		if mayReturn(m, q, now) {
			in = append(in, m)
			topLexical, topVector = max(topLexical, lexical[m.ID]), max(topVector, vectors[m.ID])
		}
	}
	over := func(x, of float64) float64 {
		if of == 0 {
			return 0
		}
		return x / of
	}
	for _, m := range in {
		v, s := over(lexical[m.ID], topLexical), over(lexical[m.ID], attainable)
		if cos, ok := vectors[m.ID]; ok {
			v = (w.Lexical*v + w.Vector*over(cos, topVector)) / (w.Lexical + w.Vector)
			s = (w.Lexical*s + w.Vector*cos) / (w.Lexical + w.Vector)
		}
		if v > 0 && s >= q.Threshold {
			value[m.ID], score[m.ID] = v, s
		}
	}
	return value, score
}

func TestRankingEqualsTheReference(t *testing.T) {
	a := newAnalyzer(t)
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		f := newFakeRecords()
		w := recall.Weights{Lexical: rapid.Float64Range(0.1, 1).Draw(t, "wl"), Vector: rapid.Float64Range(0.1, 1).Draw(t, "wv")}
		q := drawRequest(t, now)
		cosines, texts := map[string]float64{}, table{q.Query: {1, 0}}
		r, err := recall.New(ctx, &recall.Config{Records: f, Weights: &w, Embedder: texts, EmbeddingModel: "m",
			Clock: func() time.Time { return now }})
		require.NoError(t, err)
		defer r.Close()
		batch := &store.Batch{}
		for i := range rapid.IntRange(1, 25).Draw(t, "memories") {
			rec := &store.Record{Memory: drawMemory(t, fmt.Sprint(i), now)}
			if c := rapid.IntRange(-10, 10).Draw(t, "cosine"); c > -10 {
				texts["v"] = cosine(float64(c) / 10)
				v, space, err := r.Embed(ctx, []string{"v"})
				require.NoError(t, err)
				rec.Vector, batch.Embedding = v[0], space
				cosines[rec.ID] = max(0, float64(c)/10)
			}
			batch.Mutations = append(batch.Mutations, store.Put(rec))
		}
		_, err = f.Apply(ctx, ann, batch)
		require.NoError(t, err)
		all, err := r.All(ctx, ann)
		require.NoError(t, err)

		value, score := reference(a, all, cosines, q, w, now)
		resp, err := r.Search(ctx, ann, q)
		require.NoError(t, err)
		require.NoError(t, resp.Degraded)
		checkAgainst(t, resp.Hits, value, score, q.TopK)
	})
}

// checkAgainst compares hits with a reference whose sums were made in another
// order, so that equal values may differ in the last bits.
func checkAgainst(t *rapid.T, hits []backends.Hit, value, score map[string]float64, k int) {
	const eps = 1e-6
	require.Len(t, hits, min(k, len(value)))
	left := map[string]bool{}
	for id := range value {
		left[id] = true
	}
	for i, h := range hits {
		require.True(t, left[h.ID], "%s is no hit, or stands twice", h.ID)
		delete(left, h.ID)
		require.InDelta(t, score[h.ID], h.Score, eps)
		if i > 0 {
			require.GreaterOrEqual(t, value[hits[i-1].ID]+eps, value[h.ID])
		}
	}
	for id := range left {
		require.GreaterOrEqual(t, value[hits[len(hits)-1].ID]+eps, value[id], "%s was left out", id)
	}
}

// cosine returns a vector whose cosine with (1, 0) is c.
func cosine(c float64) []float64 { return []float64{c, math.Sqrt(1 - c*c)} }
