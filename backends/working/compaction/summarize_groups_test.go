// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

var questions = regexp.MustCompile(`question \d+`)

// asked returns which questions each call of the model was shown.
func asked(m *testkit.Chat) [][]string {
	var out [][]string
	for _, call := range m.Calls() {
		_, shown, _ := strings.Cut(call[1].Content, "<messages>")
		out = append(out, questions.FindAllString(shown, -1))
	}
	return out
}

// Groups are whole rounds, oldest first; the step ends once the context fits.
func TestGroups(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, GroupTokens: 600}).
		Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: v})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"question 1", "question 2"}, {"question 3", "question 4"}}, asked(m))
	require.Equal(t, []string{"log-1-4", "log-1-8"}, v.order)
	require.Equal(t, "user: summary of log-1-8", outline(r.Messages)[1])
	require.Contains(t, r.Messages[1].Content, "place of 8 earlier messages")
	require.EqualValues(t, 8, r.Summary.Upto)
}

// A tokenizer may find more in the reference than in its draft.
func TestSummaryThatIsNotSmallerAfterAll(t *testing.T) {
	v := newVault()
	b := exactly(1600)
	b.Counter = budget.Tokenizer(func(s string) int { return (len([]rune(s))+3)/4 + 10_000*strings.Count(s, "a-bbbb") })
	c, err := compaction.New(&compaction.Config{Budget: b, Steps: []compaction.Step{compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000}}})
	require.NoError(t, err)
	in := chat(10, 400)
	in[3] = schema.UserMessage(padded("question 2, which the log has not", 400))
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.Error(t, err)
	require.ErrorIs(t, r.Steps[0].Err, backends.ErrModel)
	require.Equal(t, in, r.Messages)
	require.NotEmpty(t, v.held)
}

// A summary that was folded into one that reaches no place in the log is not told
// of: it is not in the context any more.
func TestSummaryThatLeftAgain(t *testing.T) {
	in := chat(10, 400)
	in[7] = schema.UserMessage(padded("question 4, which the log has not", 400))
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000, GroupTokens: 500}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Equal(t, 2, r.Usage.ModelCalls)
	require.Zero(t, einox.SeqOf(r.Messages[1]))
	require.Nil(t, r.Summary)
}

// What was summarised before the model failed stands.
func TestFailureAtALaterGroup(t *testing.T) {
	m := testkit.New(harbour.calls(t), testkit.Fail(errRateLimit))
	r, err := compactorOf(t, 1000, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, GroupTokens: 500}, compaction.ArchiveRounds{}).
		Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.ErrorIs(t, r.Steps[0].Err, errRateLimit)
	require.Equal(t, 4, r.Steps[0].Replaced)
	require.NoError(t, err, "the free step does the rest")
	require.NoError(t, transcript.Check(r.Messages))
	require.Contains(t, r.Messages[1].Content, "the harbour is closed", "what was summarised is not lost to the model")
}

func TestFullArchive(t *testing.T) {
	v := newVault()
	v.full = true
	r, sum := summarised(t, testkit.New(harbour.calls(t)), v)
	require.Nil(t, sum)
	require.Nil(t, r.Summary)
	require.ErrorIs(t, r.Steps[0].Err, errFull)
}

// An exchange that is larger than the window of the summarising model is shown
// without its middle; the archive has all of it.
func TestOversizedExchange(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	in := work(4, 800)
	in[3] = schema.ToolMessage("the beginning of the harbour "+strings.Repeat("<middle> ", 5000)+" the end", "call1", schema.WithToolName("search"))
	r, err := compactorOf(t, 4000, compaction.SummarizeCurrent{Model: m, KeepShare: 0.1, SummaryWindow: 1200}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err, r.Steps)
	require.Len(t, m.Calls(), 1, "a group alone suffices")
	shown := m.Calls()[0][1].Content
	require.Regexp(t, `"text":"the beginning of the harbour .*\[… \d+ characters left out …\].* the end"`, shown)
	require.NotContains(t, shown, "page 2")
	total := 0
	for _, m := range m.Calls()[0] {
		total += quarters.Message(m)
	}
	require.Less(t, total, 1200)
	require.Equal(t, in[2:4], v.held[einox.RefOf(r.Messages[2])])
}

