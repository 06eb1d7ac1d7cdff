// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// put returns a mutation that puts a memory.
func put(m backends.Memory) store.Mutation { return store.Put(&store.Record{Memory: m}) }

func TestWhatMayBeReturned(t *testing.T) {
	f := newFakeRecords()
	day := func(n int) time.Time { return f.now.AddDate(0, 0, n) }
	r := newRanker(t, f, func(c *recall.Config) { c.Clock = func() time.Time { return day(10) } })
	apply(t, f, ann,
		put(backends.Memory{ID: "paris", Kind: backends.KindFact, Text: "Ann lives in Paris", Observed: day(1)}),
		put(backends.Memory{ID: "chat", Kind: backends.KindEpisode, Text: "Where Ann lives", Observed: day(2)}),
		put(backends.Memory{ID: "guest", Kind: backends.KindFact, Text: "Bob lives with Ann", Observed: day(3), Expires: day(10)}),
		put(backends.Memory{ID: "later", Kind: backends.KindFact, Text: "Ann lives alone", Observed: day(1), Valid: day(20)}),
		put(backends.Memory{ID: "wrong", Kind: backends.KindFact, Text: "Ann lives on Mars"}))
	apply(t, f, ann,
		store.Supersede("paris", &store.Record{Memory: backends.Memory{ID: "rome", Kind: backends.KindFact, Text: "Ann lives in Rome", Observed: day(5)}}),
		store.Retract("wrong", day(4)))
	episode := backends.Eq("kind", backends.KindEpisode)
	for _, c := range []struct {
		name string
		q    backends.SearchRequest
		want []string
	}{
		{"what holds now", backends.SearchRequest{}, []string{"chat", "later", "rome"}},
		{"one kind", backends.SearchRequest{Kinds: []backends.Kind{backends.KindEpisode}}, []string{"chat"}},
		{"a filter", backends.SearchRequest{Filter: &episode}, []string{"chat"}},
		{"superseded, too", backends.SearchRequest{IncludeSuperseded: true}, []string{"chat", "later", "paris", "rome", "wrong"}},
		{"expired, too", backends.SearchRequest{IncludeExpired: true}, []string{"chat", "guest", "later", "rome"}},
		{"as of the first day", backends.SearchRequest{AsOf: day(1)}, []string{"paris", "wrong"}},
		{"as of the moment of change", backends.SearchRequest{AsOf: day(5)}, []string{"chat", "rome"}},
		{"as of the moment before", backends.SearchRequest{AsOf: day(5).Add(-1)}, []string{"chat", "paris"}},
		{"as of the future", backends.SearchRequest{AsOf: day(20)}, []string{"chat", "later", "rome"}},
		{"as of, with what had ended", backends.SearchRequest{AsOf: day(5), IncludeSuperseded: true}, []string{"chat", "paris", "rome", "wrong"}},
		{"expired hides as of, too", backends.SearchRequest{AsOf: day(4)}, []string{"chat", "paris"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Query, c.q.TopK = "who lives where?", 10
			require.ElementsMatch(t, c.want, ids(find(t, r, ann, &c.q)))
		})
	}
}

// What is not eligible takes no place among the hits, however well it matches.
func TestFiltersComeBeforeRanking(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, func(c *recall.Config) { c.Embedder, c.EmbeddingModel = dice{8}, "dice" })
	var ms []store.Mutation
	for i := range 50 {
		ms = append(ms, put(backends.Memory{ID: "tea" + string(rune('0'+i)), Text: "tea", Metadata: map[string]any{"hide": true}}))
	}
	ms = append(ms, put(backends.Memory{ID: "long", Text: "tea " + strings.Repeat("word ", 100)}))
	vectors, space, err := r.Embed(t.Context(), []string{"tea"})
	require.NoError(t, err)
	for _, m := range ms {
		m.Record.Vector = vectors[0]
	}
	_, err = f.Apply(t.Context(), ann, &store.Batch{Mutations: ms, Embedding: space})
	require.NoError(t, err)
	visible := backends.Ne("hide", true)
	hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 1, Filter: &visible})
	require.Equal(t, []string{"long"}, ids(hits))
}

func TestThresholdIsOnTheScore(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("both", "green tea"), fact("one", "green car"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "green tea"})
	require.Len(t, hits, 2)
	at := func(threshold float64) []string {
		return ids(find(t, r, ann, &backends.SearchRequest{Query: "green tea", Threshold: threshold}))
	}
	require.Equal(t, []string{"both"}, at(hits[0].Score))
	require.Empty(t, at(math.Nextafter(hits[0].Score, 1)))
	require.Len(t, at(hits[1].Score), 2)
}

func TestRefusedRequests(t *testing.T) {
	r := newRanker(t, newFakeRecords(), nil)
	bad := backends.Filter{Op: "like", Field: "kind", Value: "x"}
	for name, q := range map[string]*backends.SearchRequest{
		"no request":         nil,
		"negative TopK":      {Query: "q", TopK: -1},
		"TopK above 1000":    {Query: "q", TopK: 1001},
		"threshold NaN":      {Query: "q", Threshold: math.NaN()},
		"threshold infinite": {Query: "q", Threshold: math.Inf(1)},
		"broken UTF-8":       {Query: "caf\xff"},
		"unknown operator":   {Query: "q", Filter: &bad},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Search(t.Context(), ann, q)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	_, err := r.Search(t.Context(), backends.Partition{Namespace: "n", Kind: "team", ID: "x"}, &backends.SearchRequest{Query: "q"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestLongQueries(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("head", "aardvark"), fact("tail", "zebra"), fact("middle", "mongoose"))
	filler := strings.Repeat("绿 ", recall.MaxQuery)
	q := "aardvark " + filler + " mongoose " + filler + " zebra"
	require.Greater(t, len(q), 400_000)
	require.ElementsMatch(t, []string{"head", "tail"}, ids(find(t, r, ann, &backends.SearchRequest{Query: q})))
}

// Of more terms than are looked up, those count that tell memories apart best.
func TestManyQueryTerms(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	var text strings.Builder
	for i := range recall.MaxQueryTerms + 10 {
		text.WriteString("w" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + " ")
		text.WriteRune(rune(0x4e00 + i))
		text.WriteByte(' ')
	}
	apply(t, f, ann, fact("all", text.String()), fact("most", text.String()), fact("rare", "quokka"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: text.String() + " quokka"})
	require.Contains(t, ids(hits), "rare")
}

func TestHitsAreTheCallersOwn(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	quality := 0.5
	apply(t, f, ann, put(backends.Memory{ID: "1", Text: "tea", Quality: &quality,
		Metadata: map[string]any{"list": []any{"a"}, "map": map[string]any{"k": "v"}},
		Origin:   backends.Origin{MessageIDs: []string{"m1"}}}))
	h := find(t, r, ann, &backends.SearchRequest{Query: "tea"})[0]
	*h.Quality = 0
	h.Metadata["list"].([]any)[0] = "changed"
	h.Metadata["map"].(map[string]any)["k"] = "changed"
	h.Origin.MessageIDs[0] = "changed"
	again := find(t, r, ann, &backends.SearchRequest{Query: "tea"})[0]
	require.Equal(t, 0.5, *again.Quality)
	require.Equal(t, map[string]any{"list": []any{"a"}, "map": map[string]any{"k": "v"}}, again.Metadata)
	require.Equal(t, []string{"m1"}, again.Origin.MessageIDs)
}
