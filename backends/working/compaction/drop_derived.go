// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// DropDerived drops what was made of something that is kept elsewhere: notes of searches
// and core blocks of former turns, for good, and the reasoning of former rounds, which
// goes to the archive. The reasoning of the running round stays: models that think want
// it back with the calls they made.
type DropDerived struct{}

func (DropDerived) build(*Config) (*step, error) {
	return &step{name: "drop_derived", run: func(ctx context.Context, c *draft) error {
		c.dropNotes()
		return c.dropReasoning(ctx)
	}}, nil
}

// dropNotes drops notes of former turns, oldest first, as long as that makes room.
func (c *draft) dropNotes() {
	l, room := c.layout(), c.config.Budget.room()
	var drop []int
	over, memories := c.over(), c.memories
	for i := 0; i < l.running.From && over > 0 && memories > room; i++ {
		if l.kept[i] || !isMemory(c.messages[i]) {
			continue
		}
		over -= min(c.tokens[i], memories-room)
		memories -= c.tokens[i]
		drop = append(drop, i)
	}
	c.replace(drop, nil)
}

func (c *draft) dropReasoning(ctx context.Context) error {
	var swaps []swap
	for i, m := range c.messages[:c.layout().running.From] {
		if m.Role != schema.Assistant || m.ReasoningContent == "" || einox.IsNote(m) {
			continue
		}
		swaps = append(swaps, swap{index: i, build: func(ref string) *schema.Message {
			n := *m
			n.ReasoningContent, n.Extra = "", nil // providers keep more of it in Extra
			return einox.MarkRef(einox.WithMarks(&n, einox.Marks(m)), ref)
		}})
	}
	return c.substitute(ctx, swaps, c.over)
}
