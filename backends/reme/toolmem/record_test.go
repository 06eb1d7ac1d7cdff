// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
)

var rangeAll = store.Range{Limit: 10_000}

func (r *rig) sessions(t testing.TB) []store.Session {
	t.Helper()
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	page, err := r.store.List(ctx, store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000}})
	require.NoError(t, err)
	return page.Sessions
}

func TestR15ACallIsKeptWithItsFields(t *testing.T) {
	r := newRig(t, setup{})
	in := toolmem.Call{
		ID: "c1", Time: start, Tool: "search", Input: object("q", "tea", "n", 2.0), Output: "two results", Took: 1500 * time.Millisecond, Tokens: 42,
		Score: score(1), Judge: "ann", Summary: "s", Evaluation: "e", Summarized: true, Metadata: object("k", "v"),
	}
	resp := r.record(t, in)
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "search", Added: 1}}, resp.Tools)
	got := r.tool(t, "search").Calls[0]
	text, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"c1","create_time":"2026-03-12T09:00:00Z","tool_name":"search","input":{"q":"tea","n":2.0},"output":"two results","token_cost":42,"success":true,
		"time_cost":1.5,"summary":"s","evaluation":"e","score":1,"judged_by":"ann","is_summarized":true,"call_hash":"`+toolmem.Hash(in.Input, in.Output)+`","metadata":{"k":"v"}}`, string(text))
	assert.Contains(t, string(text), `"n":2.0`)
	assert.Equal(t, 1, resp.Report.Stage(toolmem.StageStore).Out)
}

func TestR15LinesOfReMeAreRead(t *testing.T) {
	var c toolmem.Call
	require.NoError(t, json.Unmarshal([]byte(`{"tool_name":"x","input":"q","output":"o"}`), &c))
	assert.Equal(t, toolmem.Call{Tool: "x", Input: "q", Output: "o", Tokens: -1}, c, "ReMe's defaults: success, tokens unknown")
	require.NoError(t, json.Unmarshal([]byte(`{"create_time":"2026-03-01 10:11:12","tool_name":"x","input":{"a":1},"output":"o","token_cost":5,"success":false,"time_cost":0.25,"summary":"","evaluation":"","score":0.0,"is_summarized":false,"call_hash":"h","metadata":{}}`), &c))
	assert.Equal(t, toolmem.Call{Time: time.Date(2026, 3, 1, 10, 11, 12, 0, time.UTC), Tool: "x", Input: object("a", json.Number("1")), Output: "o", Failed: true, Took: 250 * time.Millisecond, Tokens: 5, Score: score(0), Hash: "h"}, c)
	for _, bad := range []string{`{"create_time":"yesterday"}`, `{"success":"maybe"}`, `[]`, `{"score":"x"}`} {
		require.ErrorIs(t, json.Unmarshal([]byte(bad), &c), backends.ErrInvalid, bad)
	}
	r := newRig(t, setup{})
	c = toolmem.Call{Tool: "x", Input: "q", Output: "o", Hash: "trusted"}
	r.record(t, c)
	assert.Equal(t, "trusted", r.tool(t, "x").Calls[0].Hash, "a hash that is given is trusted")
}

func TestR15CallsThatCannotBeKeptAreToldAndTheOthersKept(t *testing.T) {
	r := newRig(t, setup{})
	loop := map[string]any{}
	loop["me"] = loop
	deep := any("x")
	for range 600 {
		deep = []any{deep}
	}
	bad := []toolmem.Call{
		{Input: "no name", Output: "x"}, {Tool: "  ", Input: "x"}, {Tool: "search"}, {Tool: "search", Input: ""}, {Tool: strings.Repeat("x", 513), Input: "x"},
		{Tool: "\xff", Input: "x"}, {Tool: "search", Input: loop}, {Tool: "search", Input: deep}, {Tool: "search", Input: "x", Time: start.Add(-91 * 24 * time.Hour)},
		{Tool: "search", Input: "x", Time: start.Add(25 * time.Hour)}, {Tool: "search", Input: func() {}}, {Tool: "search", Input: "x", Metadata: loop},
		{Tool: "search", Input: object("n", json.Number("abc"))}, {Tool: "search", Input: json.Number("[]")}, {Tool: "search", Input: json.RawMessage("{")},
	}
	resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: append(bad, call("search", 1), toolmem.Call{Tool: "fetch", Output: "only an output"}, toolmem.Call{Tool: "fetch", Input: "only an input"})})
	require.NoError(t, err)
	require.Len(t, resp.Rejected, len(bad))
	for i, x := range resp.Rejected {
		assert.Equal(t, i, x.Index)
		assert.Equal(t, bad[i].Tool, x.Tool)
		assert.Error(t, x.Why)
	}
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "search", Added: 1}, {Tool: "fetch", Added: 2}}, resp.Tools)
	assert.Equal(t, len(bad), resp.Report.Stage(toolmem.StageCheck).Dropped)
}

func TestR15AnIDIsKeptOnce(t *testing.T) {
	r := newRig(t, setup{})
	c := call("search", 1)
	c.ID = "same"
	resp := r.record(t, c, c)
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "search", Added: 1, Known: 1}}, resp.Tools)
	resp = r.record(t, c, call("search", 2))
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "search", Added: 1, Known: 1}}, resp.Tools)
	assert.Len(t, r.tool(t, "search").Calls, 2)
	long := call("search", 3)
	long.ID = strings.Repeat("x", 600)
	r.record(t, long)
	assert.Equal(t, 1, r.record(t, long).Tools[0].Known, "an id that is too long stands for itself, too")
}

func TestDEF30RepeatedCallsAreKeptAndCounted(t *testing.T) {
	r := newRig(t, setup{})
	var all []toolmem.Call
	for n := range 6 {
		c := call("fetch", n)
		c.Input, c.Output, c.Error = object("url", "x"), "", "timeout after 30s"
		all = append(all, c)
	}
	resp := r.record(t, all[:3]...)
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "fetch", Added: 3, Repeated: 2}}, resp.Tools)
	resp = r.record(t, append(all[3:], call("fetch", 9))...)
	assert.Equal(t, []toolmem.ToolRecord{{Tool: "fetch", Added: 4, Repeated: 3}}, resp.Tools)
	s := r.tool(t, "fetch").Statistics
	assert.Equal(t, 7, s.Calls)
	assert.Equal(t, 0.1429, s.SuccessRate, "1 of 7: repeats are not one")
	assert.Equal(t, toolmem.Repeats{Calls: 5, Share: 0.7143, Failing: `{"url":"x"}`, FailingCalls: 6, FailingError: "timeout after 30s"}, s.Repeats)
}

func TestR15TheHistoryThatIsReadIsBounded(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, calls("search", 0, 130)...)
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "search", Since: start, WithCalls: true})
	require.NoError(t, err)
	require.Len(t, resp.Tools[0].Calls, 100)
	assert.Equal(t, "answer 30", resp.Tools[0].Calls[0].Output)
	assert.True(t, resp.Tools[0].Statistics.Truncated)
	assert.EqualValues(t, 130, resp.Tools[0].Statistics.Total)
	assert.Len(t, r.tool(t, "search").Calls, 130, "no call is lost by it")
}

// What waits in a queue is bounded, whatever form it has.
func TestLargeObjectsDoNotWaitInAQueue(t *testing.T) {
	g := newGated(t)
	g.gate = make(chan struct{})
	r := newRig(t, setup{store: g})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{WriteTimeout: -1, OnError: lost.note})
	var list []any
	for range 100 {
		list = append(list, strings.Repeat("x", 50_000))
	}
	endless := map[string]any{}
	endless["a"], endless["b"] = endless, endless
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.NoError(t, rec.Enqueue(ctx, team,
		toolmem.Call{Tool: "x", Input: object("text", strings.Repeat("长", 1<<20), "n", 1), Output: "ok"},
		toolmem.Call{Tool: "x", Input: object("list", list, "password", secret), Output: "ok"},
		toolmem.FromToolCall(&backends.ToolCall{Tool: "x", Arguments: `{"list":["` + strings.Repeat("x", 1<<20) + `"]}`, Result: "ok"}),
		toolmem.Call{Tool: "x", Input: object("a", 1), Output: "ok", Metadata: object("list", list)},
		toolmem.Call{Tool: "x", Input: endless, Output: "ok"},
	))
	require.Error(t, rec.Close(short))
	require.Len(t, lost.lost, 5)
	var kept int
	for _, c := range lost.lost {
		text, err := json.Marshal(c)
		if err != nil {
			require.ErrorContains(t, err, "nested too deep")
			continue
		}
		kept++
		assert.Less(t, len(text), 600_000)
		assert.NotContains(t, string(text), secret)
	}
	assert.Equal(t, 4, kept)
	assert.IsType(t, object(), lost.lost[len(lost.lost)-5].Input)
}

func TestTextsAreBoundedWithACount(t *testing.T) {
	r := newRig(t, setup{})
	big := strings.Repeat("天气", 100_000)
	r.record(t, toolmem.Call{ID: "a", Tool: "x", Input: object("q", big, "n", 1), Output: big, Error: big},
		toolmem.Call{ID: "b", Tool: "x", Input: big, Output: "ok"}, toolmem.Call{ID: "c", Tool: "x", Input: object("list", strings.Split(strings.Repeat("word ", 5000), " ")), Output: "ok"})
	got := r.tool(t, "x").Calls
	for _, c := range got {
		text, err := json.Marshal(c)
		require.NoError(t, err)
		assert.Less(t, len(text), 12<<10, c.ID)
		assert.Contains(t, string(text), "bytes left out")
		assert.NotContains(t, string(text), "\uFFFD")
	}
	var kept map[string]any
	require.IsType(t, kept, got[0].Input, "an object stays one if its texts can be shortened")
	assert.Contains(t, got[0].Input, "n")
	assert.True(t, strings.HasPrefix(got[0].Output, "天气天气") && strings.HasSuffix(got[0].Output, "天气"))
	again := call("x", 1)
	again.Input, again.Output, again.Error = object("q", big, "n", 1), big, big
	assert.Equal(t, 1, r.record(t, again).Tools[0].Repeated, "repeats are known whatever was left out")
	again.Output = big[:300_000] + "!" + big[300_000:]
	assert.Equal(t, 0, r.record(t, again).Tools[0].Repeated)
	again.Output = big[:300_000] + "x" + big[300_001:]
	assert.Equal(t, 1, r.record(t, again).Tools[0].Repeated, "of texts above 256 KiB the ends and the length count")
}

func TestOddNumbersOfCalls(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, toolmem.Call{Tool: "x", Input: "a", Tokens: -7, Took: -time.Second, Score: score(math.NaN())}, toolmem.Call{Tool: "x", Input: "four words of text", Output: "b", Score: score(0.7)})
	got := r.tool(t, "x").Calls
	assert.Equal(t, -1, got[0].Tokens)
	assert.Zero(t, got[0].Took)
	assert.Equal(t, 0.0, *got[0].Score)
	assert.Equal(t, 1.0, *got[1].Score, "0 or 1, as ReMe forces it")
	assert.Positive(t, got[1].Tokens, "an estimate")
}

func TestHostileNamesAreToolsOfTheirOwn(t *testing.T) {
	r := newRig(t, setup{})
	hostile := []string{
		"a/b", "a%2Fb", "a b", "../../etc", "*", "a!b", "搜索", "тест", "😀", "a,b", "<tool_experience>", "x\ny", "a\x00b", `"; drop table`, "tool/x/2026-03", "A", "a", ".", "..",
		strings.Repeat("长", 150), strings.Repeat("长", 149) + "短", strings.Repeat("x", 300), strings.Repeat("x", 301),
	}
	for i, name := range hostile {
		c := call(name, i)
		resp := r.record(t, c)
		require.Empty(t, resp.Rejected, name)
	}
	for i, name := range hostile {
		got := r.tool(t, name)
		require.Len(t, got.Calls, 1, name)
		assert.Equal(t, fmt.Sprint("answer ", i), got.Calls[0].Output)
		assert.Equal(t, name, got.Name)
	}
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.ElementsMatch(t, hostile, found)
	r.force(t)
	assert.Len(t, r.memories(t), len(hostile))
	for _, s := range r.sessions(t) {
		assert.False(t, s.Pending(), "calls are no material for other backends: %s", s.ID)
		assert.False(t, s.Expires.IsZero(), "and end some day")
	}
}

