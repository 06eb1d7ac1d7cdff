// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// params are ReMe's defaults with a counter of four characters a token.
func params(mode compaction.Mode, change ...func(*compaction.Params)) compaction.Params {
	p := compaction.DefaultParams()
	p.WorkingSummaryMode, p.Budget.Counter, p.Language = mode, chars, backends.English
	p.Model = testkit.New(harbour.reply())
	for _, f := range change {
		f(&p)
	}
	return p
}

func recent(n int) func(*compaction.Params) {
	return func(p *compaction.Params) { p.KeepRecentCount = n }
}

// room gives the agent's model a window of so many tokens.
func room(n int) func(*compaction.Params) {
	return func(p *compaction.Params) { p.Budget.Window, p.Budget.Answer = n, -1 }
}

// reme compacts with ReMe's parameters.
func reme(t testing.TB, p compaction.Params, in []*schema.Message, s *shelf) (*compaction.Result, error) {
	cfg, err := compaction.ReMe(p)
	require.NoError(t, err)
	return compactedWith(t, cfg, in, s)
}

// manual is a system prompt, a user, a call, its result of 100,000 characters, a user.
func manual(line string) []*schema.Message {
	return []*schema.Message{
		schema.SystemMessage("You are a helpful agent."), user("Read the manual."),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"file":"manual"}`}}}),
		schema.ToolMessage(strings.Repeat(line, 1+100_000/len(line))[:100_000], "c1", schema.WithToolName("read")), user("What does it say?"),
	}
}

const pump = "the pump must not run dry.\n"

// toolRounds are rounds with a call each, whose results have size characters.
func toolRounds(from, to, size int) (out []*schema.Message) {
	for n := from; n <= to; n++ {
		id := fmt.Sprint("call", n)
		out = append(out, user(fmt.Sprintf("question %d about the harbour", n)), calls(id), result(id, padded(fmt.Sprintf("result %d of the harbour", n), size)), reply(fmt.Sprintf("answer %d", n)))
	}
	return out
}

// Only the huge result is replaced, and the order kept. Where ReMe does nothing, because
// the result is among the recent messages (the example of its README keeps 2), it is
// replaced all the same.
func TestReMeCompactsAHugeResultHoweverRecent(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		in := manual(pump)
		r, err := reme(t, params(compaction.ModeCompact, recent(n)), in, newShelf(t))
		require.NoError(t, err)
		require.Equal(t, "s u a:c1 t:c1^ u", shapeOf(r.Messages))
		for _, i := range []int{0, 1, 2, 4} {
			require.Same(t, in[i], r.Messages[i])
		}
		m := r.Messages[3]
		require.Contains(t, m.Content, `read({"file":"manual"})`)
		require.Contains(t, m.Content, einox.MarkOf(m).Ref)
		require.NotContains(t, m.Content, "pump", "no preview by default")
		require.Less(t, r.After.Tokens, 150)
		require.Zero(t, r.Usage)
	}
	r, err := reme(t, params(compaction.ModeCompact, func(p *compaction.Params) { p.PreviewCharLength = 20 }), manual(pump), newShelf(t))
	require.NoError(t, err)
	require.Contains(t, r.Messages[3].Content, "the pump must not")
	require.NotContains(t, r.Messages[3].Content, "dry")

	in := append(toolRounds(1, 1, 60_000), toolRounds(2, 2, 60_000)...)
	r, err = reme(t, params(compaction.ModeCompact, recent(4)), in, newShelf(t))
	require.NoError(t, err)
	require.NotEmpty(t, einox.MarkOf(r.Messages[2]).Ref)
	require.Same(t, in[6], r.Messages[6], "recent messages that need not leave stay")
	in = append(toolRounds(1, 1, 7900), user(padded("long", 90_000)))
	r, err = reme(t, params(compaction.ModeCompact, recent(0)), in, newShelf(t))
	require.Error(t, err)
	require.Equal(t, in, r.Messages, "a small result never leaves, however full it is")
	in = slices.Concat(toolRounds(1, 1, 80_000), toolRounds(2, 3, 20_000), []*schema.Message{user("and now?")})
	r, err = reme(t, params(compaction.ModeCompact, recent(5)), in, newShelf(t))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(shapeOf(r.Messages), "^"), "all that are not recent, although the first would do")
}

// Each mode with its parameters, as lists of what comes out.
func TestReMeModes(t *testing.T) {
	// 12 rounds of 2 messages, 1004 tokens each, and a call with a result of 5004
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "c9", Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: "{}"}}})
	history := slices.Insert(talk(t, nil, 12, 4000), 4, call, schema.ToolMessage(padded("found the harbour", 20_000), "c9", schema.WithToolName("search")))
	same := outline(history)
	offloaded := slices.Clone(same)
	offloaded[5] = "tool: [Moved to the archive: the result of search({})"
	compressed := func(from int) []string {
		return append([]string{same[0], "user: summary"}, same[from:]...)
	}
	total := func(n int) func(*compaction.Params) { return func(p *compaction.Params) { p.MaxTotalTokens = n } }
	ratio := func(x float64) func(*compaction.Params) {
		return func(p *compaction.Params) { p.CompactRatioThreshold = x }
	}
	for name, tc := range map[string]struct {
		params compaction.Params
		want   []string
		calls  int
		over   bool
	}{
		"compact":                           {params(compaction.ModeCompact), offloaded, 0, true},
		"compact, tool messages may be big": {params(compaction.ModeCompact, func(p *compaction.Params) { p.MaxToolMessageTokens = 5004 }), same, 0, true},
		"compact, below the total":          {params(compaction.ModeCompact, total(29_200)), same, 0, false},
		"compact, the old below the total":  {params(compaction.ModeCompact, total(24_200)), offloaded, 0, false},
		"compress":                          {params(compaction.ModeCompress, recent(7)), compressed(21), 1, false},
		"compress, cut within a round":      {params(compaction.ModeCompress, recent(6)), compressed(22), 1, false},
		"compress, nothing recent":          {params(compaction.ModeCompress, recent(0)), compressed(27), 1, false},
		"compress in groups":                {params(compaction.ModeCompress, recent(7), func(p *compaction.Params) { p.GroupTokenThreshold = 7000 }), compressed(21), 5, false},
		"compress, the old below the total": {params(compaction.ModeCompress, recent(7), total(23_200), room(40_000)), same, 0, false},
		"auto, compaction suffices":         {params(compaction.ModeAuto, ratio(0.9), room(40_000)), offloaded, 0, false},
		"auto, compaction leaves too much":  {params(compaction.ModeAuto, recent(3)), compressed(25), 1, false},
		"auto, threshold 1":                 {params(compaction.ModeAuto, ratio(1), room(40_000)), offloaded, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := reme(t, tc.params, history, newShelf(t))
			require.Equal(t, tc.over, err != nil, err)
			got := outline(r.Messages)
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " of a blob")
				got[i], _, _ = strings.Cut(got[i], ", about")
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.calls, r.Usage.ModelCalls)
		})
	}
}

// What compaction left is compressed when that is more than its share of what there was,
// and only then: not the originals, and the references survive.
func TestReMeAutoCompressesWhatCompactionLeft(t *testing.T) {
	m := testkit.New(harbour.reply())
	p := params(compaction.ModeAuto, recent(1), func(p *compaction.Params) { p.Model = m })
	r, err := reme(t, p, manual(pump), newShelf(t))
	require.NoError(t, err)
	require.Empty(t, m.Calls(), "a hundredth is left")
	require.Equal(t, schema.Tool, r.Messages[3].Role)

	in := []*schema.Message{schema.SystemMessage("You are a helpful agent."), user("Here is the manual."), reply("Go ahead."), user(manual(pump)[3].Content), user("What does it say?")}
	r, err = reme(t, p, in, newShelf(t))
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1, "compaction cannot make it smaller")
	require.Equal(t, "s u*^ u", shapeOf(r.Messages))

	big := append(toolRounds(1, 1, 300_000), talk(t, nil, 12, 8000)[1:]...)
	for threshold, calls := range map[float64]int{0.75: 0, 0.1: 1} {
		r, err := reme(t, params(compaction.ModeAuto, recent(1), room(200_000), func(p *compaction.Params) { p.CompactRatioThreshold = threshold }), big, newShelf(t))
		require.NoError(t, err)
		require.Equal(t, calls, r.Usage.ModelCalls, threshold)
	}

	m = testkit.New(harbour.reply())
	s := newShelf(t)
	in = slices.Concat(talk(t, nil, 10, 8000)[:21], toolRounds(11, 11, 60_000), []*schema.Message{user("go on"), reply("yes"), user("and now?")})
	r, err = reme(t, params(compaction.ModeAuto, recent(3), func(p *compaction.Params) { p.Model, p.CompactRatioThreshold = m, 0.5 }), in, s)
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1)
	shown := m.Calls()[0][1].Content
	require.NotContains(t, shown, "result 11", "what was offloaded is not put into the prompt again")
	require.Regexp(t, `a-[a-z2-7]{20}`, shown, "the model sees where the result is")
	require.Equal(t, 2, s.puts(), "of compaction, and of compression")
	require.Contains(t, s.held(t, r.Messages[1])[22].Content, "result 11")
}

// When the model fails, the context still fits; where the agent's model takes it anyway, it
// stays as it is.
func TestReMeFallsBackToTheArchive(t *testing.T) {
	for _, mode := range []compaction.Mode{compaction.ModeCompress, compaction.ModeAuto} {
		down := func(p *compaction.Params) { p.Model = testkit.New(testkit.Fail(errRateLimit)) }
		in := talk(t, nil, 20, 8000)
		r, err := reme(t, params(mode, recent(3), down), in, newShelf(t))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(r.Steps, func(s compaction.Report) bool { return s.Step == "summarize_rounds" && s.Err != nil }))
		require.LessOrEqual(t, r.After.Tokens, 20_000)
		r, err = reme(t, params(mode, recent(3), down, room(100_000)), in, newShelf(t))
		require.NoError(t, err)
		require.Equal(t, in, r.Messages)
	}
}

// Wherever the recent messages begin, no result loses its call.
func TestReMeCutsRespectPairs(t *testing.T) {
	in := slices.Concat([]*schema.Message{schema.SystemMessage("You help.")}, toolRounds(1, 8, 20_000), []*schema.Message{user("and now?")})
	s := newShelf(t)
	for n := range 14 {
		r, err := reme(t, params(compaction.ModeCompress, recent(n), room(100_000), func(p *compaction.Params) { p.MaxTotalTokens = 15_000 }), in, s)
		require.NoError(t, err)
		require.Less(t, len(r.Messages), len(in), n)
		require.NoError(t, transcript.Check(r.Messages), n)
		require.GreaterOrEqual(t, len(r.Messages)-2, n, "what is recent stays")
	}
}

// A second compression writes over no archive of the first, and what could not be written
// is not replaced. Nothing that a caller or a model gives is part of a name.
func TestReMeArchivesAreImmutable(t *testing.T) {
	s := newShelf(t)
	p := params(compaction.ModeCompress, recent(1))
	first := append(toolRounds(1, 6, 20_000), user("go on"))
	r, err := reme(t, p, first, s)
	require.NoError(t, err)
	former := r.Messages[0]
	one := s.held(t, former)
	again := slices.Concat(r.Messages, []*schema.Message{reply("going on")}, toolRounds(7, 12, 20_000), []*schema.Message{user("go on")})
	r, err = reme(t, p, again, s)
	require.NoError(t, err)
	require.NotEqual(t, einox.MarkOf(former).Ref, einox.MarkOf(r.Messages[0]).Ref)
	require.Equal(t, one, s.held(t, former))
	back, err := s.Restore(t.Context(), r.Messages)
	require.NoError(t, err)
	require.Equal(t, said(slices.Concat(first, again[2:]), false), said(back, false), "every original comes back, in its order")

	in := append(toolRounds(1, 6, 20_000), user("and now?"))
	for _, mode := range []compaction.Mode{compaction.ModeCompact, compaction.ModeCompress, compaction.ModeAuto} {
		s := newShelf(t)
		s.store.FailOn(errFull, "PutBlob")
		r, err := reme(t, params(mode, recent(1)), in, s)
		require.Error(t, err, "it does not fit")
		require.ErrorIs(t, r.Steps[0].Err, errFull)
		require.Equal(t, in, r.Messages, mode)
	}
	for _, hostile := range []string{"../../../etc/passwd", "c1/../../x", "C:\\temp", "a\x00b", "log-1-999", "{em:x}"} {
		in := manual(pump)
		in[2] = schema.AssistantMessage("", []schema.ToolCall{{ID: hostile, Type: "function", Function: schema.FunctionCall{Name: hostile, Arguments: hostile}}})
		in[3] = schema.ToolMessage(in[3].Content, hostile, schema.WithToolName(hostile))
		r, _ := reme(t, params(compaction.ModeAuto, recent(1), func(p *compaction.Params) {
			p.CompactRatioThreshold, p.MaxTotalTokens, p.Model = 0.0001, 400, testkit.New(answer{Goal: "pump", Facts: []string{"see " + hostile}}.reply())
		}), in, s)
		for _, m := range r.Messages {
			require.Regexp(t, `^(a-[a-z2-7]{20})?$`, einox.MarkOf(m).Ref)
		}
	}
}

// What is offloaded is named by its call and its reference, found by searching and read in
// pages.
func TestReMeOffloadGrepAndPagedRead(t *testing.T) {
	s, in := newShelf(t), manual(pump)
	lines := make([]string, 4000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of the manual", i+1)
	}
	lines[2345] = "the pump must not run dry"
	in[3].Content = strings.Join(lines, "\n")
	r, err := reme(t, params(compaction.ModeCompact), in, s)
	require.NoError(t, err)
	ref := regexp.MustCompile(`a-[a-z2-7]{20}`).FindString(r.Messages[3].Content)
	require.Equal(t, einox.MarkOf(r.Messages[3]).Ref, ref, "what the model reads is what it needs")
	found, err := s.Grep(t.Context(), &archive.GrepRequest{Pattern: "pump", Refs: []string{ref}})
	require.NoError(t, err)
	require.Len(t, found.Matches, 1)
	page, err := s.Read(t.Context(), &archive.ReadRequest{Ref: found.Matches[0].Ref, Line: found.Matches[0].Line - 1, Lines: 3})
	require.NoError(t, err)
	require.Equal(t, "line 2345 of the manual\nthe pump must not run dry\nline 2347 of the manual\n", page.Text)
	var all strings.Builder
	for page = (&archive.Page{More: true}); page.More; {
		page, err = s.Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: page.NextByte, Bytes: 4096})
		require.NoError(t, err)
		all.WriteString(page.Text)
	}
	require.Equal(t, in[3].Content, all.String())
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
		_, err := compaction.ReMe(params(compaction.ModeAuto, change))
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	for _, change := range []func(*compaction.Params){
		func(p *compaction.Params) { p.WorkingSummaryMode, p.Model = compaction.ModeCompact, nil },
		func(p *compaction.Params) { p.KeepRecentCount, p.GroupTokenThreshold = 0, -1 },
		func(p *compaction.Params) { p.Budget.Window = 128_000 },
	} {
		cfg, err := compaction.ReMe(params(compaction.ModeAuto, change))
		require.NoError(t, err)
		_, err = compaction.New(cfg)
		require.NoError(t, err)
		whole, err := cfg.Budget.WithDefaults()
		require.NoError(t, err)
		require.InDelta(t, 20_000, cfg.Trigger*float64(whole.Limit()), 1)
	}
}

// The example of ReMe's README: two messages are kept, and the huge one is the second-last.
func ExampleReMe() {
	p := compaction.DefaultParams()
	p.WorkingSummaryMode = compaction.ModeCompact
	p.KeepRecentCount = 2
	cfg, err := compaction.ReMe(p)
	if err != nil {
		panic(err)
	}
	c, err := compaction.New(cfg)
	if err != nil {
		panic(err)
	}
	call := schema.ToolCall{ID: "c1", Function: schema.FunctionCall{Name: "web_search", Arguments: `{"q":"pumps"}`}}
	result, err := c.Compact(context.Background(), &compaction.Request{
		Messages: []*schema.Message{
			schema.UserMessage("What is known about pumps?"),
			schema.AssistantMessage("", []schema.ToolCall{call}),
			schema.ToolMessage(strings.Repeat("The pump must not run dry. ", 5000), "c1", schema.WithToolName("web_search")),
			schema.AssistantMessage("It must not run dry.", nil),
		},
		Archive: nowhere("a-aaaaaaaaaaaaaaaaaaaa"), // archive.Archives.Of(scope) keeps it in a store
	})
	if err != nil {
		panic(err)
	}
	text, _, _ := strings.Cut(result.Messages[2].Content, ", about")
	fmt.Println(text)
	fmt.Println(result.After.Tokens < 200)
	// Output:
	// [Moved to the archive: the result of web_search({"q":"pumps"})
	// true
}