// So is one with several results.
func TestOversizedParallelCalls(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := work(3, 800)
	in[2].ToolCalls = append(in[2].ToolCalls, schema.ToolCall{ID: "more", Function: schema.FunctionCall{Name: "search", Arguments: "{}"}})
	in[3].Content = "the harbour " + strings.Repeat("<first> ", 3000)
	in = append(in[:4:4], append([]*schema.Message{schema.ToolMessage("the master "+strings.Repeat("<second> ", 3000), "more", schema.WithToolName("search"))}, in[4:]...)...)
	_, err := compactorOf(t, 4000, compaction.SummarizeCurrent{Model: m, KeepShare: 0.1, SummaryWindow: 1200}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	total := 0
	for _, m := range m.Calls()[0] {
		total += quarters.Message(m)
	}
	require.Less(t, total, 1200)
	require.Contains(t, m.Calls()[0][1].Content, "the harbour")
	require.Contains(t, m.Calls()[0][1].Content, "the master")
}

func TestWindowTooSmall(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	r, _ := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 600}).
		Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.ErrorIs(t, r.Steps[0].Err, backends.ErrInvalid)
	require.Empty(t, m.Calls())
}

// A call never loses its results, however the cut would fall.
func TestCutsBetweenExchanges(t *testing.T) {
	for recent := 1; recent < 12; recent++ {
		t.Run(fmt.Sprint(recent), func(t *testing.T) {
			in := work(6, 1200)
			both := []compaction.Step{
				compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000, KeepRecent: recent},
				compaction.SummarizeCurrent{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000, KeepRecent: recent},
			}
			past := append(append(append([]*schema.Message{}, in...), schema.AssistantMessage("I found nobody.", nil)), schema.UserMessage("go on"))
			for _, messages := range [][]*schema.Message{in, past} {
				r, _ := compactorOf(t, 300, both...).Compact(t.Context(), &compaction.Request{Messages: messages, Archive: newVault()})
				require.NoError(t, transcript.Check(r.Messages))
				kept := len(r.Messages) - 2
				if len(r.Messages) < len(messages) {
					require.GreaterOrEqual(t, kept, recent)
				}
				require.Equal(t, messages[len(messages)-min(recent, len(messages)-1):], r.Messages[len(r.Messages)-min(recent, len(messages)-1):])
			}
		})
	}
}