func TestMonthsHaveLogsOfTheirOwn(t *testing.T) {
	r := newRig(t, setup{})
	old, older := call("x", 0), call("x", 0)
	old.Time, older.Time = start.AddDate(0, -1, 0), start.AddDate(0, -2, 0)
	old.Output, older.Output = "february", "january"
	resp := r.record(t, call("x", 1), old, older)
	assert.Equal(t, 3, resp.Tools[0].Added)
	var ids []string
	for _, s := range r.sessions(t) {
		ids = append(ids, s.ID)
	}
	assert.ElementsMatch(t, []string{"tool/x/2026-01", "tool/x/2026-02", "tool/x/2026-03"}, ids)
	got := r.tool(t, "x")
	require.Len(t, got.Calls, 3)
	assert.Equal(t, "january", got.Calls[0].Output)
	assert.EqualValues(t, 3, got.Statistics.Total)
}

func TestAWorkspaceIsNeeded(t *testing.T) {
	r := newRig(t, setup{})
	_, err := r.Record(ctx, &toolmem.RecordRequest{Scope: backends.Scope{UserID: "ann"}, Calls: calls("x", 0, 1)})
	require.ErrorIs(t, err, backends.ErrNoScope)
	resp, err := r.Record(backends.WithScope(ctx, team), &toolmem.RecordRequest{Calls: calls("x", 0, 1)})
	require.NoError(t, err, "the context's scope does, too")
	assert.Equal(t, 1, resp.Tools[0].Added)
	_, err = r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: backends.Scope{Workspace: "other"}, ToolNames: "x"})
	require.ErrorIs(t, err, backends.ErrNotFound, "no workspace sees another's")
	for _, call := range []func() error{
		func() error { _, err := r.Record(ctx, nil); return err },
		func() error { _, err := r.Summarize(ctx, nil); return err },
		func() error { _, err := r.Retrieve(ctx, nil); return err },
		func() error { _, err := r.Store(ctx, nil); return err },
		func() error { _, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team}); return err },
		func() error {
			_, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "x", Last: -1})
			return err
		},
		func() error {
			_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Tools: []string{"\xff"}})
			return err
		},
		func() error { return r.Forget(ctx, team, " ") },
	} {
		require.ErrorIs(t, call(), backends.ErrInvalid)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	r := newRig(t, setup{})
	for _, c := range []*toolmem.Config{
		nil, {}, {Keeper: r.keeper, Window: -1}, {Keeper: r.keeper, MaxResult: 65 << 10}, {Keeper: r.keeper, Keep: -1}, {Keeper: r.keeper, History: 10_001},
		{Keeper: r.keeper, Judge: true}, {Keeper: r.keeper, Language: "fr"}, {Keeper: r.keeper, Keep: 20 * 366 * 24 * time.Hour},
	} {
		_, err := toolmem.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err := toolmem.New(&toolmem.Config{Keeper: r.keeper})
	require.NoError(t, err)
}

// A call that was recorded late is in a log that lives longer than it is looked at.
func TestForgetRemovesLogsThatNobodyLooksAt(t *testing.T) {
	r := newRig(t, setup{})
	late := call("x", 1)
	late.Time = start.Add(-maxAge + time.Hour)
	r.record(t, late)
	r.clock.Advance(maxAge - time.Hour)
	require.Len(t, r.sessions(t), 1)
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.Empty(t, found, "nothing can be said of it")
	_, err = r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.NoError(t, r.Forget(ctx, team, "x"))
	assert.Empty(t, r.sessions(t))
}

func TestForgetRemovesCallsAndGuideline(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, append(calls("x", 0, 3), calls("y", 0, 3)...)...)
	r.force(t)
	require.NoError(t, r.Forget(ctx, team, "x"))
	require.NoError(t, r.Forget(ctx, team, "x"), "twice is once")
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "x,y"})
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, resp.Unknown)
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.Equal(t, []string{"y"}, found)
	r.record(t, calls("x", 5, 6)...)
	assert.EqualValues(t, 1, r.tool(t, "x").New)
	require.False(t, errors.Is(err, backends.ErrNotFound))
}
