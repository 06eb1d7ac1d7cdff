// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// What is large, and what of it stays, by default.
const (
	defaultOver    = 2000 // tokens, as in ReMe
	defaultPreview = 300  // runes
	argumentRunes  = 120  // of a call's arguments
)

// OffloadTools moves large results of tools to the archive, oldest first. What stays says
// which call it was, how large the result is, where it is kept and how it is read.
type OffloadTools struct {
	// Over is the size in tokens above which a result is large. Optional. Defaults to
	// 2000.
	Over int
	// KeepRecent is the number of newest messages, those of the system aside, that are
	// only touched when the context would not fit the budget's limit otherwise, whatever
	// the trigger is. Optional.
	KeepRecent int
	// Preview is how many runes of the result's beginning stay. Optional. Defaults to
	// 300; negative keeps none.
	Preview int

	all bool // offload all that are not recent, not only as many as it takes
}

func (s OffloadTools) build(*Config) (*step, error) {
	s.Over, s.Preview = cmp.Or(s.Over, defaultOver), cmp.Or(s.Preview, defaultPreview)
	return &step{name: "offload_tools", run: s.run}, nil
}

func (s OffloadTools) run(ctx context.Context, c *draft) error {
	recent, over := c.recentFrom(s.KeepRecent), c.over
	if s.all {
		over = func() int { return math.MaxInt }
	}
	err := c.substitute(ctx, s.swaps(c, 0, recent), over)
	if errors.Is(err, errNoArchive) {
		return err
	}
	return errors.Join(err, c.substitute(ctx, s.swaps(c, recent, len(c.messages)), c.overLimit))
}

// swaps returns the large results among the messages [from, to).
func (s OffloadTools) swaps(c *draft, from, to int) []swap {
	var swaps []swap
	for i := from; i < to; i++ {
		if c.tokens[i] > s.Over && isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, s.Preview))
		}
	}
	return swaps
}

// isResult reports whether m is what a tool returned, in its own words. One whose call is
// gone is memory's own message.
func isResult(m *schema.Message) bool {
	return einox.RefOf(m) == "" && (m.Role == schema.Tool || m.Role == schema.User && einox.IsSummary(m))
}

// offloadResult is how the result that is message i leaves.
func (c *draft) offloadResult(i, preview int) swap {
	m, size := c.messages[i], c.sizeOf(c.messages[i], c.tokens[i])
	call := text.Line(m.ToolName, nameRunes) + "(…)"
	if made := callOf(c.messages, i); made != nil {
		call = callLine(made, argumentRunes)
	}
	return c.offload(i, preview, func(ref string) string {
		if m.Role != schema.Tool {
			return fmt.Sprintf(c.texts.message, size, c.where(ref))
		}
		return fmt.Sprintf(c.texts.tool, call, size, c.where(ref))
	})
}

// offload is how message i leaves for a headline with a preview, or without one where
// that would be no gain.
func (c *draft) offload(i, preview int, headline func(ref string) string) swap {
	m, tokens := c.messages[i], c.tokens[i]
	return swap{index: i, build: func(ref string) *schema.Message {
		short := headline(ref)
		n := placeholderFor(m, c.withSnippet(short, einox.Text(m), preview), ref)
		if c.count(n) >= tokens {
			n = placeholderFor(m, short, ref)
		}
		return n
	}}
}

// callOf returns the call that message i, a tool's, answers, or nil.
func callOf(messages []*schema.Message, i int) *schema.ToolCall {
	id := messages[i].ToolCallID
	for i--; i >= 0 && messages[i].Role == schema.Tool; i-- {
	}
	if i < 0 {
		return nil
	}
	for n := range messages[i].ToolCalls {
		if messages[i].ToolCalls[n].ID == id {
			return &messages[i].ToolCalls[n]
		}
	}
	return nil
}
