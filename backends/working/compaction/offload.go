// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// DropDerived drops what was made of something that is kept elsewhere: notes of searches
// and core blocks of former turns, for good, and the reasoning of former rounds, which
// goes to the archive. The reasoning of the running round stays, and the beginning of one that
// led to calls: models that think want it back with them.
type DropDerived struct{}

func (DropDerived) build(*Config) (*step, error) {
	return &step{name: "drop_derived", run: func(ctx context.Context, c *draft) error {
		c.dropNotes()
		return c.dropReasoning(ctx)
	}}, nil
}

// dropNotes drops notes of former turns, oldest first, as long as that makes room.
func (c *draft) dropNotes() {
	l := c.layout()
	var drop []int
	over := c.over()
	for i := 0; i < l.running.From && over > 0; i++ {
		if !l.kept[i] && isMemory(c.messages[i]) {
			over -= c.tokens[i]
			drop = append(drop, i)
		}
	}
	c.replace(drop, nil)
}

func (c *draft) dropReasoning(ctx context.Context) error {
	var swaps []swap
	for i, m := range c.messages[:c.layout().running.From] {
		if m.Role != schema.Assistant || m.ReasoningContent == reasonOf(m) || einox.IsNote(m) {
			continue
		}
		swaps = append(swaps, swap{index: i, build: func(ref string) *schema.Message {
			n := *m
			n.ReasoningContent, n.Extra = reasonOf(m), nil // providers keep more of it in Extra
			return einox.MarkRef(einox.WithMarks(&n, einox.Marks(m)), ref)
		}})
	}
	return c.substitute(ctx, swaps, c.over)
}

// reasonOf is what stays of the reasoning of a message that leaves. Services that want it back
// with calls refuse a request that lacks it.
func reasonOf(m *schema.Message) string {
	if len(m.ToolCalls) == 0 {
		return ""
	}
	return text.Line(m.ReasoningContent, argumentRunes)
}

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

// OffloadMessages moves long messages of users and assistants to the archive, those of
// former rounds, oldest first: their texts, the arguments of their calls, and their media
// of any size. The running round stays as it is.
type OffloadMessages struct {
	// Over is the size in tokens above which a message is long. Optional. Defaults to
	// 2000.
	Over int
	// KeepRecent is the number of newest messages, those of the system aside, that are
	// not touched. Optional.
	KeepRecent int
	// Preview is how many runes of the message's beginning stay. Optional. Defaults to
	// 300; negative keeps none.
	Preview int
}

func (s OffloadMessages) build(*Config) (*step, error) {
	s.Over, s.Preview = cmp.Or(s.Over, defaultOver), cmp.Or(s.Preview, defaultPreview)
	return &step{name: "offload_messages", run: s.run}, nil
}

func (s OffloadMessages) run(ctx context.Context, c *draft) error {
	end := min(c.layout().running.From, c.recentFrom(s.KeepRecent))
	var swaps []swap
	for i, m := range c.messages[:end] {
		said := (m.Role == schema.User || m.Role == schema.Assistant) && !einox.IsNote(m) && isOriginal(m)
		if said && (c.tokens[i] > s.Over || hasMedia(m)) {
			swaps = append(swaps, s.swap(c, i))
		}
	}
	return c.substitute(ctx, swaps, c.over)
}

func hasMedia(m *schema.Message) bool {
	return slices.ContainsFunc(einox.Parts(m), func(p einox.Part) bool { return p.Media != "" })
}

// swap is how message i leaves. What of it is short stays: its text beside media, or
// beside the arguments of its calls.
func (s OffloadMessages) swap(c *draft, i int) swap {
	m, size := c.messages[i], c.sizeOf(c.messages[i], c.tokens[i])
	said := einox.Text(m)
	headline := func(ref string) string { return fmt.Sprintf(c.texts.message, size, c.where(ref)) }
	share := s.Over / (len(m.ToolCalls) + 1)
	if c.countText(said) > share {
		long := c.offload(i, s.Preview, headline)
		return swap{index: i, build: func(ref string) *schema.Message { return s.shorten(c, long.build(ref), share, ref) }}
	}
	return swap{index: i, build: func(ref string) *schema.Message {
		content := m.Content
		if einox.HasParts(m) {
			content = strings.TrimSpace(said + "\n" + headline(ref))
		}
		return s.shorten(c, placeholderFor(m, content, ref), share, ref)
	}}
}

// shorten replaces those arguments of n's calls that have more than their share of what a
// message may have. Providers want an object in their place.
func (s OffloadMessages) shorten(c *draft, n *schema.Message, share int, ref string) *schema.Message {
	n.ToolCalls = slices.Clone(n.ToolCalls)
	for i := range n.ToolCalls {
		f := &n.ToolCalls[i].Function
		if c.countText(f.Arguments) <= share {
			continue
		}
		short := map[string]any{"archived_as": ref, "bytes": len(f.Arguments)}
		if s.Preview > 0 {
			short["snippet"] = text.Line(f.Arguments, min(s.Preview, argumentRunes))
		}
		object, _ := json.Marshal(short) // of texts and a number: it cannot fail
		f.Arguments = string(object)
	}
	return n
}
