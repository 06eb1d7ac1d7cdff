// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

func mem0Ranker(t *testing.T, f store.Records, e embedding.Embedder) *recall.Ranker {
	return newRanker(t, f, func(c *recall.Config) {
		withEmbedder(e)(c)
		c.Scoring = recall.Mem0Compatible
	})
}

func TestMem0Sigmoid(t *testing.T) {
	for _, c := range []struct {
		score float64
		words int
		want  float64
	}{
		{5, 1, 0.5}, {5, 3, 0.5}, {7, 4, 0.5}, {7, 6, 0.5}, {9, 7, 0.5}, {9, 9, 0.5}, {10, 10, 0.5}, {10, 15, 0.5}, {12, 16, 0.5},
		{3, 2, 0.197816}, {8.5, 5, 0.710950}, {0, 20, 0.002473},
	} {
		require.InDelta(t, c.want, recall.Mem0Sigmoid(c.score, c.words), 1e-6, "%v of %d words", c.score, c.words)
	}
}

const askParis = "When did Ann visit Paris?"

// cosine returns a vector whose cosine with (1, 0) is c.
func cosine(c float64) []float64 { return []float64{c, math.Sqrt(1 - c*c)} }

func mem0Fixture(t *testing.T) *recall.Ranker {
	texts := table{
		askParis: {1, 0}, "nothing shared": {1, 0},
		"Ann visited Paris last May": cosine(0.6), "Bob likes tea": cosine(0.5), "Paris is big": cosine(0.05), "Ann sings": cosine(0.2),
	}
	f := newFakeRecords()
	r := mem0Ranker(t, f, texts)
	putEmbedded(t, f, r, ann,
		backends.Memory{ID: "A", Text: "Ann visited Paris last May"}, backends.Memory{ID: "B", Text: "Bob likes tea"},
		backends.Memory{ID: "C", Text: "Paris is big"}, backends.Memory{ID: "D", Text: "Ann sings"})
	return r
}

// The numbers were worked out by hand. The query has three terms (ann, visit,
// pari), so the curve is that of (5, 0.7): BM25 2.03521 → 0.111516 for A, 0.802591
// → 0.050298 for D. Two memories name Ann, two Paris: each boost is
// 0.5 / 1.001 = 0.499500. All three parts are there: the divisor is 2.5.
func TestMem0Scores(t *testing.T) {
	hits := find(t, mem0Fixture(t), ann, &backends.SearchRequest{Query: askParis})
	require.Equal(t, []string{"A", "D", "B"}, ids(hits), "C is below the threshold of 0.1 on the cosine, though its words match")
	for i, want := range []struct{ score, vector, lexical, signals float64 }{
		{0.484406, 0.6, 0.111516, 0.499500}, {0.299919, 0.2, 0.050298, 0.499500}, {0.2, 0.5, 0, 0},
	} {
		require.InDelta(t, want.score, hits[i].Score, 1e-6)
		require.InDelta(t, want.vector, hits[i].Parts.Vector, 1e-6)
		require.InDelta(t, want.lexical, hits[i].Parts.Lexical, 1e-6)
		require.InDelta(t, want.signals, hits[i].Parts.Signals, 1e-6)
	}
}

func TestMem0DivisorAdapts(t *testing.T) {
	hits := find(t, mem0Fixture(t), ann, &backends.SearchRequest{Query: "nothing shared"})
	require.Equal(t, []string{"A", "B", "D"}, ids(hits))
	require.InDelta(t, 0.6, hits[0].Score, 1e-6, "no words, no entities: the cosine alone")
}

func TestMem0Threshold(t *testing.T) {
	r := mem0Fixture(t)
	at := func(threshold float64) []string {
		return ids(find(t, r, ann, &backends.SearchRequest{Query: askParis, Threshold: threshold}))
	}
	require.Equal(t, []string{"A", "B"}, at(0.3), "on the cosine, not on the score")
	require.ElementsMatch(t, []string{"A", "B", "C", "D"}, at(-1))
}

// The more memories name an entity, the less it says: 0.5 / (1 + 0.001·(n-1)²).
func TestMem0EntityBoost(t *testing.T) {
	for n, want := range map[int]float64{1: 0.5, 10: 0.462535, 33: 0.247036, 50: 0.147016} {
		f := newFakeRecords()
		r := mem0Ranker(t, f, dice{4})
		for i := range n {
			putEmbedded(t, f, r, ann, backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprintf("he met Ann, %d", i)})
		}
		hits := find(t, r, ann, &backends.SearchRequest{Query: "where is Ann?", Threshold: -1})
		require.InDelta(t, want, hits[0].Parts.Signals, 1e-6, "%d memories", n)
		require.Len(t, hits, min(n, 20), "20 is the number of hits that mem0 gives")
	}
}

