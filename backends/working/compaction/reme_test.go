// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// remeParams are ReMe's defaults with its counter.
func remeParams(mode compaction.Mode, change ...func(*compaction.Params)) compaction.Params {
	p := compaction.DefaultParams()
	p.WorkingSummaryMode = mode
	p.Budget.Counter = compaction.ReMeCounter
	p.Language = compaction.LanguageEnglish
	for _, f := range change {
		f(&p)
	}
	return p
}

func remeOf(t *testing.T, p compaction.Params) *compaction.Compactor {
	t.Helper()
	cfg, err := compaction.ReMe(p)
	require.NoError(t, err)
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	return c
}

func recent(n int) func(*compaction.Params) {
	return func(p *compaction.Params) { p.KeepRecentCount = n }
}

// hugeTool is fixture F3: a system prompt, a user, a call, its result of 100,000
// characters, a user.
func hugeTool() []*schema.Message {
	return []*schema.Message{
		schema.SystemMessage("You are a helpful agent."), schema.UserMessage("Read the manual."),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"file":"manual"}`}}}),
		schema.ToolMessage(strings.Repeat("the pump must not run dry.\n", 3704)[:100_000], "c1", schema.WithToolName("read")),
		schema.UserMessage("What does it say?"),
	}
}

// hugeUser is what fixture F4 has instead: a long text of the user's.
func hugeUser() []*schema.Message {
	return []*schema.Message{
		schema.SystemMessage("You are a helpful agent."), schema.UserMessage("Here is the manual."), schema.AssistantMessage("Go ahead.", nil),
		schema.UserMessage(strings.Repeat("the pump must not run dry. ", 3704)[:100_000]), schema.UserMessage("What does it say?"),
	}
}

var pump = answer{Goal: "know the manual", Facts: []string{"the pump must not run dry"}}

// Fixture F3: only the tool message is replaced, and the order kept. Where ReMe does
// nothing, because the tool message is recent, it is replaced all the same.
func TestF3(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		in, v := hugeTool(), newVault()
		r, err := remeOf(t, remeParams(compaction.ModeCompact, recent(n))).Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
		require.NoError(t, err)
		require.Len(t, r.Messages, 5)
		for _, i := range []int{0, 1, 2, 4} {
			require.Same(t, in[i], r.Messages[i])
		}
		m := r.Messages[3]
		require.Equal(t, "c1", m.ToolCallID)
		require.Contains(t, m.Content, `read({"file":"manual"})`)
		require.Contains(t, m.Content, einox.RefOf(m))
		require.NotContains(t, m.Content, "pump", "no preview by default")
		require.Equal(t, in[3:4], v.held[einox.RefOf(m)])
		require.Less(t, r.After.Tokens, 150)
		require.Zero(t, r.Usage)
	}
}

// Fixture F4: what compaction left is a hundredth, so nothing is summarised; what it
// cannot make smaller is.
func TestF4(t *testing.T) {
	m := testkit.New(pump.calls(t))
	p := remeParams(compaction.ModeAuto, recent(1), func(p *compaction.Params) { p.Model = m })
	r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: hugeTool(), Archive: newVault()})
	require.NoError(t, err)
	require.Empty(t, m.Calls())
	require.Equal(t, schema.Tool, r.Messages[3].Role)

	v := newVault()
	in := hugeUser()
	r, err = remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1)
	require.Equal(t, []string{"system: You are a helpful agent.", "user: summary of " + v.order[len(v.order)-1], "user: What does it say?"}, outline(r.Messages))
	require.Contains(t, r.Messages[1].Content, "the pump must not run dry")
}

// R19: each mode with its parameters, as lists of what comes out.
func TestR19(t *testing.T) {
	// 12 rounds of 2 messages, 1000 tokens each, and a call with a result of 5000
	history := func() []*schema.Message {
		in := chat(12, 4000)
		id := "c9"
		call := schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: "{}"}}})
		return append(in[:4:4], append([]*schema.Message{call, schema.ToolMessage(padded("found the harbour", 20_000), id, schema.WithToolName("search"))}, in[4:]...)...)
	}
	rounds := func(from, to int) (out []string) {
		for n := from; n <= to; n++ {
			out = append(out, fmt.Sprintf("user: question %d about the harbour", n), fmt.Sprintf("assistant: answer %d about the harbour", n))
		}
		return out
	}
	list := func(parts ...[]string) (out []string) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	system, last := []string{"system: You are a helpful agent."}, []string{"user: and now?"}
	same := outline(history())
	offloaded := append([]string{}, same...)
	offloaded[5] = "tool: [Moved to the archive: the result of search({})"
	for name, tc := range map[string]struct {
		params compaction.Params
		want   []string
		calls  int
		over   bool
	}{
		"compact":                           {remeParams(compaction.ModeCompact), offloaded, 0, true},
		"compact, tool messages may be big": {remeParams(compaction.ModeCompact, func(p *compaction.Params) { p.MaxToolMessageTokens = 5000 }), same, 0, true},
		"compact, below the total":          {remeParams(compaction.ModeCompact, func(p *compaction.Params) { p.MaxTotalTokens = 29_100 }), same, 0, false},
		"compact, the old below the total":  {remeParams(compaction.ModeCompact, func(p *compaction.Params) { p.MaxTotalTokens = 24_100 }), offloaded, 0, false},
		"compress":                          {remeParams(compaction.ModeCompress, recent(7)), list(system, []string{"user: summary"}, rounds(10, 12), last), 1, false},
		"compress, cut within a round":      {remeParams(compaction.ModeCompress, recent(6)), list(system, []string{"user: summary"}, rounds(10, 12)[1:], last), 1, false},
		"compress, nothing recent":          {remeParams(compaction.ModeCompress, recent(0)), list(system, []string{"user: summary"}, last), 1, false},
		"compress in groups": {remeParams(compaction.ModeCompress, recent(7), func(p *compaction.Params) { p.GroupTokenThreshold = 7000 }),
			list(system, []string{"user: summary"}, rounds(10, 12), last), 5, false},
		"compress, the old below the total": {remeParams(compaction.ModeCompress, recent(7), func(p *compaction.Params) { p.MaxTotalTokens = 23_100; p.Budget.Window = 40_000; p.Budget.Answer = -1 }), same, 0, false},
		"auto, compaction suffices": {remeParams(compaction.ModeAuto, func(p *compaction.Params) {
			p.CompactRatioThreshold = 0.9
			p.Budget.Window = 40_000
			p.Budget.Answer = -1
		}),
			offloaded, 0, false},
		"auto, compaction leaves too much": {remeParams(compaction.ModeAuto, recent(3)), list(system, []string{"user: summary"}, rounds(12, 12), last), 1, false},
		"auto, threshold 1": {remeParams(compaction.ModeAuto, func(p *compaction.Params) {
			p.CompactRatioThreshold = 1
			p.Budget.Window = 40_000
			p.Budget.Answer = -1
		}), offloaded, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := testkit.New(harbour.calls(t))
			tc.params.Model = m
			v := newVault()
			r, err := remeOf(t, tc.params).Compact(t.Context(), &compaction.Request{Messages: history(), Archive: v})
			if tc.over {
				require.ErrorIs(t, err, budget.ErrOver)
			} else {
				require.NoError(t, err)
			}
			got := outline(r.Messages)
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " of a-")
				got[i], _, _ = strings.Cut(got[i], " of log-")
				got[i], _, _ = strings.Cut(got[i], ", about")
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.calls, r.Usage.ModelCalls, asked(m))
			require.NoError(t, transcript.Check(r.Messages))
		})
	}
}

// All large results leave that are not recent, when they are too large together,
// although the first would do; a recent one does not when they suffice.
func TestCompactOffloadsAllThatAreNotRecent(t *testing.T) {
	in := append(toolRounds(1, 1, 80_000), append(toolRounds(2, 3, 20_000), schema.UserMessage("and now?"))...)
	r, err := remeOf(t, remeParams(compaction.ModeCompact, recent(5))).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.NotEmpty(t, einox.RefOf(r.Messages[2]))
	require.NotEmpty(t, einox.RefOf(r.Messages[6]))
	require.Same(t, in[10], r.Messages[10])
}

// What compaction left is not compressed when it gained enough, however much that
// is.
func TestAutoRatio(t *testing.T) {
	in := append(toolRounds(1, 1, 300_000), chat(12, 8000)[1:]...)
	for threshold, calls := range map[float64]int{0.75: 0, 0.1: 1} {
		m := testkit.New(harbour.calls(t))
		p := remeParams(compaction.ModeAuto, recent(1), func(p *compaction.Params) {
			p.Model, p.CompactRatioThreshold, p.Budget.Window, p.Budget.Answer = m, threshold, 200_000, -1
		})
		r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
		require.NoError(t, err)
		require.Equal(t, calls, r.Usage.ModelCalls)
	}
}

func TestReMePreview(t *testing.T) {
	p := remeParams(compaction.ModeCompact, func(p *compaction.Params) { p.PreviewCharLength = 20 })
	r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: hugeTool(), Archive: newVault()})
	require.NoError(t, err)
	require.Contains(t, r.Messages[3].Content, "the pump must not")
	require.NotContains(t, r.Messages[3].Content, "dry")
}

// When the model fails, the context still fits.
func TestReMeLastResort(t *testing.T) {
	for _, mode := range []compaction.Mode{compaction.ModeCompress, compaction.ModeAuto} {
		p := remeParams(mode, recent(3), func(p *compaction.Params) { p.Model = testkit.New(testkit.Fail(errRateLimit)) })
		r, err := remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: chat(20, 8000), Archive: newVault()})
		require.NoError(t, err)
		require.ErrorIs(t, r.Steps[0].Err, errRateLimit)
		require.LessOrEqual(t, r.After.Tokens, 20_000)

		p.Budget.Window, p.Budget.Answer = 100_000, -1 // the model takes it
		in := chat(20, 8000)
		r, err = remeOf(t, p).Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
		require.NoError(t, err)
		require.Equal(t, in, r.Messages)
	}
}

func TestReMeParams(t *testing.T) {
	require.Equal(t, compaction.Params{
		WorkingSummaryMode: "auto", CompactRatioThreshold: 0.75, MaxTotalTokens: 20_000, MaxToolMessageTokens: 2000, GroupTokenThreshold: 0, KeepRecentCount: 10, PreviewCharLength: 0,
	}, compaction.DefaultParams())
	for name, change := range map[string]func(*compaction.Params){
		"zero":             func(p *compaction.Params) { *p = compaction.Params{} },
		"mode":             func(p *compaction.Params) { p.WorkingSummaryMode = "summary" },
		"ratio":            func(p *compaction.Params) { p.CompactRatioThreshold = 0 },
		"ratio NaN":        func(p *compaction.Params) { p.CompactRatioThreshold = math.NaN() },
		"total":            func(p *compaction.Params) { p.MaxTotalTokens = 0 },
		"tool message":     func(p *compaction.Params) { p.MaxToolMessageTokens = -1 },
		"recent":           func(p *compaction.Params) { p.KeepRecentCount = -1 },
		"preview":          func(p *compaction.Params) { p.PreviewCharLength = -1 },
		"no model":         func(p *compaction.Params) { p.Model = nil },
		"summary window":   func(p *compaction.Params) { p.SummaryWindow = -1 },
		"window":           func(p *compaction.Params) { p.Budget.Window = -5 },
		"total over limit": func(p *compaction.Params) { p.Budget.Window = 20_000 },
	} {
		_, err := compaction.ReMe(remeParams(compaction.ModeAuto, func(p *compaction.Params) { p.Model = testkit.New() }, change))
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	for _, change := range []func(*compaction.Params){
		func(p *compaction.Params) { p.WorkingSummaryMode = compaction.ModeCompact }, // without a model
		func(p *compaction.Params) { p.KeepRecentCount, p.GroupTokenThreshold, p.Model = 0, -1, testkit.New() },
		func(p *compaction.Params) { p.Budget.Window, p.Model = 128_000, testkit.New() },
	} {
		cfg, err := compaction.ReMe(remeParams(compaction.ModeAuto, change))
		require.NoError(t, err)
		_, err = compaction.New(cfg)
		require.NoError(t, err)
		whole, err := cfg.Budget.WithDefaults()
		require.NoError(t, err)
		require.InDelta(t, 20_000, cfg.Trigger*float64(whole.Limit()), 1)
	}
}

func TestReMeCounter(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *schema.Message
		want int
	}{
		"nil":       {nil, 0},
		"empty":     {schema.UserMessage(""), 0},
		"rounds up": {schema.UserMessage("hello"), 2},
		"chinese":   {schema.UserMessage("你好世界"), 1},
		"reasoning": {&schema.Message{Content: "ab", ReasoningContent: "cd"}, 1},
		"calls":     {schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: strings.Repeat("x", 400)}}}), 0},
		"parts":     {&schema.Message{UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: strings.Repeat("x", 400)}}}, 1},
	} {
		require.Equal(t, tc.want, compaction.ReMeCounter.Message(tc.m), name)
	}
	require.Equal(t, 3, compaction.ReMeCounter.Text("nine char"))
}
