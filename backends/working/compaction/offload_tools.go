// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// What of an offloaded message stays by default.
const (
	DefaultOver    = 2000 // tokens, as in ReMe
	DefaultPreview = 300  // runes

	maxArguments = 120 // runes of a call's arguments that are shown
)

// OffloadTools moves large results of tools to the archive, oldest first. What
// stays says which call it was, how large the result is, where it is kept and how
// it is read.
type OffloadTools struct {
	// Over is the size in tokens above which a result is large. Optional. Defaults
	// to DefaultOver.
	Over int
	// KeepRecent is the number of newest messages, those of the system aside, that
	// are only touched when the context would not fit the budget's limit
	// otherwise, whatever the trigger is. A result that is larger than the budget
	// is offloaded however new it is. Optional.
	KeepRecent int
	// Preview is how many runes of the result's beginning stay. Optional. Defaults
	// to DefaultPreview; negative keeps none.
	Preview int
}

// Name implements [Step].
func (OffloadTools) Name() string { return "offload_tools" }

// Apply implements [Step].
func (s OffloadTools) Apply(ctx context.Context, c *Context) error {
	recent := c.recentFrom(s.KeepRecent)
	err := c.substitute(ctx, s.swaps(c, 0, recent), c.Over)
	if errors.Is(err, ErrNoArchive) {
		return err
	}
	return errors.Join(err, c.substitute(ctx, s.swaps(c, recent, len(c.messages)), c.overLimit))
}

func (s OffloadTools) swaps(c *Context, from, to int) []swap {
	over := orDefault(s.Over, DefaultOver)
	var swaps []swap
	for i := from; i < to; i++ {
		if c.tokens[i] > over && isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, orDefault(s.Preview, DefaultPreview)))
		}
	}
	return swaps
}

// isResult reports whether m is what a tool returned, in its own words.
func isResult(m *schema.Message) bool {
	if einox.RefOf(m) != "" {
		return false
	}
	return m.Role == schema.Tool && !einox.IsNote(m) || isOrphan(m)
}

// offloadResult is how the result that is message i leaves.
func (c *Context) offloadResult(i, preview int) swap {
	m := c.messages[i]
	size := c.sizeOf(m, c.tokens[i])
	if m.Role != schema.Tool { // its call is gone; its text begins with whose it was
		return c.offload(i, preview, func(ref string) string {
			return fmt.Sprintf(phrases(c.language).message, size, c.where(ref))
		})
	}
	call := callText(c.messages, i)
	return c.offload(i, preview, func(ref string) string {
		return fmt.Sprintf(phrases(c.language).tool, call, size, c.where(ref))
	})
}

// offload is how message i leaves for a headline with a preview, or without one
// where that would be no gain.
func (c *Context) offload(i, preview int, headline func(ref string) string) swap {
	m, tokens := c.messages[i], c.tokens[i]
	return swap{index: i, build: func(ref string) *schema.Message {
		short := headline(ref)
		n := standIn(m, c.withExcerpt(short, einox.Text(m), preview), ref)
		if c.count(n) >= tokens {
			n = standIn(m, short, ref)
		}
		return n
	}}
}

// callText is the call that message i answers.
func callText(messages []*schema.Message, i int) string {
	name, arguments := messages[i].ToolName, ellipsis
	if call := callOf(messages, i); call != nil {
		name, arguments = call.Function.Name, oneLine(call.Function.Arguments, maxArguments)
	}
	return oneLine(name, maxName) + "(" + arguments + ")"
}

// recentFrom returns where the n newest messages begin, those of the system aside.
func (c *Context) recentFrom(n int) int {
	i := len(c.messages)
	for i > 0 && n > 0 {
		if i--; c.messages[i].Role != schema.System {
			n--
		}
	}
	return i
}

// orDefault returns n, def for 0, and 0 for what is negative.
func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return max(n, 0)
}