// "Sarah Connor" resembles "Sarah" by two thirds, and "Sarah Jane Connor Smith"
// by two thirds; "Sarah Jane Smith" by two fifths, which is too little.
func TestMem0EntitySimilarity(t *testing.T) {
	f := newFakeRecords()
	r := mem0Ranker(t, f, dice{4})
	putEmbedded(t, f, r, ann,
		backends.Memory{ID: "1", Text: "he met Sarah"}, backends.Memory{ID: "2", Text: "he met Sarah Jane Connor Smith"},
		backends.Memory{ID: "3", Text: "he met Sarah Jane Smith"})
	hits := find(t, r, ann, &backends.SearchRequest{Query: "who is Sarah Connor?", Threshold: -1})
	got := map[string]float64{}
	for _, h := range hits {
		got[h.ID] = h.Parts.Signals
	}
	require.InDeltaMapValues(t, map[string]float64{"1": 1.0 / 3, "2": 1.0 / 3, "3": 0}, got, 1e-9)
}

// Links to entities follow what happens to the memories.
func TestMem0EntitiesFollowTheMemories(t *testing.T) {
	f := newFakeRecords()
	r := mem0Ranker(t, f, dice{4})
	boost := func(query string) map[string]float64 {
		out := map[string]float64{}
		for _, h := range find(t, r, ann, &backends.SearchRequest{Query: query, Threshold: -1}) {
			if h.Parts.Signals > 0 {
				out[h.ID] = h.Parts.Signals
			}
		}
		return out
	}
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "he met Sarah"}, backends.Memory{ID: "2", Text: "she saw Sarah"})
	require.InDeltaMapValues(t, map[string]float64{"1": 0.5 / 1.001, "2": 0.5 / 1.001}, boost("Sarah?"), 1e-9)
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "he met Tom"})
	require.Equal(t, map[string]float64{"2": 0.5}, boost("Sarah?"))
	require.Equal(t, map[string]float64{"1": 0.5}, boost("Tom?"))
	apply(t, f, ann, store.Delete("2"))
	require.Empty(t, boost("Sarah?"))
}

func TestMem0WithoutItsVectors(t *testing.T) {
	_, err := recall.New(t.Context(), &recall.Config{Records: newFakeRecords(), Scoring: recall.Mem0Compatible})
	require.ErrorIs(t, err, backends.ErrInvalid)

	f := newFakeRecords()
	var fail error
	r := mem0Ranker(t, f, embedderFunc(func([]string) ([][]float64, error) { return [][]float64{{1, 0}}, fail }))
	putEmbedded(t, f, r, ann, backends.Memory{ID: "1", Text: "green tea"})
	fail = errors.New("down")
	resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, fail)
	require.Equal(t, []string{"1"}, ids(resp.Hits))
}

func TestEntities(t *testing.T) {
	a := newAnalyzer(t)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"capitalised runs", "I'm meeting Sarah Connor on Monday", []string{"sarah connor", "monday"}},
		{"joined by of, the, at, in", "the Museum of Modern Art in Paris", []string{"museum of modern art in paris"}},
		{"function words at the start", "The Cat. What is it? When did Bob go?", []string{"cat", "bob"}},
		{"possessive", "Bob's dog and Ann’s cat", []string{"bob", "ann"}},
		{"identifiers", "set user_id in config.yaml, not 3.14", []string{"user_id", "config.yaml"}},
		{"quoted", `she said "carpe diem" and «bonjour»`, []string{"carpe diem", "bonjour"}},
		{"too short or too long", `"ab" and "` + fmt.Sprintf("%0101d", 0) + `x"`, nil},
		{"Chinese titles and names", "他读了《红楼梦》和“三体”", []string{"红楼梦", "三体"}},
		{"Japanese quotes", "「君の名は」を見た", []string{"君の名は"}},
		{"Cyrillic", "я видел Анну Каренину", []string{"анну каренину"}},
		{"markdown", `"*bold*" and "[link]"`, nil},
		{"each once", "Ann saw Ann", []string{"ann"}},
		{"the trusted one of two that overlap", `"see Config.Yaml there"`, []string{"config.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, a.Entities(c.text)) })
	}
}

// Of very many names that resemble the one asked for, the nearest count.
func TestMem0ManySimilarNames(t *testing.T) {
	f := newFakeRecords()
	r := mem0Ranker(t, f, dice{4})
	var ms []backends.Memory
	for i := range 600 {
		ms = append(ms, backends.Memory{ID: fmt.Sprintf("%03d", i), Text: fmt.Sprintf("he met Sarah Q%d", i)})
	}
	ms = append(ms, backends.Memory{ID: "exact", Text: "he met Sarah"})
	putEmbedded(t, f, r, ann, ms...)
	hits := find(t, r, ann, &backends.SearchRequest{Query: "Sarah?", Threshold: -1, TopK: 1000})
	boosted := 0
	for _, h := range hits {
		if h.Parts.Signals > 0 {
			boosted++
		}
		if h.ID == "exact" {
			require.InDelta(t, 0.5, h.Parts.Signals, 1e-9)
		}
	}
	require.Equal(t, 500, boosted)
}
