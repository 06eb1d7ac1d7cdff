// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]*compaction.Config{
		"no config":        nil,
		"no window":        {},
		"nothing left":     {Budget: budget.Budget{Window: 10, Answer: 10}},
		"a trigger of 2":   {Budget: window(10), Trigger: 2},
		"a trigger below":  {Budget: window(10), Trigger: -0.5},
		"no trigger":       {Budget: window(10), Trigger: math.NaN()},
		"a tiny trigger":   {Budget: window(10), Trigger: 0.01},
		"a nil step":       {Budget: window(10), Steps: []compaction.Step{nil}},
		"another language": {Budget: window(10), Language: "fr"},
	} {
		_, err := compaction.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	c, err := compaction.New(&compaction.Config{Budget: window(10)})
	require.NoError(t, err)
	_, err = c.Compact(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestNewCopiesTheConfig(t *testing.T) {
	cfg := &compaction.Config{Budget: window(100), Steps: []compaction.Step{compaction.DropDerived{}}}
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	require.Zero(t, cfg.Trigger)
	cfg.Steps[0], cfg.Budget.Window = nil, 0
	_, err = c.Compact(t.Context(), &compaction.Request{Messages: []*schema.Message{user(long(200))}})
	require.ErrorIs(t, err, budget.ErrOver)
}

func TestCompactLeavesWhatFits(t *testing.T) {
	s := newShelf()
	in := append(rounds(0, 3), noteOf("n"), user("now"))
	exact := window(1 << 20)
	full, err := compacted(t, exact, in, s)
	require.NoError(t, err)
	out, err := compacted(t, window(full.Before.Tokens), in, s)
	require.NoError(t, err)
	require.Equal(t, in, out.Messages)
	require.Empty(t, out.Steps)
	require.Equal(t, out.Before, out.After)
	require.Zero(t, s.puts)
	out.Messages[0] = nil
	require.NotNil(t, in[0], "the slice is the caller's own")
}

func TestCompactSaysByHowMuchItDoesNotFit(t *testing.T) {
	in := []*schema.Message{system(long(500)), user(long(100))}
	out, err := compacted(t, window(400), in, newShelf())
	var over *budget.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, &budget.OverError{Tokens: 608, Limit: 400}, over)
	require.Equal(t, in, out.Messages, "the best there is")
	require.Equal(t, budget.Usage{Tokens: 608, Limit: 400}, out.After)
	require.Len(t, out.Steps, 5)
}

// Above the trigger the steps run, down to it; between it and the limit that is no
// error.
// A share that is a number of tokens is that number, whatever floating point makes of
// it: 1.0/49*49 is less than 1.
func TestTriggerIsExact(t *testing.T) {
	_, err := compaction.New(&compaction.Config{Budget: window(49), Trigger: 1.0 / 49})
	require.NoError(t, err)
}

func TestCompactTriggers(t *testing.T) {
	in := chatWithResults(3000, 3000)
	for trigger, want := range map[float64]int{1: 0, 0.8: 1, 0.3: 2, 0.01: 2} {
		cfg := &compaction.Config{Budget: window(7000), Trigger: trigger, Steps: []compaction.Step{compaction.OffloadTools{}}}
		out, err := compactedWith(t, cfg, in, newShelf())
		require.NoError(t, err)
		require.Len(t, offloaded(out.Messages), want, trigger)
		require.Equal(t, 7000, out.After.Limit)
	}
}

func TestCompactStopsAtTheFirstStepThatSuffices(t *testing.T) {
	in := append([]*schema.Message{user("a"), noteOf(long(500)), user("a"), thinks(reply("b"), long(500))}, append(rounds(0, 5), user("now"))...)
	out, err := compacted(t, window(600), in, newShelf())
	require.NoError(t, err)
	require.Len(t, out.Steps, 1)
	require.Equal(t, compaction.Report{Step: "drop_derived", Replaced: 2, Saved: out.Before.Tokens - out.After.Tokens}, out.Steps[0])
}

// What memory put in has room of its own.
func TestCompactCountsMemoriesApart(t *testing.T) {
	b := window(100)
	b.Memories = 100
	b.Window += 100
	in := []*schema.Message{noteOf("old"), user("a"), reply("b"), coreOf(long(40)), noteOf(long(40)), user(long(80))}
	out, err := compacted(t, b, in, newShelf())
	require.NoError(t, err)
	require.Equal(t, in, out.Messages)
	in[4] = noteOf(long(60))
	out, err = compacted(t, b, in, newShelf())
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u a u* u* u", shapeOf(out.Messages))
}

// step does anything.
type step struct {
	name string
	do   func(ctx context.Context, c *compaction.Context) error
}

func (s step) Name() string { return s.name }

func (s step) Apply(ctx context.Context, c *compaction.Context) error { return s.do(ctx, c) }

func TestStepsOfOthers(t *testing.T) {
	failure := errors.New("it is Sunday")
	s := newShelf()
	in := []*schema.Message{system("s"), user("a"), reply(long(500)), user("now")}
	out, err := compacted(t, window(300), in, s,
		step{"fails", func(context.Context, *compaction.Context) error { return failure }},
		step{"shortens", func(ctx context.Context, c *compaction.Context) error {
			require.Equal(t, 504, c.Tokens(2))
			require.Equal(t, c.Count(in[2]), c.Tokens(2))
			require.Equal(t, c.Usage().Tokens-300, c.Over())
			require.Equal(t, compaction.LanguageEnglish, c.Language())
			ref, err := c.Put(ctx, c.Messages()[2])
			if err != nil {
				return err
			}
			c.Spend(backends.Usage{ModelCalls: 1, PromptTokens: 2, CompletionTokens: 3, EmbeddedTexts: 4})
			c.Spend(backends.Usage{ModelCalls: 1})
			c.Replace(2, 3, einox.MarkRef(reply("in short"), ref))
			return nil
		}},
		step{"is not reached", func(context.Context, *compaction.Context) error { panic("it fits") }})
	require.NoError(t, err)
	require.Equal(t, "s u a^ u", shapeOf(out.Messages))
	require.Len(t, out.Steps, 2)
	require.ErrorIs(t, out.Steps[0].Err, failure)
	require.EqualError(t, out.Steps[0].Err, "fails: it is Sunday")
	require.Equal(t, 1, out.Steps[1].Replaced)
	require.Equal(t, backends.Usage{ModelCalls: 2, PromptTokens: 2, CompletionTokens: 3, EmbeddedTexts: 4}, out.Usage)
	require.Nil(t, out.Summary)
}

// An archive that says nothing about where things are keeps nothing.
func TestPutWantsAReference(t *testing.T) {
	in := chatWithResults(3000)
	c, err := compaction.New(&compaction.Config{Budget: window(1000)})
	require.NoError(t, err)
	out, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: silent{}})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, in, out.Messages)
	require.ErrorIs(t, out.Steps[1].Err, backends.ErrInvalid)
}

