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

// DropDerived drops messages that derive from others kept elsewhere. It drops notes of searches
// and core blocks of former turns for good, and moves the reasoning of former rounds to the
// archive. The reasoning of the running round stays. So does the beginning of reasoning that led
// to calls, since thinking models want it back with them.
type DropDerived struct{}

func (DropDerived) build(*Config) (*step, error) {
	return &step{name: "drop_derived", run: func(ctx context.Context, c *draft) error {
		c.dropNotes()
		return c.dropReasoning(ctx)
	}}, nil
}

// dropNotes drops notes of former turns, oldest first, as long as the context is too large.
func (c *draft) dropNotes() {
	l := c.layout()
	var drop []int
	over := c.over()
	for i := 0; i < l.running.From && over > 0; i++ {
		if !l.kept[i] && c.messages[i].Added() {
			over -= c.tokens[i]
			drop = append(drop, i)
		}
	}
	c.replace(drop, einox.Marked{})
}

func (c *draft) dropReasoning(ctx context.Context) error {
	var swaps []swap
	for i, m := range c.messages[:c.layout().running.From] {
		if m.Role != schema.Assistant || m.ReasoningContent == reasonOf(m.Message) || m.Kind != "" {
			continue
		}
		swaps = append(swaps, swap{index: i, build: func(ref string) einox.Marked {
			short, n := *m.Message, m
			short.ReasoningContent, short.Extra = reasonOf(m.Message), nil // providers keep more of it in Extra
			n.Message, n.Ref = &short, ref
			return n
		}})
	}
	return c.substitute(ctx, swaps, c.over)
}

// reasonOf returns the part of a message's reasoning that stays when the message leaves.
// Services that want reasoning back with calls refuse requests that lack it.
func reasonOf(m *schema.Message) string {
	if len(m.ToolCalls) == 0 {
		return ""
	}
	return text.Line(m.ReasoningContent, argumentRunes)
}

// Default sizes: the size from which a message is large, and the parts of it that stay.
const (
	defaultOver    = 2000 // tokens, as in ReMe
	defaultPreview = 300  // runes
	argumentRunes  = 120  // of a call's arguments
)

// OffloadTools moves large results of tools to the archive, oldest first. The message that stays
// gives the call, the size of the result, its reference, and the way to read it.
type OffloadTools struct {
	// Over is the size in tokens above which a result is large. Optional. Defaults to
	// 2000.
	Over int
	// KeepRecent is the number of newest messages that are protected; the system's do not count.
	// These are offloaded only while the context exceeds the budget's limit, whatever the
	// trigger is. Optional.
	KeepRecent int
	// Preview is how many runes of the result's beginning stay. Optional. Defaults to
	// 300; negative keeps none.
	Preview int

	all bool // offload all older ones, even where fewer would suffice
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

// isResult reports whether m has the result of a tool in the tool's own words. A result that
// lost its call is a message of memory's own.
func isResult(m einox.Marked) bool {
	return m.Ref == "" && (m.Role == schema.Tool || m.Role == schema.User && m.Kind == einox.Summary)
}

// offloadResult returns the swap of the result that is message i.
func (c *draft) offloadResult(i, preview int) swap {
	m, size := c.messages[i], c.sizeOf(c.messages[i].Message, c.tokens[i])
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

// offload returns the swap of message i for a headline with a preview. If a preview would
// make it as large as the original, it is left out.
func (c *draft) offload(i, preview int, headline func(ref string) string) swap {
	m, tokens := c.messages[i], c.tokens[i]
	return swap{index: i, build: func(ref string) einox.Marked {
		short := headline(ref)
		n := placeholderFor(m, c.withSnippet(short, einox.Text(m.Message), preview), ref)
		if c.count(n) >= tokens {
			n = placeholderFor(m, short, ref)
		}
		return n
	}}
}

// callOf returns the call that message i, a tool's, answers, or nil.
func callOf(messages []einox.Marked, i int) *schema.ToolCall {
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

// OffloadMessages moves long messages of users and assistants in former rounds to the archive,
// oldest first: their texts, the arguments of their calls, and their media of any size. The
// running round stays as it is.
type OffloadMessages struct {
	// Over is the size in tokens above which a message is long. Optional. Defaults to
	// 2000.
	Over int
	// KeepRecent is the number of newest messages that stay untouched; the system's do not
	// count. Optional.
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
		said := (m.Role == schema.User || m.Role == schema.Assistant) && m.Kind == "" && m.Stands == ""
		if said && (c.tokens[i] > s.Over || hasMedia(m.Message)) {
			swaps = append(swaps, s.swap(c, i))
		}
	}
	return c.substitute(ctx, swaps, c.over)
}

func hasMedia(m *schema.Message) bool {
	return slices.ContainsFunc(einox.Parts(m), func(p einox.Part) bool { return p.Media != "" })
}

// swap returns the swap of message i. Its short parts stay: the text beside media, or beside the
// arguments of its calls.
func (s OffloadMessages) swap(c *draft, i int) swap {
	m, size := c.messages[i], c.sizeOf(c.messages[i].Message, c.tokens[i])
	said := einox.Text(m.Message)
	headline := func(ref string) string { return fmt.Sprintf(c.texts.message, size, c.where(ref)) }
	share := s.Over / (len(m.ToolCalls) + 1)
	if c.countText(said) > share {
		long := c.offload(i, s.Preview, headline)
		return swap{index: i, build: func(ref string) einox.Marked { return s.shorten(c, long.build(ref), share, ref) }}
	}
	return swap{index: i, build: func(ref string) einox.Marked {
		content := m.Content
		if einox.HasParts(m.Message) {
			content = strings.TrimSpace(said + "\n" + headline(ref))
		}
		return s.shorten(c, placeholderFor(m, content, ref), share, ref)
	}}
}

// shorten replaces the arguments that exceed their share of a message's limit. Providers want an
// object in their place.
func (s OffloadMessages) shorten(c *draft, n einox.Marked, share int, ref string) einox.Marked {
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
		object, _ := json.Marshal(short) // texts and a number always encode
		f.Arguments = string(object)
	}
	return n
}
