// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// OffloadMessages moves long messages of users and assistants to the archive, those
// of former rounds, oldest first: their texts, the arguments of their calls, and
// their media of any size. The running round stays as it is.
type OffloadMessages struct {
	// Over is the size in tokens above which a message is long. Optional. Defaults
	// to DefaultOver.
	Over int
	// KeepRecent is the number of newest messages, those of the system aside, that
	// are not touched. Optional.
	KeepRecent int
	// Preview is how many runes of the message's beginning stay. Optional.
	// Defaults to DefaultPreview; negative keeps none.
	Preview int
}

// Name implements [Step].
func (OffloadMessages) Name() string { return "offload_messages" }

// Apply implements [Step].
func (s OffloadMessages) Apply(ctx context.Context, c *Context) error {
	end := min(c.layout().running.from, c.recentFrom(s.KeepRecent))
	over, preview := orDefault(s.Over, DefaultOver), orDefault(s.Preview, DefaultPreview)
	var swaps []swap
	for i, m := range c.messages[:end] {
		if !isSaid(m) {
			continue
		}
		if media := c.mediaOf(m); c.tokens[i] > over || media != "" {
			swaps = append(swaps, c.offloadSaid(i, over, preview, media))
		}
	}
	return c.substitute(ctx, swaps, c.Over)
}

// isSaid reports whether m is what a user or an assistant said, in its own words.
func isSaid(m *schema.Message) bool {
	if mark := markOf(m, standInKey); mark != "" {
		return mark == retoldMark && einox.RefOf(m) == ""
	}
	return (m.Role == schema.User || m.Role == schema.Assistant) && !einox.IsNote(m)
}

// offloadSaid is how message i leaves: only its media, where the rest is short.
func (c *Context) offloadSaid(i, over, preview int, media string) swap {
	m, tokens := c.messages[i], c.tokens[i]
	long := c.offload(i, preview, func(ref string) string {
		return fmt.Sprintf(phrases(c.language).message, c.sizeOf(m, tokens), c.where(ref))
	})
	return swap{index: i, build: func(ref string) *schema.Message {
		if media != "" {
			if n := c.withoutMedia(m, media, ref); c.count(n) <= over {
				return n
			}
		}
		calls, text := shorten(m, tokens, over, preview, ref)
		n := long.build(ref)
		if !text {
			n = standIn(m, m.Content, ref)
		}
		n.ToolCalls = calls
		return n
	}}
}

// withoutMedia returns m as text, with a line for its media.
func (c *Context) withoutMedia(m *schema.Message, media, ref string) *schema.Message {
	line := fmt.Sprintf(phrases(c.language).media, media, c.where(ref))
	return standIn(m, strings.TrimSpace(einox.Text(m)+"\n"+line), ref)
}

// shorten returns the calls of m with arguments that are long replaced, and whether
// its text is long too. A part of a message is long above its even share of what
// all may have, by bytes.
func shorten(m *schema.Message, tokens, over, preview int, ref string) (calls []schema.ToolCall, text bool) {
	bytes := len(m.ReasoningContent) + len(m.Content)
	for i := range m.ToolCalls {
		bytes += len(m.ToolCalls[i].Function.Arguments)
	}
	share := over / (len(m.ToolCalls) + 1)
	long := func(s string) bool { return len(s)*tokens/max(bytes, 1) > share }
	for i := range m.ToolCalls {
		args := m.ToolCalls[i].Function.Arguments
		if !long(args) {
			continue
		}
		if calls == nil {
			calls = slices.Clone(m.ToolCalls)
		}
		calls[i].Function.Arguments = archivedArguments(args, preview, ref)
	}
	if calls == nil {
		calls = m.ToolCalls
	}
	return calls, einox.HasParts(m) || long(m.Content)
}

// archivedArguments stands in for the arguments of a call: an object, as providers
// want it.
func archivedArguments(arguments string, preview int, ref string) string {
	short := struct {
		Archived string `json:"archived_as"`
		Bytes    int    `json:"bytes"`
		Excerpt  string `json:"excerpt,omitempty"`
	}{Archived: ref, Bytes: len(arguments)}
	if preview > 0 {
		short.Excerpt = oneLine(arguments, min(preview, maxArguments))
	}
	out, err := json.Marshal(&short)
	if err != nil { // texts and a number
		return "{}"
	}
	return string(out)
}
