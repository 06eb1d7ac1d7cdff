// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/toolmem"
)

func score(f float64) *float64 { return &f }

// f2 are the calls of the fixture.
func f2() []toolmem.Call {
	return []toolmem.Call{
		{Tool: "search", Time: start, Input: "a", Output: "1", Tokens: 100, Took: time.Second, Score: score(1)},
		{Tool: "search", Time: start.Add(time.Second), Input: "b", Output: "2", Tokens: -1, Took: 2 * time.Second, Score: score(0)},
		{Tool: "search", Time: start.Add(2 * time.Second), Input: "c", Output: "request timed out", Tokens: 50, Took: 3 * time.Second, Score: score(0), Failed: true},
	}
}

func TestF2Statistics(t *testing.T) {
	recorded := newRig(t, setup{})
	recorded.record(t, f2()...)
	for name, s := range map[string]toolmem.Statistics{"measured": toolmem.Measure(f2()), "recorded": recorded.tool(t, "search").Statistics} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, 75.0, s.AvgTokens)
			assert.Equal(t, 0.6667, s.SuccessRate)
			assert.Equal(t, 2.0, s.AvgTime)
			assert.Equal(t, 0.333, s.AvgScore)
			assert.Equal(t, 2, s.TokensKnown)
			assert.Equal(t, toolmem.Latency{P50: 2, P90: 3, P99: 3}, s.Latency)
			assert.Equal(t, []toolmem.ErrorCount{{Class: toolmem.ErrorTimeout, Calls: 1, Example: "request timed out"}}, s.Errors)
			text, err := json.Marshal(s)
			require.NoError(t, err)
			var fields map[string]any
			require.NoError(t, json.Unmarshal(text, &fields))
			for key, want := range map[string]float64{"total_calls": 3, "recent_calls_analyzed": 3, "avg_token_cost": 75, "success_rate": 0.6667, "avg_time_cost": 2, "avg_score": 0.333} {
				assert.Equal(t, want, fields[key], key)
			}
		})
	}
}

func TestR16TheWindowIsOfTheNewestCallsByTime(t *testing.T) {
	r := newRig(t, setup{})
	good := calls("search", 100, 120)
	r.record(t, good[10:]...)
	bad := call("search", 1) // recorded last, and the oldest
	bad.Error = "boom"
	late := call("search", 2)
	late.Error = "boom"
	r.record(t, append(good[:10:10], bad, late)...)
	get := func(q toolmem.RetrieveRequest) toolmem.Tool {
		q.Scope, q.Tools, q.WithCalls = team, []string{"search"}, true
		resp, err := r.Retrieve(ctx, &q)
		require.NoError(t, err)
		return resp.Tools[0]
	}
	s := get(toolmem.RetrieveRequest{}).Statistics
	assert.Equal(t, 20, s.Calls, "the default")
	assert.EqualValues(t, 22, s.Total)
	assert.Equal(t, 1.0, s.SuccessRate)
	assert.Equal(t, good[0].Time, s.From)
	assert.Equal(t, 0.9545, get(toolmem.RetrieveRequest{Last: 22}).Statistics.SuccessRate*1+0.0454, "21 of 22, by hand")
	since := get(toolmem.RetrieveRequest{Since: start.Add(2 * time.Second)})
	assert.Equal(t, 21, since.Statistics.Calls)
	assert.Equal(t, late.Time, since.Calls[0].Time)
	assert.False(t, since.Statistics.Truncated)
	assert.True(t, get(toolmem.RetrieveRequest{Since: start, Last: 5}).Statistics.Truncated)
	assert.Equal(t, 0, get(toolmem.RetrieveRequest{Since: start.Add(time.Hour)}).Statistics.Calls)
}

func TestR16AnEmptyHistorySaysSo(t *testing.T) {
	s := toolmem.Measure(nil)
	assert.Equal(t, toolmem.Statistics{}, s)
	assert.Contains(t, s.Text(flow.English), "No calls yet")
	assert.Contains(t, s.Text(flow.Chinese), "还没有调用")
}

func TestR16PercentilesAreTimesOfCalls(t *testing.T) {
	var list []toolmem.Call
	for n := 1; n <= 100; n++ {
		list = append(list, toolmem.Call{Input: n, Took: time.Duration(n) * time.Millisecond})
	}
	assert.Equal(t, toolmem.Latency{P50: 0.05, P90: 0.09, P99: 0.099}, toolmem.Measure(list).Latency)
	assert.Equal(t, toolmem.Latency{P50: 0.001, P90: 0.001, P99: 0.001}, toolmem.Measure(list[:1]).Latency)
}

