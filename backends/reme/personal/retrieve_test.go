// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

// put stores memories as they are.
func (w *world) put(t testing.TB, p backends.Partition, memories ...backends.Memory) {
	t.Helper()
	b := &store.Batch{}
	for i := range memories {
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: memories[i]}))
	}
	_, err := w.keeper.Commit(ctx, p, b, nil)
	require.NoError(t, err)
}

// memory is a personal memory that was said days after the start.
func memory(id, text string, days int, metadata ...string) backends.Memory {
	m := backends.Memory{ID: id, Kind: backends.KindPersonal, Text: text, Observed: start.AddDate(0, 0, days), Metadata: map[string]any{"target": "user"}}
	for i := 0; i < len(metadata); i += 2 {
		m.Metadata[metadata[i]] = metadata[i+1]
	}
	return m
}

func (w *world) retrieve(t testing.TB, r *personal.RetrieveRequest) *personal.RetrieveResponse {
	t.Helper()
	resp, err := w.Retrieve(ctx, r)
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	return resp
}

func ids(hits []backends.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

func TestR14MemoriesOfTheTimeAskedAboutMoveUp(t *testing.T) {
	w := open(t)
	w.put(t, partitionOf(t, ann),
		memory("said-then", "user visited a castle", -31), memory("said-later", "user visited a castle", -3),
		memory("about-then", "user visited a castle", -2, "event_time", "2026-01"), memory("free-text", "user visited a castle", -1, "time_info", "January 2026"))
	ask := func(query string) *personal.RetrieveResponse {
		return w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: query})
	}
	neutral := ask("which castle was visited")
	for query, first := range map[string][]string{
		"which castle was visited in January":    {"about-then", "free-text", "said-then"},
		"which castle was visited last month":    {"said-later"}, // February: none but
		"which castle was visited 3 days ago":    {"said-later"},
		"which castle was visited 上个月":           {"said-later"},
		"which castle was visited on 2026-02-27": {"said-later"},
	} {
		got := ask(query)
		require.Len(t, got.Periods, 1, query)
		if strings.Contains(query, "month") || strings.Contains(query, "上个月") {
			first = []string{"said-later", "about-then", "free-text"} // all of them said in February
		}
		top := ids(got.Hits)[:len(first)]
		slices.Sort(top)
		slices.Sort(first)
		assert.Equal(t, first, top, query)
		for _, h := range got.Hits {
			assert.LessOrEqual(t, h.Score, 1.0, "similarity alone")
		}
	}
	assert.Len(t, neutral.Hits, 4)
	assert.Empty(t, neutral.Periods)
}

func TestDEF15TimesAreExtractedWithoutAModelCall(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.put(t, partitionOf(t, ann), memory("a", "user visited a castle", -1), memory("b", "user visited a castle", -400))
	for query, want := range map[string]string{"castle yesterday": "a", "去年的 castle": "b", "castle in 2025": "b", "昨天的 castle": "a"} {
		got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: query, UseModel: true, Now: time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)})
		if want == "b" { // January 2025
			got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: query})
		}
		assert.Equal(t, want, ids(got.Hits)[0], query)
		assert.Equal(t, 1, got.Report.Stage(personal.StageTime).Out)
	}
	assert.Zero(t, m.calls(""))
}

func TestDEF15AModelIsAskedWhereTheRulesFindNothing(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.put(t, partitionOf(t, ann), memory("a", "user visited a castle", -1), memory("b", "user visited a castle", -400))
	m.change = func(tool string, s shown, _ string) string {
		require.Contains(t, s.user, "2026-03-02 09:00 Mon")
		return `{"period":"2025-01-20/2025-01-30"}`
	}
	request := &personal.RetrieveRequest{Scope: ann, Query: "castle around the lunar new year before last", UseModel: true}
	got := w.retrieve(t, request)
	assert.Equal(t, []string{"b", "a"}, ids(got.Hits))
	assert.Equal(t, 1, got.Report.Usage.ModelCalls)
	m.change = func(string, shown, string) string { return `{"period":"soon"}` }
	resp, err := w.Retrieve(ctx, request)
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, backends.ErrModel)
	assert.Len(t, resp.Hits, 2)
	m.fail = func(string) error { return errDown }
	resp, err = w.Retrieve(ctx, request)
	require.NoError(t, err)
	require.ErrorIs(t, resp.Degraded, errDown)
	require.ErrorIs(t, resp.Report.Err(), errDown)
	assert.Len(t, resp.Hits, 2)
	_, err = open(t, with(nil)).Retrieve(ctx, request)
	require.ErrorIs(t, err, flow.ErrNoModel)
}

