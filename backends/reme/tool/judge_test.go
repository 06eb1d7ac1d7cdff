// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// asReMe judges as ReMe's judge is told to: by the result, whatever the flag of success says.
func asReMe(t testing.TB) *testkit.Chat {
	return answering(func(_, user string) string {
		answer := guidance{Guideline: "Name a city."}
		for _, c := range shownIn(t, user) {
			if c["judge"] != true {
				continue
			}
			j := judgement{N: int(c["n"].(float64)), Score: 1, Reason: "it names the flights"}
			if out := c["output"].(string); strings.Contains(out, "could not locate") || strings.Contains(out, "没能查到") {
				j.Score, j.Reason = 0, "it names no flight, key sk-abcdefghijklmnopqrstuvwx"
			}
			answer.Judgements = append(answer.Judgements, j)
		}
		answer.Judgements = append(answer.Judgements, judgement{N: 99}, judgement{N: 3}) // of no call, and of one that has a score
		raw, err := json.Marshal(answer)
		require.NoError(t, err)
		return string(raw)
	})
}

// flights are calls of which rules find two useful that are not; the last one has the caller's score.
func flights() []Call {
	out := []Call{
		{Output: "CA 985, 13:05, and UA 889, 15:40"},
		{Output: "I could not locate any flights between these cities for you."},
		{Output: "这两个城市之间没能查到航班，建议换个日期。"},
		{Output: "CA 985", Score: score(1), Judge: "a person"},
	}
	for i := range out {
		out[i].ID, out[i].Tool, out[i].Input = fmt.Sprint("f", i), "flights", object{"nr": i}
	}
	return out
}

// A success that gives nothing useful scores 0, in the question for the guideline, once: later
// guidelines ask for new calls alone. The judgement stays with its call.
func TestAModelJudgesResults(t *testing.T) {
	m := asReMe(t)
	r := newRig(t, m)
	r.record(t, flights()...)
	assert.InDelta(t, 1, r.tool(t, "flights").Statistics.AvgScore, 0, "rules find all useful")
	got := r.force(t, "flights").Tools[0]
	require.Len(t, m.Calls(), 1, "it is one question")
	assert.InDelta(t, 0.5, got.Statistics.AvgScore, 0)
	assert.Contains(t, got.Memory.Text, "Average score: 0.500 (4 judged)")

	again := newRig(t, asReMe(t), beside(r)) // another process
	for range 2 {
		seen, err := again.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{"flights"}, WithCalls: true})
		require.NoError(t, err)
		var scores []float64
		var judges []string
		for _, c := range seen.Tools[0].Calls {
			scores, judges = append(scores, *c.Score), append(judges, c.Judge)
		}
		assert.Equal(t, []float64{1, 0, 0, 1}, scores)
		assert.Equal(t, []string{"model", "model", "model", "a person"}, judges)
		assert.Contains(t, seen.Tools[0].Calls[1].Evaluation, "it names no flight")
		assert.NotContains(t, seen.Tools[0].Calls[1].Evaluation, "sk-abcdef")
		again.force(t, "flights")
	}
	later := asReMe(t)
	r = newRig(t, later, beside(r))
	r.record(t, Call{ID: "f4", Tool: "flights", Input: "x", Output: "MU 1"})
	r.force(t, "flights")
	for _, c := range shownIn(t, later.Calls()[0][1].Content) {
		assert.Equal(t, c["output"] == "MU 1", c["judge"] == true, c)
	}
	assert.InDelta(t, 0.6, r.tool(t, "flights").Statistics.AvgScore, 0)
}

// A model that answers with a guideline alone leaves the scores of the rules, and so do the rules.
// With "off" a call has the score of its caller or none.
func TestWhoJudges(t *testing.T) {
	alone := func() *testkit.Chat {
		return answering(func(string, string) string { return `{"guideline":"ask"}` })
	}
	for name, c := range map[string]struct {
		judge string
		model *testkit.Chat
		avg   float64
		count int
		asked bool
	}{
		"a guideline alone": {"", alone(), 1, 4, true},
		"rules":             {"rules", asReMe(t), 1, 4, false},
		"off":               {"off", asReMe(t), 1, 1, false},
	} {
		r := newRig(t, c.model, func(_ *rig, cfg *Config) { cfg.Judge = c.judge })
		r.record(t, flights()...)
		got := r.force(t, "flights").Tools[0]
		assert.InDelta(t, c.avg, got.Statistics.AvgScore, 0, name)
		assert.Equal(t, c.count, got.Statistics.Judged, name)
		assert.Equal(t, c.asked, strings.Contains(c.model.Calls()[0][0].Content, "Also judge each call"), name)
	}
	_, err := Config{Judge: "me"}.withDefaults()
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "model, rules or off")
}

// What a forgotten user's calls were judged goes with the guideline.
func TestJudgementsAreForgotten(t *testing.T) {
	r := newRig(t, asReMe(t))
	calls := flights()
	for i := range calls {
		calls[i].UserID = "ann"
	}
	r.record(t, calls...)
	r.force(t, "flights")
	workspace := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionWorkspace, ID: team.Workspace}
	got, err := r.guidelineOf(ctx, workspace, "flights")
	require.NoError(t, err)
	require.Len(t, got.judged, 3)
	_, err = store.Forget(ctx, r.store, backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}, nil)
	require.NoError(t, err)
	got, err = r.guidelineOf(ctx, workspace, "flights")
	require.NoError(t, err)
	assert.Empty(t, got.judged)
}

// The cases that ReMe's judge is told: the flag of success decides nothing, and a result that finds
// nothing for a reasonable question is worth 0.
func TestASuccessWithoutAResultIsWorthNothing(t *testing.T) {
	m := answering(func(_, user string) string {
		answer := guidance{Guideline: "Ask for one city."}
		for _, c := range shownIn(t, user) {
			assert.NotContains(t, c, "score", "the model judges for itself")
			j := judgement{N: int(c["n"].(float64)), Score: 1, Reason: "it answers"}
			if out := c["output"].(string); strings.Contains(out, "No results") || strings.Contains(out, "general tips") || c["failed"] == true {
				j.Score, j.Reason = 0, "it does not answer"
			}
			answer.Judgements = append(answer.Judgements, j)
		}
		raw, err := json.Marshal(answer)
		require.NoError(t, err)
		return string(raw)
	})
	calls := []Call{
		{Output: "Search finished in 0.2 s over 4 indexes. No results matched your filters. Try others."},
		{Output: "Here are some general tips on searching the web."},
		{Output: "Paris: 14 degrees, rain"},
		{Output: "boom", Failed: true},
	}
	for i := range calls {
		calls[i].ID, calls[i].Tool, calls[i].Input = fmt.Sprint("w", i), "weather", object{"city": i}
	}
	scores := func(r *rig) (out []float64) {
		got, err := r.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{"weather"}, WithCalls: true})
		require.NoError(t, err)
		for _, c := range got.Tools[0].Calls {
			out = append(out, *c.Score)
		}
		assert.InDelta(t, 0.75, got.Tools[0].Statistics.SuccessRate, 0, "three said that they succeeded")
		return out
	}
	r := newRig(t, m)
	r.record(t, calls...)
	assert.Equal(t, []float64{1, 1, 1, 0}, scores(r), "rules know no such results")
	r.force(t, "weather")
	assert.Equal(t, []float64{0, 0, 1, 0}, scores(r))
}