func TestErrorsHaveClassesInBothLanguages(t *testing.T) {
	for class, texts := range map[toolmem.ErrorClass][]string{
		toolmem.ErrorTimeout:   {"context deadline exceeded", "request timed out after 30s", "HTTP 504", "请求超时，请稍后再试"},
		toolmem.ErrorRateLimit: {"429 Too Many Requests", "rate limit exceeded", "quota exceeded", "调用过于频繁，已被限流"},
		toolmem.ErrorAuth:      {"401 Unauthorized", "permission denied", "API key is invalid", "invalid token", "没有权限访问该文件", "登录已过期"},
		toolmem.ErrorNotFound:  {"404 page not found", "open a.txt: no such file or directory", "user does not exist", "未找到该城市", "文件不存在"},
		toolmem.ErrorArgument:  {"invalid argument: limit", "missing required parameter 'q'", "limit must be at most 50", "HTTP 400", "json: cannot unmarshal string", "参数错误：缺少 q", "日期格式不正确"},
		toolmem.ErrorNetwork:   {"dial tcp: connection refused", "lookup x.y: no such host", "unexpected EOF", "502 Bad Gateway", "网络连接失败"},
		toolmem.ErrorOther:     {"something broke", "出错了"},
		"":                     {"", "  "},
	} {
		for _, text := range texts {
			assert.Equal(t, class, toolmem.ClassifyError(text), text)
		}
	}
}

func TestArgumentsThatFailStandOut(t *testing.T) {
	var list []toolmem.Call
	for n := range 12 {
		c := toolmem.Call{Tool: "search", Time: start.Add(time.Duration(n) * time.Second), Input: object("q", fmt.Sprint("q", n), "limit", 10, "lang", "en"), Output: "ok"}
		if n%3 == 0 {
			c.Input, c.Error = object("q", fmt.Sprint("q", n), "limit", 100, "lang", "en", "deep", true), "limit must be at most 50"
		}
		list = append(list, c)
	}
	s := toolmem.Measure(list)
	assert.ElementsMatch(t, []toolmem.ArgumentCount{{Name: "limit", Value: "100", Bad: 4}, {Name: "deep", Bad: 4}, {Name: "deep", Value: "true", Bad: 4}}, s.Arguments)
}

func TestArgumentsThatSayNothingAreLeftOut(t *testing.T) {
	var list []toolmem.Call
	for n := range 4 {
		list = append(list, toolmem.Call{Input: object("q", fmt.Sprint(n), "limit", 100), Error: "boom"})
	}
	assert.Empty(t, toolmem.Measure(list).Arguments, "all calls have it")
	for n := range 4 {
		list[n].Input = object("key", []any{"[redacted]", n}[n%2], "long", strings.Repeat("x", 100))
	}
	good := toolmem.Call{Input: object("q", "x"), Output: "ok"}
	assert.Equal(t, []toolmem.ArgumentCount{{Name: "key", Bad: 4}, {Name: "long", Bad: 4}}, toolmem.Measure(append(list, good)).Arguments, "no value of a secret, nor of a text")
}

func TestStatisticsDoNotDependOnTheOrderOfCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		var list []toolmem.Call
		for i := range n {
			c := toolmem.Call{Time: start.Add(time.Duration(i) * time.Second), Input: object("a", rapid.IntRange(0, 3).Draw(t, "a")), Output: rapid.SampledFrom([]string{"ok", "", "no results"}).Draw(t, "out"), Took: time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond, Tokens: rapid.IntRange(-1, 9).Draw(t, "tokens")}
			c.Error = rapid.SampledFrom([]string{"", "timeout", "404"}).Draw(t, "error")
			if rapid.Bool().Draw(t, "judged") {
				c.Score = score(float64(rapid.IntRange(0, 1).Draw(t, "score")))
			}
			list = append(list, c)
		}
		s := toolmem.Measure(list)
		shuffled := rapid.Permutation(list).Draw(t, "order")
		require.Equal(t, s, toolmem.Measure(shuffled))
		failed := 0
		for _, e := range s.Errors {
			failed += e.Calls
		}
		require.Equal(t, s.Failed, failed, "each failure has one class")
		require.LessOrEqual(t, s.Latency.P50, s.Latency.P90)
		require.LessOrEqual(t, s.Latency.P90, s.Latency.P99)
		for _, share := range []float64{s.SuccessRate, s.AvgScore, s.Repeats.Share} {
			require.True(t, share >= 0 && share <= 1, share)
		}
		for _, a := range s.Arguments {
			require.Positive(t, a.Bad)
			require.LessOrEqual(t, a.Bad+a.Good, n)
		}
	})
}