func TestR14WhatTheTimeAloneFindsFillsThePlaces(t *testing.T) {
	w := open(t)
	w.put(t, partitionOf(t, ann), memory("a", "Tomatoes were planted", -1), memory("b", "Ann met Bob", -1), memory("c", "Carrots were planted", -9), memory("d", "expired", -1))
	got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "我昨天做了什么", TopK: 3})
	found := ids(got.Hits)
	slices.Sort(found)
	assert.Equal(t, []string{"a", "b", "d"}, found)
	assert.Zero(t, got.Hits[0].Score)
	got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "我昨天做了什么", Threshold: 0.1})
	assert.Empty(t, got.Hits)
	filter := backends.Eq("id", "a")
	got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "我昨天做了什么", Filter: &filter})
	assert.Equal(t, []string{"a"}, ids(got.Hits))
}

func TestR14TypesAreWeighed(t *testing.T) {
	w := open(t, func(s *setting) { s.TypeWeights = map[string]float64{"rumour": 0.1, "insight": 3} })
	w.put(t, partitionOf(t, ann),
		memory("rumour", "user likes green tea", 0, "observation_type", "rumour"), memory("plain", "user likes green tea a little", 0), memory("insight", "user likes green tea more than other people do", 0, "memory_type", "insight"))
	got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "green tea"})
	assert.Equal(t, []string{"insight", "plain", "rumour"}, ids(got.Hits))
	assert.Greater(t, got.Hits[2].Score, got.Hits[0].Score, "the score says how like they are, whatever the weights")
	assert.Equal(t, map[string]float64{"conversation": 0.5, "observation": 1, "obs_customized": 1.2, "insight": 2}, personal.DefaultTypeWeights())
}

func TestR14WithoutWeightsTheOrderIsRecalls(t *testing.T) {
	e := &testkit.Embedder{Dim: 16}
	words := []string{"tea", "green", "castle", "home", "Rome", "dog", "yellow"}
	rapid.Check(t, func(rt *rapid.T) {
		w := open(t, func(s *setting) { s.embedder = e })
		for i := range rapid.IntRange(1, 12).Draw(rt, "n") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 5).Draw(rt, "text"), " ")
			w.put(t, partitionOf(t, ann), memory(string(rune('a'+i)), text, i))
		}
		query := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 3).Draw(rt, "query"), " ")
		plain, err := w.keeper.Search(ctx, partitionOf(t, ann), &backends.SearchRequest{Query: query, TopK: 5})
		require.NoError(rt, err)
		got, err := w.Retrieve(ctx, &personal.RetrieveRequest{Scope: ann, Query: query})
		require.NoError(rt, err)
		require.Equal(rt, plain.Hits, got.Hits)
	})
}

func TestDEF07OnlyPersonalMemoriesOfTheTargetAreFound(t *testing.T) {
	w := open(t, inWorkspace)
	shop := backends.Scope{Workspace: "shop"}
	p, err := shop.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	task := memory("task", "user likes tea", 0)
	task.Kind = backends.KindTask
	w.put(t, p, task)
	for _, target := range []string{"", "Ann", "Bob"} {
		_, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: shop, Target: target, Messages: []backends.Message{said(0, "I live in Beijing")}})
		require.NoError(t, err)
	}
	_, err = w.Summarize(ctx, &personal.SummaryRequest{Scope: shop, Target: "Ann", Messages: []backends.Message{said(1, "I moved to Shanghai")}})
	require.NoError(t, err)
	for target, want := range map[string]string{"": "user lives in Beijing.", "Ann": "Ann lives in Shanghai.", "Bob": "Bob lives in Beijing.", "Eve": ""} {
		got := w.retrieve(t, &personal.RetrieveRequest{Scope: shop, Target: target, Query: "likes tea, lives in"})
		var texts []string
		for _, h := range got.Hits {
			texts = append(texts, h.Text)
		}
		assert.Equal(t, want, strings.Join(texts, "|"), target)
	}
}