type silent struct{}

func (silent) Put(context.Context, []*schema.Message) (string, error) { return "", nil }

func TestCompactEndsWithItsContext(t *testing.T) {
	c, err := compaction.New(&compaction.Config{Budget: window(1000)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := append(chatWithResults(3000), calls("x"))
	out, err := c.Compact(ctx, &compaction.Request{Messages: in, Archive: newShelf()})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out.Steps)
	require.Len(t, out.Messages, len(in)+1, "valid, if not small")
	out, err = c.Compact(ctx, &compaction.Request{Messages: in[:3]})
	require.NoError(t, err, "there was nothing to do")
	require.Len(t, out.Messages, 4)
}

// A summary that a step makes is told of as it is, even when a free step archives it
// later; not when it was taken away.
func TestResultSummary(t *testing.T) {
	summarises := func(tokens int) compaction.Step {
		return step{"summarises", func(ctx context.Context, c *compaction.Context) error {
			ref, err := c.Put(ctx, c.Messages()[:2]...)
			require.NoError(t, err)
			m := schema.UserMessage("The harbour was found. " + long(tokens))
			einox.MarkSummary(m)
			c.Replace(0, 2, einox.MarkSeq(einox.MarkRef(m, ref), 2))
			c.Summarised(&compaction.Summary{Text: m.Content, Upto: 2})
			return nil
		}}
	}
	in := []*schema.Message{user("a"), reply(long(300)), user("b"), reply(long(300)), user("now")}
	for i := range in {
		in[i] = einox.MarkSeq(in[i], int64(i+1))
	}
	out, err := compacted(t, window(400), in, newShelf(), summarises(10))
	require.NoError(t, err)
	require.Equal(t, &compaction.Summary{Text: out.Messages[0].Content, Upto: 2}, out.Summary)

	out, err = compacted(t, window(400), in, newShelf(), summarises(200), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, &compaction.Summary{Text: "The harbour was found. " + long(200), Upto: 2}, out.Summary, "what no summary tells of is not behind one")
	require.EqualValues(t, 4, einox.SeqOf(out.Messages[0]))

	gone := step{"takes it away", func(_ context.Context, c *compaction.Context) error { c.Replace(0, 1); return nil }}
	c, err := compaction.New(&compaction.Config{Budget: window(400), Steps: []compaction.Step{summarises(200), gone}})
	require.NoError(t, err)
	out, err = c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: newShelf()})
	require.NoError(t, err)
	require.Nil(t, out.Summary)
}
