// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/store"
)

// What is clipped begins and ends as it did, says how much is missing, and stays UTF-8.
func TestClipped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "limit")
		got := clip(s, limit)
		if len(s) <= limit {
			require.Equal(t, s, got)
			return
		}
		require.True(t, utf8.ValidString(got))
		var missing int
		head, rest, ok := strings.Cut(got, " …[")
		require.True(t, ok && strings.HasPrefix(s, head))
		_, err := fmt.Sscanf(rest, "%d bytes left out]…", &missing)
		if err != nil { // the text itself holds the mark
			return
		}
		_, tail, _ := strings.Cut(rest, "]… ")
		require.True(t, strings.HasSuffix(s, tail))
		require.Equal(t, len(s), len(head)+missing+len(tail))
		require.LessOrEqual(t, len(head)+len(tail), limit)
	})
}

func TestCutBackIsABoundary(t *testing.T) {
	for i := range len("a长b") + 1 {
		assert.True(t, utf8.ValidString("a长b"[:cutBack("a长b", i)]), i)
		assert.True(t, utf8.ValidString("a长b"[cutAhead("a长b", i):]), i)
	}
	assert.Zero(t, cutBack("", 0))
}

// Names of logs are legal, tell tools and months apart, and are read back.
func TestNamesOfLogs(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		tool, err := toolName(rapid.StringN(1, 90, 512).Draw(t, "tool"))
		if err != nil {
			return
		}
		id := logName(tool, "2026-03")
		require.NoError(t, store.ValidateSession(id), id)
		if other, ok := seen[id]; ok {
			require.Equal(t, other, tool, "two tools share a log")
		}
		seen[id] = tool
		require.NotEqual(t, id, logName(tool, "2026-04"))
		back, ok := logTool(id)
		require.True(t, ok)
		if back != "" {
			require.Equal(t, tool, back)
		}
	})
	for _, id := range []string{"", "x", "tool/x", "tool/x/2026", "tool/x/2026-13", "tool/x/y/2026-03", "tool/%zz/2026-03", "Tool/x/2026-03"} {
		_, ok := logTool(id)
		assert.False(t, ok, id)
	}
}

// Every time that is kept falls into a month that is read.
func TestMonthsCoverWhatIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(1.6e9, 2e9).Draw(t, "now"), 0)
		keep := time.Duration(rapid.Int64Range(1, int64(maxKeep)).Draw(t, "keep"))
		all := months(now, keep)
		require.True(t, slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }), "newest first")
		require.Len(t, slices.Compact(slices.Clone(all)), len(all))
		when := now.Add(-time.Duration(rapid.Int64Range(-int64(skew), int64(keep)).Draw(t, "age")))
		require.Contains(t, all, monthOf(when))
		require.LessOrEqual(t, len(all), int(keep/(28*24*time.Hour))+3)
	})
}

func TestAnInputKeepsItsSizeInBounds(t *testing.T) {
	for _, v := range []any{
		strings.Repeat("x", 9999), map[string]any{"a": strings.Repeat("x", 9999), "n": 1}, map[string]any{strings.Repeat("k", 9999): 1},
		slices.Repeat([]any{"word"}, 9999), []any{map[string]any{"deep": []any{strings.Repeat("长", 5000)}}}, map[string]any{"ok": true}, nil,
	} {
		got := clipInput(v, 500)
		assert.LessOrEqual(t, size(got), 2*500+80, "escapes may double a text")
		if size(v) <= 500 {
			assert.Equal(t, v, got)
		}
	}
}

func TestWhatSaysNothing(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \n": true, "No results": true, "no matching records found.": true, "Sorry, no data available": true, "0 results found": true, "No results found for 'tea'": true,
		"暂无数据": true, "查无结果": false, "没有相关内容。": true, "{}": true, `{"items": null}`: true, `""`: true, "N/A": true,
		"No, it is open.": false, "nothing is impossible": false, `{"results": [1]}`: false, "[0]": false, "没有问题": false, strings.Repeat("no results ", 60): false,
	} {
		assert.Equal(t, want, saysNothing(text), text)
	}
}

func TestRoundedAsPythonRounds(t *testing.T) {
	for _, tc := range []struct {
		f        float64
		decimals int
		want     float64
	}{{2.0 / 3, 4, 0.6667}, {0.5, 0, 0}, {1.5, 0, 2}, {2.675, 2, 2.67}, {1.0 / 3, 3, 0.333}, {0, 2, 0}, {1e300, 2, 1e300}} {
		assert.Equal(t, tc.want, round(tc.f, tc.decimals), tc.f)
	}
}

// A model that calls the tool once a verdict has answered all the same.
func TestVerdictsOfSeveralCallsAreOneAnswer(t *testing.T) {
	call := func(arguments string) schema.ToolCall {
		return schema.ToolCall{Function: schema.FunctionCall{Name: toolJudge, Arguments: arguments}}
	}
	into := make([]*verdict, 2)
	require.NoError(t, readVerdicts(schema.AssistantMessage("", []schema.ToolCall{
		call(`{"verdicts":[{"n":0,"score":1,"summary":"s","evaluation":"e"}]}`), call(`{"verdicts":[{"n":1,"score":0,"summary":"s","evaluation":"e"}]}`),
	}), into))
	require.InDelta(t, 1, into[0].score, 0)
	require.InDelta(t, 0, into[1].score, 0)
}
