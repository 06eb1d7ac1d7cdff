// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

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
