// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt_test

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

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/prompt"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

// Whatever was said and found and whatever the budget: the prompt fits, or the
// parts that are never cut do not; providers take it; its parts stand in their
// order; system prompt and question are as they were.
func TestPropertyPrompts(t *testing.T) {
	rounds := 1
	if os.Getenv("EINOMEM_LONG") == "1" {
		rounds = 20
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, checkPrompt) })
	}
}

func checkPrompt(t *rapid.T) {
	b := compaction.Budget{
		Window: rapid.IntRange(50, 6000).Draw(t, "window"), Answer: rapid.SampledFrom([]int{-1, 0}).Draw(t, "answer"),
		Memories: rapid.SampledFrom([]int{-1, 0, 40, 200}).Draw(t, "memories"),
	}
	if _, err := b.WithDefaults(); err != nil {
		b.Memories = 0
	}
	w := newWorld(t, b)
	w.turns = 100
	for _, round := range rounds(transcript.New(drawn.Source(t), &transcript.Shape{Tokens: 300, Plain: rapid.Bool().Draw(t, "plain")}).Messages) {
		w.say(round...)
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "hits") {
		w.memory.hits = append(w.memory.hits, hit(fmt.Sprint("m", i), rapid.StringMatching(`[A-Z][a-z ]{1,60}`).Draw(t, "memory")))
	}
	if rapid.Bool().Draw(t, "core") {
		w.blocks("Ann, a nurse.")
	}
	compacts := rapid.Bool().Draw(t, "compacts")
	if compacts {
		w.compacting()
	}
	r := &prompt.Request{
		Question: "q" + rapid.StringN(0, 300, 900).Draw(t, "question"), System: rapid.SampledFrom([]string{"", "Be brief.", strings.Repeat("Be brief. ", 30)}).Draw(t, "system"),
		Context: rapid.SampledFrom([]string{"", "A summary."}).Draw(t, "context"), EmptyMemoryLine: rapid.Bool().Draw(t, "line"),
	}
	p, err := w.build(r)
	require.NotNil(t, p)
	require.NoError(t, p.Failed.Err())
	require.NoError(t, transcript.Check(p.Messages), "providers take it")
	(&checked{t, w, r, p}).all(err)
	if !compacts {
		whole, werr := w.cfg.Sessions.Load(t.Context(), load(p))
		require.NoError(t, werr)
		was, is := contents(whole.Messages), contents(history(p.Messages))
		require.Len(t, is, len(was)-p.LeftOut)
		same := 0 // what stands in for older turns
		for same < len(is) && is[same] == was[same] {
			same++
		}
		require.Equal(t, was[same+p.LeftOut:], is[same:], "the oldest are left out")
	}
}

type checked struct {
	t *rapid.T
	w *world
	r *prompt.Request
	p *prompt.Prompt
}

func (c *checked) all(err error) {
	t, messages := c.t, c.p.Messages
	b, berr := c.w.cfg.Budget.WithDefaults()
	require.NoError(t, berr)
	require.Equal(t, b.Usage(messages), c.p.Usage)
	require.Equal(t, schema.UserMessage(c.r.Question), messages[len(messages)-1], "the question is last, and as it was")

	// Where the parts stand.
	rank := []int{}
	var fixed []*schema.Message
	for i, m := range messages {
		switch {
		case i == len(messages)-1:
			rank = append(rank, 5)
		case einox.IsRecalled(m):
			rank = append(rank, 4)
			continue
		case i == 0 && c.r.System != "":
			require.Equal(t, schema.SystemMessage(c.r.System), m)
			rank = append(rank, 0)
		case einox.IsCore(m):
			rank = append(rank, 1)
		case m.Name == "context":
			rank = append(rank, 2)
		default:
			rank = append(rank, 3)
			continue
		}
		fixed = append(fixed, m)
	}
	require.True(t, slices.IsSorted(rank), "%v", rank)
	require.Equal(t, c.r.Context != "", slices.Contains(rank, 2))
	require.Equal(t, c.w.cfg.Core != nil, slices.Contains(rank, 1))

	if over := (*compaction.OverError)(nil); errors.As(err, &over) {
		require.Positive(t, b.Usage(fixed).Over(), "only what is never cut does not fit")
		require.NotContains(t, rank, 3)
	} else {
		require.NoError(t, err)
		require.LessOrEqual(t, c.p.Usage.Over(), 0)
	}
	c.memories(b)
}

// memories checks that what is said to be shown is, within the room for it.
func (c *checked) memories(b compaction.Budget) {
	t := c.t
	text, taken := "", 0
	for _, m := range c.p.Messages {
		if einox.IsRecalled(m) {
			text = m.Content
			taken += b.Counter.Message(m)
		}
		if einox.IsCore(m) {
			taken += b.Counter.Message(m)
		}
	}
	if text != "" {
		require.LessOrEqual(t, taken, b.Memories)
	}
	var ids []string
	for i := range c.p.Hits {
		if strings.Contains(text, "["+c.p.Hits[i].ID+"]") {
			ids = append(ids, c.p.Hits[i].ID)
		}
	}
	require.Equal(t, ids, c.p.Shown)
}

// rounds divides what was said into turns, without what memory put in.
func rounds(messages []*schema.Message) [][]*schema.Message {
	var out [][]*schema.Message
	for _, m := range messages {
		if einox.IsNote(m) {
			continue
		}
		if len(out) == 0 || m.Role == schema.User {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], m)
	}
	return out
}
