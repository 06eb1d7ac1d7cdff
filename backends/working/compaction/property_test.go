// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

// cases runs a property on so many hundreds of cases, on ten times as many with
// EINOMEM_LONG=1. Each hundred is a test of its own, so that -run repeats a part.
func cases(t *testing.T, hundreds int, property func(t *rapid.T, w *world)) {
	if os.Getenv("EINOMEM_LONG") == "1" {
		hundreds *= 10
	}
	w := newWorld(t)
	for i := range hundreds {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { property(t, w) }) })
	}
}

// Whatever the history, the budget and the steps: what comes out is taken by
// providers, fits or says truly that it cannot, keeps what it must, and everything
// that left can be read, found and brought back.
func TestPropertyCompaction(t *testing.T) {
	cases(t, 10, func(t *rapid.T, w *world) {
		c := w.begin(t)
		defer c.end()
		h := transcript.New(drawn.Source(t), &transcript.Shape{Broken: rapid.Bool().Draw(t, "broken"), Logged: true, Tokens: 1500})
		c.keep(h.Log)
		plan := drawPlan(t, h.Messages)
		c.compact(plan, h.Messages, c.repaired(h.Messages))
	})
}

// A context that was compacted goes on, and is compacted again and again, as that
// of an agent does: nothing is lost on the way.
func TestPropertyCompactionOfACompactedContext(t *testing.T) {
	cases(t, 2, func(t *rapid.T, w *world) {
		c := w.begin(t)
		defer c.end()
		src := drawn.Source(t)
		h := transcript.New(src, &transcript.Shape{Rounds: 3, Logged: true, Tokens: 800})
		c.keep(h.Log)
		plan := drawPlan(t, h.Messages)
		now := h.Messages
		for range rapid.IntRange(2, 4).Draw(t, "times") {
			repaired := c.repaired(now)
			whole := c.restored(repaired)
			result := c.compact(plan, now, repaired)
			c.same(whole, c.restored(result.Messages), "all of the conversation so far")
			now = slices.Clone(result.Messages)
			for _, m := range transcript.New(src, &transcript.Shape{Rounds: 2, Tokens: 800}).Messages {
				if m.Role != schema.System && !einox.IsCore(m) {
					now = append(now, m)
				}
			}
		}
	})
}

// compact compacts and checks everything. repaired is the context as it would be
// with room for all of it.
func (c *scene) compact(p *plan, messages, repaired []*schema.Message) *compaction.Result {
	t := c.t
	config, err := p.config(c.w.chat(p))
	require.NoError(t, err)
	compactor, err := compaction.New(config)
	require.NoError(t, err)
	before := each(t, messages)
	kept := &keeper{archive: c.archive, fails: p.fails}
	result, err := compactor.Compact(t.Context(), &compaction.Request{Messages: messages, Archive: kept})
	require.NotNil(t, result)
	equal(t, before, each(t, messages), "neither the slice nor a message is changed")

	require.NoError(t, transcript.Check(result.Messages), "providers take it")
	c.fits(p, repaired, result, err)
	c.intact(repaired, result)
	c.readable(messages, result)
	c.same(c.restored(repaired), c.restored(result.Messages), "all comes back, in its order")
	c.counted(p, repaired, result)
	c.summed(result)
	if p.fails == 1 {
		require.Equal(t, standIns(repaired), standIns(result.Messages), "nothing could be stored, and nothing was replaced")
	}
	c.stable(p, compactor, kept, messages, result)
	return result
}

// summed checks that a summary that is to be kept with the session covers only
// what the log holds, and nothing that stays.
func (c *scene) summed(r *compaction.Result) {
	if r.Summary == nil {
		return
	}
	for _, m := range r.Messages {
		seq := einox.SeqOf(m)
		require.True(c.t, einox.IsSummary(m) || seq == 0 || seq > r.Summary.Upto, "message %d of the log stays, and the summary covers it", seq)
	}
	require.NotEmpty(c.t, r.Summary.Text)
	require.True(c.t, 0 < r.Summary.Upto && r.Summary.Upto <= c.logged, "up to %d of %d", r.Summary.Upto, c.logged)
}

func standIns(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		if ref := einox.RefOf(m); ref != "" {
			out = append(out, ref)
		}
	}
	return out
}

// fits checks that the result fits, or that the error says truly that it cannot.
func (c *scene) fits(p *plan, repaired []*schema.Message, r *compaction.Result, err error) {
	t := c.t
	require.Equal(t, p.usage(r.Messages), r.After)
	if r.After.Over() <= 0 {
		require.NoError(t, err)
		return
	}
	var over *budget.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, r.After.Tokens, over.Tokens)
	require.Equal(t, r.After.Limit, over.Limit)
	if p.complete && p.fails == 0 {
		require.Greater(t, p.irreducible(repaired), r.After.Limit, "%d tokens are left of %d:%s", r.After.Tokens, r.Before.Tokens, sizes(r.Messages))
	}
}

// sizes lists messages and their sizes.
func sizes(messages []*schema.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "\n%5d %s %s %.60q", budget.Estimate.Message(m), m.Role, einox.RefOf(m), m.Content)
	}
	return b.String()
}

// What a stand-in may take. The first is one of rounds, of exchanges, or of a
// summary that grew out of a model's answer; the second one of a result.
const (
	standInTokens = 300
	resultTokens  = 200
)