func TestDEF07TheSameWordsAboutTwoPeopleAreTwoMemories(t *testing.T) {
	w := open(t, inWorkspace)
	shop := backends.Scope{Workspace: "shop"}
	for _, target := range []string{"Ann", "Bob"} {
		resp, err := w.Verbatim(ctx, &personal.SummaryRequest{Scope: shop, Target: target, Messages: []backends.Message{said(0, "Likes tea")}})
		require.NoError(t, err)
		assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
	}
}

func TestR22NothingCrossesFromPersonToPerson(t *testing.T) {
	w := open(t)
	w.summarize(t, ann, said(0, "I live in Beijing"))
	w.summarize(t, backends.Scope{UserID: "bob"}, said(1, "I live in Rome"))
	w.summarize(t, backends.Scope{AgentID: "ann"}, said(2, "I live in Oslo"))
	for user, want := range map[string]string{"ann": "user lives in Beijing.", "bob": "user lives in Rome.", "eve": ""} {
		got := w.retrieve(t, &personal.RetrieveRequest{Scope: backends.Scope{UserID: user}, Query: "where does user live"})
		if want == "" {
			assert.Empty(t, got.Hits)
			continue
		}
		require.Len(t, got.Hits, 1)
		assert.Equal(t, want, got.Hits[0].Text)
	}
}

func TestR14AnswersHaveDatesAndIDs(t *testing.T) {
	w := open(t)
	w.put(t, partitionOf(t, ann), memory("a", "user likes\n green tea", -1, "event_time", "2026-01"), memory("b", "用户喜欢绿茶", -3))
	got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "green tea"})
	assert.Equal(t, "- user likes green tea (said 2026-03-01, about 2026-01, id a)", got.Answer)
	got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "绿茶"})
	assert.Equal(t, "- 用户喜欢绿茶 (说于 2026-02-27, id b)", got.Answer)
}

func TestR14RequestsAreCheckedAndDefaulted(t *testing.T) {
	w := open(t)
	for i := range 8 {
		w.put(t, partitionOf(t, ann), memory(string(rune('a'+i)), "tea", i))
	}
	got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "tea"})
	assert.Len(t, got.Hits, 5)
	got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "tea", TopK: 8})
	assert.Len(t, got.Hits, 8, "as many as asked for")
	got, err := w.Retrieve(backends.WithScope(ctx, ann), &personal.RetrieveRequest{Query: " "})
	require.NoError(t, err)
	assert.Empty(t, got.Hits)
	for name, r := range map[string]*personal.RetrieveRequest{
		"none": nil, "TopK": {Scope: ann, Query: "x", TopK: -1}, "UTF-8": {Scope: ann, Query: "\xff"}, "filter": {Scope: ann, Query: "x", Filter: &backends.Filter{Op: "?"}},
		"target": {Scope: ann, Query: "x", Target: "\xff"},
	} {
		_, err := w.Retrieve(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err = w.Retrieve(ctx, &personal.RetrieveRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestR14AnEmbedderThatIsAwayDegrades(t *testing.T) {
	e := &testkit.Embedder{Dim: 16}
	w := open(t, func(s *setting) { s.embedder = e })
	resp := w.summarize(t, ann, said(0, "I like tea"))
	assert.Equal(t, 1, resp.Report.Usage.EmbeddedTexts)
	require.NotEmpty(t, recall.EmbedText(&resp.Items[0].Memory))
	e.Err = errDown
	got, err := w.Retrieve(ctx, &personal.RetrieveRequest{Scope: ann, Query: "tea"})
	require.NoError(t, err)
	require.ErrorIs(t, got.Degraded, errDown)
	assert.Len(t, got.Hits, 1)
	_, err = w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(1, "I like rice")}})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user likes tea."}, active)
}
