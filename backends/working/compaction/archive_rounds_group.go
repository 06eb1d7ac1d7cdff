// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// A group goes into the archive with what stands in for an older one, and so on:
// maxNested archives in one another at most, then the next begins beside them.
// When there are more than maxBeside of those, they go into one. Thus a thousand
// archives are no deeper than 60. References to the log do not nest.
const (
	maxNested = 40
	maxBeside = 2
	logPrefix = "log-"
)

// leaving is what leaves together for one stand-in.
type leaving struct {
	indices []int // ascending
	tokens  int   // of the conversation: what [budget.Budget.Usage] counts in full
	notes   int   // of what memory put in
	tale    tale
	fresh   bool // it has messages that are not a group's stand-in
}

// unnested returns indices, which ascend, without the stand-ins at their beginning
// that are nested as deep as they may be, as long as those are few.
func (c *Context) unnested(indices []int) []int {
	n := 0
	for n < len(indices) {
		if t := taleOf(c.messages[indices[n]]); t == nil || t.Depth < maxNested {
			break
		}
		n++
	}
	if n > maxBeside {
		return indices
	}
	return indices[n:]
}

// grow adds messages to a group.
func (c *Context) grow(g *leaving, indices []int) {
	for _, i := range indices {
		m := c.messages[i]
		g.tale.add(m, c.tokens[i], len(g.indices) == 0)
		g.indices = append(g.indices, i)
		g.fresh = g.fresh || taleOf(m) == nil
		if einox.IsRecalled(m) || einox.IsCore(m) {
			g.notes += c.tokens[i]
		} else {
			g.tokens += c.tokens[i]
		}
	}
}

// gain is how many tokens the context loses when standIn takes the group's place.
func (c *Context) gain(g *leaving, standIn *schema.Message) int {
	room := c.config.Budget.Room()
	return g.tokens + max(c.memories-room, 0) - max(c.memories-g.notes-room, 0) - c.count(standIn)
}

// fold puts one stand-in in the place of a group, once the group is stored. It does
// nothing where the stand-in would not be smaller.
func (c *Context) fold(ctx context.Context, g *leaving, s shape) error {
	if len(g.indices) == 0 || c.gain(g, c.groupStandIn(&g.tale, s, draftRef)) <= 0 {
		return nil
	}
	messages := make([]*schema.Message, len(g.indices))
	for n, i := range g.indices {
		messages[n] = c.messages[i]
	}
	ref, err := c.Put(ctx, messages...)
	if err != nil {
		return err
	}
	if g.tale.Depth++; strings.HasPrefix(ref, logPrefix) {
		g.tale.Depth = 0
	}
	m := c.groupStandIn(&g.tale, s, ref)
	if c.gain(g, m) <= 0 {
		return nil
	}
	if s.rounds {
		m = reaching(m, messages)
	}
	first := g.indices[0]
	c.Replace(first, first+1, m)
	c.remove(g.indices[1:])
	c.takeOver(messages, m)
	return nil
}

// takeOver notes that standIn stands in the place of the summary that a step made
// in this call. The session keeps the summary: a model has seen all that it covers,
// and the messages behind it can be summarised when there is a model again.
func (c *Context) takeOver(messages []*schema.Message, standIn *schema.Message) {
	if c.summary != nil && einox.SeqOf(standIn) >= c.summary.Upto && slices.ContainsFunc(messages, c.summary.is) {
		c.taken = true
	}
}

// reaching returns m with the last place in the log that messages reach.
func reaching(m *schema.Message, messages []*schema.Message) *schema.Message {
	var last int64
	for _, x := range messages {
		last = max(last, einox.SeqOf(x))
	}
	if last == 0 {
		return m
	}
	return einox.MarkSeq(m, last)
}

// smallest returns the smallest group that, taken from the oldest of candidates on,
// makes the context fit with room to spare, and the shape of its stand-in. ok is
// false when all candidates together do not suffice; the group is all of them then.
func (c *Context) smallest(candidates [][]int, slack float64, shapes [3]shape) (g *leaving, s shape, ok bool) {
	for _, need := range []int{c.Over() + int(slack*float64(c.config.target())), c.Over()} {
		g = &leaving{}
		for _, indices := range candidates {
			c.grow(g, indices)
			if g.fresh && g.tokens+g.notes > need && c.gain(g, c.groupStandIn(&g.tale, shapes[0], draftRef)) >= need {
				return g, shapes[0], true
			}
		}
	}
	for _, s = range shapes[1:] {
		if c.gain(g, c.groupStandIn(&g.tale, s, draftRef)) >= c.Over() {
			return g, s, true
		}
	}
	return g, shapes[0], false
}
