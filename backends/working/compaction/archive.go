// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"

	"github.com/einomem/einomem/internal/einox"
)

// slack is the share of the target that the archiving steps free beyond the need. So many
// messages pass before the next archive, and the provider's prompt cache stays good meanwhile.
const slack = 0.1

// ArchiveRounds moves the oldest rounds to the archive, and puts one message in their place.
// That message has the user's questions, the tools called, and the reference to the archive. It
// calls no model. Placeholders of older rounds are merged into it, so that one remains however
// often the step runs; it takes over the text of a summary. The running round stays.
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

// ArchiveCurrent moves the older steps of the running round to the archive. One message behind
// the user's takes their place: it lists the calls and gives the reference. It calls no model.
// The newest exchange stays. If that alone is too large, its results are offloaded, whatever
// their size, and the placeholders of older rounds are made as short as possible. The user's
// messages of the round are shortened last, as [ShortenInput] does it without a model.
type ArchiveCurrent struct{}

func (ArchiveCurrent) build(*Config) (*step, error) {
	return &step{name: "archive_current", run: func(ctx context.Context, c *draft) error {
		g, s, _ := c.smallest(c.runningGroups(), c.shapes(true))
		var err error
		if g.fresh {
			err = c.fold(ctx, g, s)
		}
		return errors.Join(err, c.offloadNewest(ctx), c.tighten(ctx), c.shortenInput(ctx, c.overLimit, unread))
	}}, nil
}

// unread is for the shortening of a message that no model reads.
func unread(context.Context, string, string, int) (string, error) { return "", nil }

// pastGroups returns the messages of the past that may leave, one group a round. Messages before
// the first round go with it.
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

// runningGroups returns the messages of the running round that may leave, one group an exchange:
// all except the user's messages and the newest exchange.
func (c *draft) runningGroups() [][]int {
	l := c.layout()
	exchanges := einox.Exchanges(c.messages, l.running)
	var out [][]int
	for _, e := range exchanges[:max(0, len(exchanges)-1)] {
		if !l.keeps(c.messages, e.From) && !c.messages[e.From].Asks() {
			out = append(out, indices(e))
		}
	}
	return out
}

// shapes are the forms of a placeholder to try in turn: each says less.
func (c *draft) shapes(running bool) [3]shape {
	target := c.config.target()
	return [3]shape{
		{running: running, lines: maxLines, tokens: target / 4},
		{running: running, lines: maxLines / 2, tokens: target / 16},
		{running: running, lines: 2},
	}
}

// leaving is a set of messages that one placeholder replaces.
type leaving struct {
	indices  []int // ascending
	messages []einox.Marked
	tokens   int
	digest   digest
	fresh    bool // it has messages other than placeholders of many
}

// grow adds messages to the set.
func (c *draft) grow(g *leaving, indices []int) {
	for _, i := range indices {
		g.messages = append(g.messages, c.messages[i])
		g.digest.add(c.messages[i], c.tokens[i])
		g.fresh = g.fresh || !isDigest(c.messages[i])
		g.tokens += c.tokens[i]
	}
	g.indices = append(g.indices, indices...)
}

// standIn returns the placeholder of the set, and how many tokens the context loses by it.
func (c *draft) standIn(g *leaving, s shape, ref string) (p einox.Marked, gain int) {
	p = c.placeholder(&g.digest, s, ref)
	return p, g.tokens - c.count(p)
}

// smallest returns the fewest groups, from the oldest on, that make the context fit with some
// room to spare, and the shape of their placeholder. ok is false if all groups together are too
// small: then all of them leave, in the last shape.
func (c *draft) smallest(groups [][]int, shapes [3]shape) (g *leaving, s shape, ok bool) {
	g = &leaving{}
	need := c.over() + int(slack*float64(c.config.target()))
	for _, indices := range groups {
		c.grow(g, indices)
		if !g.fresh || g.tokens <= need {
			continue
		}
		if _, gain := c.standIn(g, shapes[0], draftRef); gain >= need {
			return g, shapes[0], true
		}
	}
	for _, s = range shapes {
		if _, gain := c.standIn(g, s, draftRef); gain >= c.over() {
			return g, s, true
		}
	}
	return g, s, false
}

// fold stores the leaving messages, and then puts one placeholder in their place. It leaves them
// where the placeholder would be as large as they are.
func (c *draft) fold(ctx context.Context, g *leaving, s shape) error {
	if _, gain := c.standIn(g, s, draftRef); len(g.indices) == 0 || gain <= 0 {
		return nil
	}
	ref, err := c.put(ctx, g.messages...)
	if err != nil {
		return err
	}
	if p, gain := c.standIn(g, s, ref); gain > 0 {
		c.replace(g.indices, p)
	}
	return nil
}

// offloadNewest offloads the remaining results, oldest first, while the context exceeds the
// limit.
func (c *draft) offloadNewest(ctx context.Context) error {
	var swaps []swap
	for i := c.layout().running.From; i < len(c.messages); i++ {
		if isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, 0))
		}
	}
	return c.substitute(ctx, swaps, c.overLimit)
}

// tighten shortens the placeholders of past rounds if the context still exceeds the limit. A
// turn must not fail because of a long summary.
func (c *draft) tighten(ctx context.Context) error {
	if c.overLimit() <= 0 {
		return nil
	}
	g := &leaving{}
	for _, indices := range c.pastGroups() {
		c.grow(g, indices)
	}
	if g.fresh { // another step's work
		return nil
	}
	return c.fold(ctx, g, c.shapes(false)[2])
}
