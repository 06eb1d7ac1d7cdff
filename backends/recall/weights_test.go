// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestCurvesAreThoseOfTheirPapers(t *testing.T) {
	const day = 24 * time.Hour
	require.InDelta(t, 0.3679, recall.MemoryBank(day, 0), 1e-4, "exp(-1)")
	require.InDelta(t, 0.6065, recall.MemoryBank(day, 1), 1e-4, "a use doubles the strength")
	require.InDelta(t, 0.8867, recall.GenerativeAgents(day, 5), 1e-4, "0.995 to the power of 24")
	for _, curve := range []func(time.Duration, int) float64{recall.MemoryBank, recall.GenerativeAgents} {
		require.Equal(t, 1.0, curve(0, 0))
		require.InDelta(t, 0, curve(1e6*time.Hour, 0), 1e-12)
	}
}

func TestWeightsChangeTheOrderAndNothingElse(t *testing.T) {
	now := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	half, low := 0.5, 0.1
	p := backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}
	db := testkit.SQLite(t)
	put := func(id, text string, change func(*backends.Memory)) store.Mutation {
		m := backends.Memory{ID: id, Kind: backends.KindFact, Text: text, Observed: now.Add(-60 * 24 * time.Hour), Quality: &half}
		change(&m)
		return store.Put(&store.Record{Memory: m})
	}
	_, err := db.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{
		put("used", "The user likes green tea in the garden", func(m *backends.Memory) {
			m.Metadata = map[string]any{backends.MetaUses: 9.0, backends.MetaLastUse: now.Add(-time.Hour).Format(time.RFC3339)}
		}),
		put("old", "The user likes green tea", func(m *backends.Memory) {}),
		put("dull", "green tea", func(m *backends.Memory) { m.Quality = &low }),
	}})
	require.NoError(t, err)
	search := func(weights ...recall.Weight) (ids []string, scores map[string]float64) {
		r, err := recall.New(t.Context(), &recall.Config{Records: db, Weights: weights, Clock: func() time.Time { return now }})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		found, err := r.Search(t.Context(), p, &backends.SearchRequest{Query: "green tea"})
		require.NoError(t, err)
		scores = map[string]float64{}
		for _, h := range found.Hits {
			ids = append(ids, h.ID)
			scores[h.ID] = h.Score
		}
		return ids, scores
	}
	plain, scores := search()
	require.Equal(t, []string{"dull", "old", "used"}, plain)
	for _, c := range []struct {
		want    []string
		weights []recall.Weight
	}{
		{[]string{"used", "dull", "old"}, []recall.Weight{recall.Recency(recall.MemoryBank, 0.9)}},
		{[]string{"used", "dull", "old"}, []recall.Weight{recall.Recency(recall.GenerativeAgents, 0.9)}},
		{[]string{"old", "used", "dull"}, []recall.Weight{recall.Importance(0.9)}},
		{[]string{"used", "old", "dull"}, []recall.Weight{recall.Importance(0.9), recall.Recency(recall.MemoryBank, 0.9)}},
		{plain, []recall.Weight{func(*backends.Memory, time.Time) float64 { return 7 }}},
	} {
		ids, same := search(c.weights...)
		require.Equal(t, c.want, ids)
		require.Equal(t, scores, same, "a score means what it meant")
	}
}