func TestTotalsSurviveTheEndOfLogs(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, calls("search", 0, 12)...)
	r.force(t, "search")
	r.clock.Advance(200 * 24 * time.Hour)
	recent := call("search", 0)
	recent.Time, recent.ID = r.clock.Now(), "later"
	r.record(t, recent)
	tool := r.tool(t, "search")
	assert.Equal(t, 1, tool.Statistics.Calls, "calls of more than 90 days ago are gone")
	assert.EqualValues(t, 13, tool.Statistics.Total)
	assert.EqualValues(t, 1, tool.New)
	r.force(t, "search")
	assert.EqualValues(t, 13, r.tool(t, "search").Statistics.Total)
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	all, err := r.keeper.All(ctx, p)
	require.NoError(t, err)
	assert.EqualValues(t, 13, all[0].Metadata["calls_total"])
	assert.EqualValues(t, 12, all[0].Metadata["calls_before"])
}

func TestAClockThatGoesBackCountsNoCallTwice(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, calls("x", 0, 12)...)
	r.force(t, "x")
	r.clock.Advance(-60 * 24 * time.Hour)
	early := call("x", 20)
	early.Time = r.clock.Now()
	r.record(t, early)
	r.force(t, "x")
	assert.EqualValues(t, 13, r.tool(t, "x").Statistics.Total)
	r.clock.Advance(60 * 24 * time.Hour)
	got := r.tool(t, "x")
	assert.EqualValues(t, 13, got.Statistics.Total)
	assert.Zero(t, got.New, "its guideline knows of them all")
}

func TestR16WhatIsLeftOutOfATimeIsSaid(t *testing.T) {
	r := newRig(t, setup{})
	r.clock.Advance(10 * 24 * time.Hour)
	r.record(t, calls("x", 0, 100)...)
	truncated := func(since time.Time, last int) bool {
		resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Tools: []string{"x"}, Since: since, Last: last})
		require.NoError(t, err)
		return resp.Tools[0].Statistics.Truncated
	}
	assert.False(t, truncated(start.Add(-time.Hour), 0), "as many as are read")
	assert.True(t, truncated(start.Add(-time.Hour), 99))
	late := call("x", 200)
	late.Time = start.AddDate(0, 0, -5)
	r.record(t, late)
	assert.True(t, truncated(start.Add(-time.Hour), 0), "the first of them is not read any more")
	assert.False(t, truncated(start.Add(10*time.Second), 0))
	late.Time = start.AddDate(0, -1, 0)
	late.ID = "earlier"
	r.record(t, late)
	assert.False(t, truncated(start.Add(10*time.Second), 0), "other months do not matter")
}

func TestALogThatBeganAnewIsNew(t *testing.T) {
	r := newRig(t, setup{})
	r.record(t, calls("x", 0, 12)...)
	r.force(t, "x")
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	require.NoError(t, r.store.Delete(ctx, p, "tool/x/2026-03"))
	r.record(t, calls("x", 20, 23)...)
	assert.EqualValues(t, 3, r.tool(t, "x").New)
	r.force(t, "x")
	assert.Zero(t, r.tool(t, "x").New)
}

func TestFailuresWithoutAWordAreCounted(t *testing.T) {
	s := toolmem.Measure([]toolmem.Call{{Input: "x", Failed: true}, {Input: math.NaN(), Output: "ok"}})
	assert.Equal(t, []toolmem.ErrorCount{{Class: toolmem.ErrorOther, Calls: 1, Example: "?"}}, s.Errors)
	assert.Equal(t, 1, s.Failed)
	assert.Zero(t, s.Empty)
	asked := toolmem.Call{Input: "what does the log say?", Output: "Error: boom", Score: score(1)}
	assert.Empty(t, toolmem.Measure([]toolmem.Call{asked}).Errors, "somebody judged that it is what was asked for")
}
