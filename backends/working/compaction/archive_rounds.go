// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"

	"github.com/cloudwego/eino/schema"
)

// slack is the share of what a context may have that the steps which archive rounds free
// beside what is needed, so that not every message calls for the next archive, and the
// provider's cache of the prompt stays good meanwhile.
const slack = 0.1

// ArchiveRounds moves the oldest rounds to the archive, and puts one message in their
// place that says what the user asked in them, which tools were called, and where all of
// it is kept. It calls no model. Placeholders of older rounds go along, so that there is
// one however often it runs; the text of a summary is taken over. The running round
// stays.
type ArchiveRounds struct{}

func (ArchiveRounds) build(*Config) (*step, error) {
	return &step{name: "archive_rounds", run: func(ctx context.Context, c *draft) error {
		shapes := c.shapes(false)
		g, s, ok := c.smallest(c.pastGroups(), shapes)
		if !ok {
			s = shapes[0] // the steps of the running round leave next
		}
		if !g.fresh {
			return nil
		}
		return c.fold(ctx, g, s)
	}}, nil
}

// pastGroups returns what of the past may leave, a round each. What stands before the
// first round goes with it.
func (c *draft) pastGroups() [][]int {
	l := c.layout()
	var out [][]int
	var head []int
	for _, r := range l.past {
		for i := r.From; i < r.To; i++ {
			if !l.keeps(c.messages, i) {
				head = append(head, i)
			}
		}
		if len(head) > 0 && !isDigest(c.messages[head[len(head)-1]]) {
			out, head = append(out, head), nil
		}
	}
	if len(head) > 0 {
		out = append(out, head)
	}
	return out
}

// shapes are those that are tried in turn: each says less.
func (c *draft) shapes(running bool) [3]shape {
	target := c.config.target()
	return [3]shape{
		{running: running, lines: maxLines, tokens: target / 4},
		{running: running, lines: maxLines / 2, tokens: target / 16},
		{running: running, lines: 2},
	}
}

// leaving is what leaves together for one placeholder.
type leaving struct {
	indices  []int // ascending
	said     int   // tokens of the conversation
	memories int   // tokens of what memory put in
	digest   digest
	fresh    bool // it has messages that are no placeholders of many
}

// grow adds messages to what leaves.
func (c *draft) grow(g *leaving, indices []int) {
	for _, i := range indices {
		m := c.messages[i]
		g.digest.add(m, c.tokens[i])
		g.fresh = g.fresh || !isDigest(m)
		if isMemory(m) {
			g.memories += c.tokens[i]
		} else {
			g.said += c.tokens[i]
		}
	}
	g.indices = append(g.indices, indices...)
}

// gain returns how many tokens the context loses when p takes the place of what leaves.
func (c *draft) gain(g *leaving, p *schema.Message) int {
	room := c.config.Budget.room()
	return g.said + max(c.memories-room, 0) - max(c.memories-g.memories-room, 0) - c.count(p)
}

// smallest returns as many groups, from the oldest on, as make the context fit with some
// room to spare, and the shape of their placeholder. ok is false if all together do not
// suffice: then all of them leave, in the last shape.
func (c *draft) smallest(groups [][]int, shapes [3]shape) (g *leaving, s shape, ok bool) {
	g = &leaving{}
	need := c.over() + int(slack*float64(c.config.target()))
	for _, indices := range groups {
		c.grow(g, indices)
		if g.fresh && g.said+g.memories > need && c.gain(g, c.placeholder(&g.digest, shapes[0], draftRef)) >= need {
			return g, shapes[0], true
		}
	}
	for _, s = range shapes {
		if c.gain(g, c.placeholder(&g.digest, s, draftRef)) >= c.over() {
			return g, s, true
		}
	}
	return g, s, false
}

// fold puts one placeholder in the place of what leaves, once that is stored. It does
// nothing where the placeholder would not be smaller.
func (c *draft) fold(ctx context.Context, g *leaving, s shape) error {
	if len(g.indices) == 0 || c.gain(g, c.placeholder(&g.digest, s, draftRef)) <= 0 {
		return nil
	}
	messages := make([]*schema.Message, len(g.indices))
	for n, i := range g.indices {
		messages[n] = c.messages[i]
	}
	ref, err := c.put(ctx, messages...)
	if err != nil {
		return err
	}
	if p := c.placeholder(&g.digest, s, ref); c.gain(g, p) > 0 {
		c.replace(g.indices, p)
	}
	return nil
}
