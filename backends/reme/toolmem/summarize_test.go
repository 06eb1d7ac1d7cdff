// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

func summarize(t testing.TB, r *rig, q toolmem.SummaryRequest) *toolmem.SummaryResponse {
	t.Helper()
	q.Scope = team
	resp, err := r.Summarize(ctx, &q)
	require.NoError(t, err)
	return resp
}

// writer writes guidelines that number themselves and say which tool they are for.
func writer(t testing.TB) *testkit.Chat {
	var n atomic.Int64
	return answering(func(_, user string) (string, error) {
		var tool string
		require.NoError(t, json.Unmarshal([]byte(inside(t, user, "tool")), &tool))
		return fmt.Sprintf(`{"guideline":"guideline %d of %s"}`, n.Add(1), tool), nil
	})
}

func TestR17AGuidelineIsWrittenWithStatisticsUnderIt(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	r.record(t, f2()...)
	resp := r.force(t, "search")
	got := resp.Tools[0]
	assert.Equal(t, toolmem.OutcomeWritten, got.Outcome)
	assert.Equal(t, "guideline 1 of search", got.Guideline)
	stored := got.Memory
	require.NotNil(t, stored)
	assert.Equal(t, backends.KindTool, stored.Kind)
	assert.Equal(t, "search", stored.WhenToUse)
	assert.Equal(t, "model", stored.Origin.Author)
	assert.Equal(t, `guideline 1 of search

## Statistics
- Calls: the last 3 of 3, 2026-03-12 to 2026-03-12
- Success rate: 66.67%
- Average score: 0.333 (3 judged)
- Average time: 2.000 s (p50 2.000, p90 3.000, p99 3.000)
- Average tokens: 75.00 (2 known)
- Errors: timeout 1`, stored.Text)
	assert.EqualValues(t, 3, stored.Metadata["calls_total"])
	assert.Equal(t, map[string]any{"2026-03": int64(3)}, stored.Metadata["covered"])
	all := r.memories(t)
	require.Len(t, all, 1)
	assert.Equal(t, stored.ID, all[0].ID)
	assert.Equal(t, stored.Version, all[0].Version)
	statistics, _ := all[0].Metadata["statistics"].(map[string]any)
	assert.EqualValues(t, 0.6667, statistics["success_rate"])
	assert.Equal(t, 1, resp.Report.Stage(toolmem.StageStore).Out)
}

func TestR17NothingNewIsSkipped(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	r.record(t, calls("x", 0, 9)...)
	resp := summarize(t, r, toolmem.SummaryRequest{ToolNames: "x"})
	assert.Equal(t, toolmem.OutcomeNotDue, resp.Tools[0].Outcome, "9 of 10")
	due := r.record(t, call("x", 9))
	assert.Equal(t, []string{"x"}, due.Due)
	resp = summarize(t, r, toolmem.SummaryRequest{ToolNames: "x"})
	assert.Equal(t, toolmem.OutcomeWritten, resp.Tools[0].Outcome)
	assert.EqualValues(t, 10, resp.Tools[0].New)
	resp = summarize(t, r, toolmem.SummaryRequest{ToolNames: "x"})
	assert.Equal(t, toolmem.OutcomeUnchanged, resp.Tools[0].Outcome)
	assert.NotNil(t, resp.Tools[0].Memory)
	require.Len(t, m.Calls(), 1, "the model is not asked")
	assert.Empty(t, r.record(t, calls("x", 10, 19)...).Due)
	resp = summarize(t, r, toolmem.SummaryRequest{ToolNames: "x"})
	assert.Equal(t, toolmem.OutcomeNotDue, resp.Tools[0].Outcome)
	assert.EqualValues(t, 9, resp.Tools[0].New)
	assert.Equal(t, toolmem.OutcomeWritten, r.force(t, "x").Tools[0].Outcome)
	require.Len(t, m.Calls(), 2)
	assert.Equal(t, toolmem.OutcomeWritten, r.force(t, "x").Tools[0].Outcome, "forced is forced")
}

