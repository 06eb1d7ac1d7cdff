// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// naiveBM25 scores documents by the formula in the package comment, straight
// from their texts.
func naiveBM25(a recall.Analyzer, docs []*backends.Memory, query string, k1, b float64) (scores map[string]float64, attainable float64) {
	counts, lengths, df, total := map[string]map[string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
	for _, m := range docs {
		counts[m.ID] = map[string]float64{}
		for _, term := range a.Terms(recall.IndexText(m)) {
			if counts[m.ID][term]++; counts[m.ID][term] == 1 {
				df[term]++
			}
			lengths[m.ID]++
			total++
		}
	}
	n := float64(len(docs))
	scores = map[string]float64{}
	for _, term := range a.Terms(query) {
		idf := math.Log(1 + (n-df[term]+0.5)/(df[term]+0.5))
		attainable += idf * (k1 + 1)
		for id, c := range counts {
			if tf := c[term]; tf > 0 {
				scores[id] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*lengths[id]/(total/n)))
			}
		}
	}
	return scores, attainable
}

var words = []string{"cat", "cats", "dog", "running", "tea", "green", "the", "茶", "绿茶", "东京", "книга", "x1", "Ann", "Bob Dylan", "《三体》"}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, label), " ")
}

func TestBM25EqualsTheFormula(t *testing.T) {
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeRecords()
		p := &recall.BM25{K1: rapid.Float64Range(0, 3).Draw(t, "k1"), B: rapid.Float64Range(0, 1).Draw(t, "b")}
		r, err := recall.New(context.Background(), &recall.Config{Records: f, BM25: p})
		require.NoError(t, err)
		defer r.Close()
		batch := &store.Batch{}
		for i := range rapid.IntRange(1, 20).Draw(t, "documents") {
			batch.Mutations = append(batch.Mutations, fact(fmt.Sprint(i), drawText(t, "text")))
		}
		_, err = f.Apply(context.Background(), ann, batch)
		require.NoError(t, err)
		docs, err := r.All(context.Background(), ann)
		require.NoError(t, err)
		query := drawText(t, "query")
		want, attainable := naiveBM25(a, docs, query, p.K1, p.B)

		resp, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: query, TopK: 1000})
		require.NoError(t, err)
		require.Len(t, resp.Hits, len(want))
		for _, h := range resp.Hits {
			require.InDelta(t, want[h.ID]/attainable, h.Score, 1e-9)
			require.Equal(t, h.Score, h.Parts.Lexical)
		}
		for i := 1; i < len(resp.Hits); i++ { // 1e-12: texts may be equal but for the last bits
			require.Greater(t, resp.Hits[i-1].Score, resp.Hits[i].Score-1e-12)
		}
	})
}

// step changes a partition at random.
func step(t *rapid.T, f *fakeRecords, p backends.Partition, embed func(string) ([]byte, *store.Embedding)) {
	record := func() *store.Record {
		m := backends.Memory{ID: fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id")), Text: drawText(t, "text")}
		m.Kind = rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindEpisode}).Draw(t, "kind")
		if rapid.Bool().Draw(t, "dated") {
			m.Observed = f.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "hour")) * time.Hour)
		}
		return &store.Record{Memory: m}
	}
	batch := &store.Batch{}
	for range rapid.IntRange(1, 4).Draw(t, "mutations") {
		id := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "old"))
		switch rapid.SampledFrom([]string{"put", "put", "supersede", "retract", "delete"}).Draw(t, "op") {
		case "put":
			batch.Mutations = append(batch.Mutations, store.Put(record()))
		case "supersede":
			if r := record(); r.ID != id {
				batch.Mutations = append(batch.Mutations, store.Supersede(id, r))
			}
		case "retract":
			batch.Mutations = append(batch.Mutations, store.Retract(id, f.now))
		case "delete":
			batch.Mutations = append(batch.Mutations, store.Delete(id))
		}
	}
	for i := range batch.Mutations {
		if r := batch.Mutations[i].Record; r != nil && embed != nil && rapid.Bool().Draw(t, "vector") {
			r.Vector, batch.Embedding = embed(r.Text + "x")
		}
	}
	_, err := f.Apply(context.Background(), p, batch)
	require.NoError(t, err)
}

// An index that followed every change answers exactly as one that is loaded anew,
// hit by hit and bit by bit, whatever the pages were.
func TestIncrementalIndexEqualsRebuilt(t *testing.T) {
	rapid.Check(t, checkIncremental)
}

func checkIncremental(t *rapid.T) {
	ctx := context.Background()
	f := newFakeRecords()
	f.pageSize = rapid.IntRange(1, 5).Draw(t, "page")
	cfg := &recall.Config{Records: f, Embedder: dice{8}, EmbeddingModel: "dice"}
	grown, err := recall.New(ctx, cfg)
	require.NoError(t, err)
	defer grown.Close()
	embed := func(s string) ([]byte, *store.Embedding) {
		v, e, err := grown.Embed(ctx, []string{s})
		require.NoError(t, err)
		return v[0], e
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		step(t, f, ann, embed)
		q := &backends.SearchRequest{Query: drawText(t, "query") + " Tokyo", TopK: rapid.IntRange(1, 15).Draw(t, "k"),
			IncludeSuperseded: rapid.Bool().Draw(t, "superseded"), Threshold: -1}
		a, err := grown.Search(ctx, ann, q)
		require.NoError(t, err)
		rebuilt, err := recall.New(ctx, cfg)
		require.NoError(t, err)
		b, err := rebuilt.Search(ctx, ann, q)
		require.NoError(t, err)
		require.Equal(t, b.Hits, a.Hits)
		one, err := grown.All(ctx, ann)
		require.NoError(t, err)
		two, err := rebuilt.All(ctx, ann)
		require.NoError(t, err)
		require.Equal(t, two, one)
		require.NoError(t, rebuilt.Close())
	}
}

func TestRepeatedAndUnknownQueryTerms(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "tea"), fact("2", "dog"))
	score := func(q string) float64 { return find(t, r, ann, &backends.SearchRequest{Query: q})[0].Score }
	require.InDelta(t, 1/2.2, score("tea"), 1e-12, "one term, once, in a text of mean length")
	require.InDelta(t, score("tea"), score("tea tea"), 1e-12)
	require.Less(t, score("tea unheard"), score("tea"), "what no memory holds could have been attained")
}

// Of two memories with the same words, that comes first which is for the situation.
func TestTheSituationCountsMoreThanTheAdvice(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	task := func(id, when, text string, age int) store.Mutation {
		return put(backends.Memory{ID: id, Kind: backends.KindTask, WhenToUse: when, Text: text, Created: f.now.AddDate(0, 0, -age)})
	}
	apply(t, f, ann,
		task("for it", "rating songs", "check tokens", 2),
		task("mentions it", "check tokens", "rating songs", 1), // the newer, which ties would go to
		task("neither", "booking flights", "compare prices", 0))
	require.Equal(t, []string{"for it", "mentions it"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "rating songs"})))
}

// The text that is searched depends on the kind: a memory that becomes another is
// read anew.
func TestAMemoryOfAnotherKindIsReadAnew(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	m := backends.Memory{ID: "1", Kind: backends.KindFact, Text: "tea", Observed: time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)}
	apply(t, f, ann, put(m))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "May 2023"}), 1)
	m.Kind = backends.KindTask
	apply(t, f, ann, put(m))
	require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: "May 2023"}))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 1)
}