// irreducible is the most that all steps together may leave: the system prompts
// and the core blocks, the running user messages, the newest exchange with
// stand-ins for its results, what follows it, and one stand-in each for the past
// and for the older exchanges.
func (p *plan) irreducible(messages []*schema.Message) int {
	start := runningFrom(messages)
	newest, called := len(messages)-1, false
	for i := start; i < len(messages); i++ {
		calls := len(messages[i].ToolCalls) > 0
		if calls || messages[i].Role == schema.Assistant && !called { // without calls, the last thing said
			newest, called = i, calls
		}
	}
	var left []*schema.Message
	tokens := 2 * standInTokens
	for i, m := range messages {
		switch {
		case einox.IsSummary(m):
		case m.Role == schema.System, einox.IsCore(m):
			left = append(left, m)
		case i < start:
		case m.Role == schema.Tool && i > newest:
			tokens += min(budget.Estimate.Message(m), resultTokens)
		case m.Role == schema.User, i >= newest:
			left = append(left, m)
		}
	}
	return tokens + p.usage(left).Tokens
}

// intact checks that what must stay did, and that what stayed is in its order.
func (c *scene) intact(repaired []*schema.Message, r *compaction.Result) {
	t := c.t
	equal(t, each(t, systems(repaired)), each(t, systems(r.Messages)), "the system prompts")
	for i := runningFrom(repaired); i < len(repaired); i++ {
		if m := repaired[i]; m.Role == schema.User && !einox.IsNote(m) {
			require.True(t, slices.Contains(each(t, r.Messages), snapshot(t, []*schema.Message{m})), "a user's message of the running round: %.300s", m.Content)
		}
	}
	rest := each(t, repaired)
	for i, text := range each(t, r.Messages) {
		if at := slices.Index(rest, text); at >= 0 {
			rest = rest[at+1:]
		} else {
			require.NotEmpty(t, einox.RefOf(r.Messages[i]), "new, or out of its order, and stands in for nothing: %.300s", text)
		}
	}
}

// readable checks that all words that left are found by whoever follows the ids
// that the context shows. What memory had put in is not among them.
func (c *scene) readable(messages []*schema.Message, r *compaction.Result) {
	t := c.t
	reader := &reader{scene: c, read: make(map[string]bool), words: transcript.WordsOf(r.Messages...)}
	here := transcript.WordsOf(r.Messages...)
	for _, m := range r.Messages {
		reader.follow(m)
	}
	var gone []string
	for _, m := range c.restored(messages) {
		if m == nil || einox.IsNote(m) {
			continue
		}
		w := transcript.WordsOf(m)
		require.Empty(t, w.Without(reader.words, c.w.filler), "what %s said is nowhere to be read", m.Role)
		gone = append(gone, w.Without(here, c.w.filler)...)
	}
	slices.Sort(gone)
	for range min(2, len(gone)) {
		word := rapid.SampledFrom(gone).Draw(t, "word")
		word = strings.ToValidUTF8(word[:min(len(word), archive.MaxPattern)], "")
		found, err := c.archive.Grep(t.Context(), &archive.GrepRequest{Pattern: word, CaseSensitive: true})
		require.NoError(t, err)
		require.NotEmpty(t, found.Matches, "%q is not found", word)
	}
}

// counted checks what the result tells about itself.
func (c *scene) counted(p *plan, repaired []*schema.Message, r *compaction.Result) {
	t := c.t
	require.Equal(t, p.usage(repaired), r.Before)
	saved := 0
	for _, s := range r.Steps {
		saved += s.Saved
		require.GreaterOrEqual(t, s.Saved, 0, "%s made it larger", s.Step)
		require.True(t, s.Replaced > 0 || s.Saved == 0, "%s saved without replacing", s.Step)
	}
	require.Equal(t, r.Before.Tokens-r.After.Tokens, saved)
	if r.Before.Over() <= 0 && p.trigger == 1 {
		require.Empty(t, r.Steps, "nothing was to be done")
		equal(t, each(t, repaired), each(t, r.Messages), "it fits as it is")
	}
	calls := c.w.calls
	c.w.calls = 0
	require.Equal(t, calls, r.Usage.ModelCalls)
	// each group is asked for at most twice, and no group is smaller than a message
	require.LessOrEqual(t, calls, 4*len(repaired), "%d messages", len(repaired))
	if p.model == "" {
		require.Zero(t, calls)
	}
}

// stable checks that what was compacted is left as it is, and that the same again
// costs no model call.
func (c *scene) stable(p *plan, compactor *compaction.Compactor, kept *keeper, messages []*schema.Message, r *compaction.Result) {
	t := c.t
	if r.After.Over() <= 0 && p.trigger == 1 {
		again, err := compactor.Compact(t.Context(), &compaction.Request{Messages: r.Messages, Archive: kept})
		require.NoError(t, err)
		equal(t, each(t, r.Messages), each(t, again.Messages), "it fits now")
		require.Empty(t, again.Steps)
	}
	if p.fails > 0 || p.model != "good" {
		return
	}
	again, _ := compactor.Compact(t.Context(), &compaction.Request{Messages: messages, Archive: kept})
	require.Zero(t, again.Usage.ModelCalls, "the same was asked before")
	equal(t, each(t, r.Messages), each(t, again.Messages), "the same comes out")
}

// runningFrom is where the running round begins: the last thing a user said, with
// what else was said in that turn.
func runningFrom(messages []*schema.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == schema.User && !einox.IsNote(m) {
			turn := einox.TurnOf(m)
			for j := range i {
				if messages[j].Role == schema.User && turn != "" && einox.TurnOf(messages[j]) == turn {
					return j
				}
			}
			return i
		}
	}
	return 0
}

func systems(messages []*schema.Message) []*schema.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m.Role != schema.System })
}

var errChance = errors.New("the archive failed by chance")