func TestR17ManyToolsAndUnknownOnes(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	r.record(t, append(append(calls("a", 0, 10), calls("b", 0, 10)...), calls("c", 0, 2)...)...)
	resp := summarize(t, r, toolmem.SummaryRequest{Tools: []string{"c"}, ToolNames: " a, b，a ,nobody"})
	var got []string
	for _, x := range resp.Tools {
		got = append(got, x.Tool+" "+string(x.Outcome))
	}
	assert.Equal(t, []string{"c not_due", "a written", "b written", "nobody unknown"}, got)
	all := summarize(t, r, toolmem.SummaryRequest{Force: true})
	assert.Len(t, all.Tools, 3, "without names all tools")
	resp, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, ToolNames: "nobody"})
	require.ErrorIs(t, err, backends.ErrNotFound)
	assert.Equal(t, toolmem.OutcomeUnknown, resp.Tools[0].Outcome)
	_, err = r.Summarize(ctx, &toolmem.SummaryRequest{Scope: backends.Scope{Workspace: "empty"}})
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestDEF19TheModelSeesInputsOutputsErrorsAndRepeats(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	good := call("fetch", 0)
	good.Input, good.Output = object("url", "https://a.example", "limit", 10), "the page"
	var failing []toolmem.Call
	for n := range 3 {
		c := call("fetch", n+1)
		c.Input, c.Output, c.Error = object("url", "https://b.example", "limit", 100), "", "limit must be at most 50"
		failing = append(failing, c)
	}
	r.record(t, append(failing, good)...)
	r.force(t, "fetch")
	user := m.Calls()[0][1].Content
	shown := callsIn(t, user)
	require.Len(t, shown, 4)
	assert.JSONEq(t, `{"url":"https://a.example","limit":10}`, string(shown[0].Input), "by time")
	assert.Equal(t, "the page", shown[0].Output)
	assert.Equal(t, "limit must be at most 50", shown[1].Error)
	assert.Equal(t, "invalid_argument", shown[1].Class)
	var s toolmem.Statistics
	require.NoError(t, json.Unmarshal([]byte(inside(t, user, "statistics")), &s))
	assert.Equal(t, 3, s.Repeats.FailingCalls)
	assert.Contains(t, s.Arguments, toolmem.ArgumentCount{Name: "limit", Value: "100", Bad: 3})
	assert.Equal(t, `""`, inside(t, user, "guideline_so_far"))
	r.force(t, "fetch")
	assert.Equal(t, `"guideline 1 of fetch"`, inside(t, m.Calls()[1][1].Content, "guideline_so_far"), "without its statistics")
}

func TestDEF19TheMaterialFitsThePrompt(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m, limits: flow.Limits{Prompt: 1500}})
	var all []toolmem.Call
	for n := range 20 {
		c := call("x", n)
		c.Output = fmt.Sprintf("answer %d %s", n, strings.Repeat("very long text ", 200))
		all = append(all, c)
	}
	r.record(t, all...)
	r.force(t, "x")
	user := m.Calls()[0][1].Content
	assert.Less(t, len(user)/4, 2200)
	shown := callsIn(t, user)
	require.NotEmpty(t, shown)
	assert.Equal(t, 19, shown[len(shown)-1].N, "the newest are there")
	if n := 20 - len(shown); n > 0 {
		assert.Contains(t, user, fmt.Sprintf("[%d older calls are left out]", n))
	}
	assert.Contains(t, shown[0].Output, "bytes left out")
}

func TestDEF18OneRecordForAToolWhateverElseIsThere(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	_, err = r.keeper.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "t", Kind: backends.KindTask, WhenToUse: "search", Text: "search"}}),
		store.Put(&store.Record{Memory: backends.Memory{ID: "u", Kind: backends.KindTool, WhenToUse: "search", Text: "a note of somebody's"}}),
		store.Put(&store.Record{Memory: backends.Memory{ID: "v", Kind: backends.KindTool, WhenToUse: "ghost", Text: "a haunted note"}}),
	}}, nil)
	require.NoError(t, err)
	names := []string{"search", "search_web", "search web", "Search"}
	for n := range 3 {
		for i, name := range names {
			r.record(t, call(name, 10*n+i))
		}
		r.force(t, names...)
	}
	tools := map[string]int{}
	for _, m := range r.memories(t) {
		tools[m.WhenToUse]++
	}
	assert.Equal(t, map[string]int{"search": 3, "search_web": 1, "search web": 1, "Search": 1, "ghost": 1}, tools, "ours, and the three of others")
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.ElementsMatch(t, names, found, "a note is no tool")
	haunted, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Query: "a haunted note"})
	require.NoError(t, err)
	assert.Empty(t, haunted.Tools)
	assert.Contains(t, r.tool(t, "search").Guideline, "of search")
	other := backends.Scope{Workspace: "other"}
	_, err = r.Record(ctx, &toolmem.RecordRequest{Scope: other, Calls: calls("search", 0, 3)})
	require.NoError(t, err)
	resp, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: other, Force: true})
	require.NoError(t, err)
	assert.NotEqual(t, r.tool(t, "search").Memory.ID, resp.Tools[0].Memory.ID)
}

