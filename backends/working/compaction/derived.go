// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// DropDerived drops what was made of something that is kept elsewhere: notes of
// searches and core blocks that belong to former turns, for good, and the
// reasoning of former rounds, which goes to the archive. The reasoning of the
// running round stays: models that think want it back with the calls they made.
type DropDerived struct{}

// Name implements [Step].
func (DropDerived) Name() string { return "drop_derived" }

// Apply implements [Step].
func (DropDerived) Apply(ctx context.Context, c *Context) error {
	c.dropNotes()
	return c.dropReasoning(ctx)
}

// dropNotes drops notes of former turns, oldest first, as long as that makes room.
func (c *Context) dropNotes() {
	l, room := c.layout(), c.config.Budget.Room()
	var drop []int
	over, memories := c.Over(), c.memories
	for i := 0; i < l.running.from && over > 0 && memories > room; i++ {
		if m := c.messages[i]; l.kept[i] || !einox.IsRecalled(m) && !einox.IsCore(m) {
			continue
		}
		over -= min(c.tokens[i], memories-room)
		memories -= c.tokens[i]
		drop = append(drop, i)
	}
	c.remove(drop)
}

func (c *Context) dropReasoning(ctx context.Context) error {
	end := c.layout().running.from
	var swaps []swap
	for i, m := range c.messages[:end] {
		if m.Role != schema.Assistant || m.ReasoningContent == "" || einox.IsNote(m) {
			continue
		}
		swaps = append(swaps, swap{index: i, build: func(ref string) *schema.Message { return withoutReasoning(m, ref) }})
	}
	return c.substitute(ctx, swaps, c.Over)
}

// withoutReasoning returns m without what it thought. What else providers keep of
// it in Extra goes too.
func withoutReasoning(m *schema.Message, ref string) *schema.Message {
	n := *m
	n.ReasoningContent, n.Extra = "", nil
	return einox.MarkRef(einox.WithMarks(&n, einox.Marks(m)), ref)
}