// What stays divides what is summarised: nothing moves past it.
func TestWhatStaysDivides(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := chat(12, 400)
	in = append(in[:9:9], append([]*schema.Message{schema.SystemMessage("From now on speak softly.")}, in[9:]...)...)
	r, err := compactorOf(t, 1000, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Equal(t, []string{
		"system: You are a helpful agent.", "user: summary of log-1-8", "system: From now on speak softly.", "user: summary of a-cccccccccccccccccccc",
		"user: question 12 about the harbour", "assistant: answer 12 about the harbour", "user: and now?",
	}, outline(r.Messages))
	require.EqualValues(t, 8, r.Summary.Upto, "that of the beginning")
}

// A turn that was resumed has several user messages; all of them stay.
func TestUserMessagesOfTheRunningTurnStay(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := work(4, 2000)
	in[1] = einox.MarkTurn(in[1], "t1")
	in = append(in[:6:6], append([]*schema.Message{einox.MarkTurn(schema.UserMessage("approved"), "t1")}, in[6:]...)...)
	r, err := compactorOf(t, 1000, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000, KeepShare: 0.1}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Equal(t, []string{
		"system: You are a helpful agent.", "user: Find the harbour master.", "user: summary of a-bbbbbbbbbbbbbbbbbbbb", "user: approved",
		"user: summary of a-cccccccccccccccccccc", `assistant: search{"page":4}`, "tool: page 4 says the harbour is closed",
	}, outline(r.Messages))
}

// Notes of a search were not said by anybody: they are neither shown to the model
// nor kept.
func TestNotesAreNotSummarised(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	in := chat(10, 400)
	note := schema.UserMessage("the user likes tea")
	einox.MarkNote(note)
	in = append(in[:3:3], append([]*schema.Message{note}, in[3:]...)...)
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.NotContains(t, m.Calls()[0][1].Content, "tea")
	require.NotContains(t, v.held["log-1-14"], note)
	require.NotContains(t, r.Messages, note)
}

// One that was put into the running round stays.
func TestNotesOfTheRunningRoundStay(t *testing.T) {
	in := work(6, 2000)
	note := schema.UserMessage("the user likes tea")
	einox.MarkNote(note)
	in = append(in[:4:4], append([]*schema.Message{note}, in[4:]...)...)
	r, err := compactorOf(t, 1000, compaction.SummarizeCurrent{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000, KeepShare: 0.1}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err, r.Steps)
	require.Same(t, note, r.Messages[3])
	require.True(t, einox.IsSummary(r.Messages[2]))
	require.True(t, einox.IsSummary(r.Messages[4]))
}

// A group in which there is hardly anything is not worth a call.
func TestNothingToGain(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := append(chat(1, 200)[:3], schema.UserMessage(padded("long", 4000)))
	r, err := compactorOf(t, 900, compaction.SummarizeRounds{Model: m}, compaction.SummarizeCurrent{Model: m}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.Error(t, err)
	require.Empty(t, m.Calls())
	require.Equal(t, in, r.Messages)
}

func TestSummarizeSettings(t *testing.T) {
	m := testkit.New()
	for name, s := range map[string]compaction.Summarize{
		"no model": {}, "share 1": {Model: m, KeepShare: 1}, "share below 0": {Model: m, KeepShare: -0.1}, "group": {Model: m, GroupTokens: -1},
		"recent": {Model: m, KeepRecent: -1}, "window": {Model: m, SummaryWindow: -1}, "tokens": {Model: m, SummaryTokens: -1},
	} {
		for _, step := range []compaction.Step{compaction.SummarizeRounds(s), compaction.SummarizeCurrent(s)} {
			_, err := compaction.New(&compaction.Config{Budget: exactly(1000), Steps: []compaction.Step{step}})
			require.ErrorIs(t, err, backends.ErrInvalid, name)
			require.ErrorContains(t, err, step.Name(), name)
		}
	}
	steps := []compaction.Step{compaction.SummarizeRounds{Model: m}}
	_, err := compaction.New(&compaction.Config{Budget: exactly(1000), Steps: steps})
	require.NoError(t, err)
	require.Equal(t, compaction.SummarizeRounds{Model: m}, steps[0], "the caller's configuration is not changed")
}

// A model that cannot be given tools is no reason to fail later.
func TestToolsRefused(t *testing.T) {
	_, err := compaction.New(&compaction.Config{Budget: exactly(1000), Steps: []compaction.Step{compaction.SummarizeRounds{Model: toolless{testkit.New()}}}})
	require.ErrorIs(t, err, errToolless)
}

type toolless struct{ *testkit.Chat }

var errToolless = fmt.Errorf("no tools here")

// WithTools implements [model.ToolCallingChatModel].
func (toolless) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return nil, errToolless
}

func TestDefault(t *testing.T) {
	names := func(steps []compaction.Step) (out []string) {
		for _, s := range steps {
			out = append(out, s.Name())
		}
		return out
	}
	require.Equal(t, names(compaction.Free()), names(compaction.Default(nil)))
	require.Equal(t, []string{"drop_derived", "offload_tools", "offload_messages", "summarize_rounds", "summarize_current", "archive_rounds", "archive_current"},
		names(compaction.Default(testkit.New())))
}

// Used by itself, a step works as in a compactor, but remembers nothing.
func TestStepAlone(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	c := compactorOf(t, 1600, alone{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}})
	for range 2 {
		_, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
		require.NoError(t, err)
	}
	require.Len(t, m.Calls(), 2)
}

type alone struct{ step compaction.Step }

// Name implements [compaction.Step].
func (alone) Name() string { return "alone" }

// Apply implements [compaction.Step].
func (a alone) Apply(ctx context.Context, c *compaction.Context) error { return a.step.Apply(ctx, c) }