func TestOlderGuidelinesStayInTheHistory(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	r.record(t, calls("x", 0, 3)...)
	r.force(t, "x")
	stored := r.force(t, "x").Tools[0].Memory
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	events, err := r.keeper.History(ctx, p, stored.ID)
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Contains(t, events[1].Old, "guideline 1 of x")
	assert.Contains(t, events[1].New, "guideline 2 of x")
}

func TestWhatACallerMakesOfAGuidelineIsGoneOnFrom(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	r.record(t, calls("x", 0, 3)...)
	id := r.force(t, "x").Tools[0].Memory.ID
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	text := "corrected by hand"
	_, err = r.keeper.Update(ctx, p, &backends.UpdateRequest{ID: id, Text: &text, Metadata: object("owner", "ann")})
	require.NoError(t, err)
	assert.Equal(t, text, r.tool(t, "x").Guideline)
	again := r.force(t, "x").Tools[0].Memory
	assert.Equal(t, `"corrected by hand"`, inside(t, m.Calls()[1][1].Content, "guideline_so_far"))
	assert.Equal(t, "ann", again.Metadata["owner"], "metadata of others stays")
}

func TestOneFailureStoresNothingUnlessPartialIsFine(t *testing.T) {
	down := errors.New("down")
	m := answering(func(_, user string) (string, error) {
		if strings.Contains(inside(t, user, "tool"), "bad") {
			return "", down
		}
		return `{"guideline":"fine"}`, nil
	})
	r := newRig(t, setup{model: m})
	r.record(t, append(calls("bad", 0, 3), calls("good", 0, 3)...)...)
	q := toolmem.SummaryRequest{Scope: team, Tools: []string{"good", "bad"}, Force: true}
	resp, err := r.Summarize(ctx, &q)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, `tool "bad"`)
	assert.Equal(t, toolmem.OutcomeFailed, resp.Tools[0].Outcome)
	assert.Equal(t, toolmem.OutcomeFailed, resp.Tools[1].Outcome)
	assert.Equal(t, 1, resp.Report.Stage(toolmem.StageGuideline).Failed)
	assert.Empty(t, r.memories(t))
	q.KeepPartial = true
	resp, err = r.Summarize(ctx, &q)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, toolmem.OutcomeWritten, resp.Tools[0].Outcome)
	assert.Len(t, r.memories(t), 1)
}

func TestAnswersThatAreNoGuideline(t *testing.T) {
	for name, answer := range map[string]string{
		"empty": "", "blank": `{"guideline":"  "}`, "another field": `{"text":"x"}`, "cut off": `{"guideline":"use it wi`, "far too long": `{"guideline":"` + strings.Repeat("x", 5000) + `"}`, "a number": `{"guideline":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{model: answering(func(string, string) (string, error) { return answer, nil })})
			r.record(t, calls("x", 0, 3)...)
			_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
			require.ErrorIs(t, err, backends.ErrModel)
			assert.Empty(t, r.memories(t))
		})
	}
	cut := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, Content: `{"guideline":"looks whole"}`, ResponseMeta: &schema.ResponseMeta{FinishReason: "length"}}, nil
	})
	r := newRig(t, setup{model: textual{cut}})
	r.record(t, calls("x", 0, 3)...)
	_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
	require.ErrorIs(t, err, backends.ErrModel)
}
