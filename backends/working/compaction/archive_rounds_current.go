// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/schema"
)

// ArchiveCurrent moves the older steps of the running round to the archive, and puts
// one message in their place, behind the user's, that lists the calls and tells
// where all of it is kept. It calls no model. The newest exchange stays; where
// that alone is too large, the results in it are offloaded, whatever their size,
// and what stands in for older messages is made as short as it can be.
type ArchiveCurrent struct {
	// Slack is what it is for [ArchiveRounds].
	Slack float64
}

// Name implements [Step].
func (ArchiveCurrent) Name() string { return "archive_current" }

// Apply implements [Step].
func (s ArchiveCurrent) Apply(ctx context.Context, c *Context) error {
	shapes := c.shapes(false)
	g, shape, ok := c.smallest(c.openGroups(), slackOf(s.Slack), shapes)
	if !ok {
		shape = shapes[len(shapes)-1]
	}
	var err error
	if g.fresh {
		err = c.fold(ctx, g, shape)
	}
	if errors.Is(err, ErrNoArchive) {
		return err
	}
	return errors.Join(err, c.offloadNewest(ctx), c.tighten(ctx))
}

// currentGroups returns what of the running round may leave, an exchange each.
func (c *Context) currentGroups() [][]int {
	l := c.layout()
	newest := newestExchange(c.messages, l.running.exchanges)
	var out [][]int
	for n, e := range l.running.exchanges {
		if n == newest || n == len(l.running.exchanges)-1 { // what follows the newest is retold by other agents
			continue
		}
		if l.keeps(c.messages, e.from) || asks(c.messages[e.from]) {
			continue
		}
		var indices []int
		for i := e.from; i < e.to; i++ {
			indices = append(indices, i)
		}
		out = append(out, indices)
	}
	return out
}

// openGroups are those of [Context.currentGroups] that may be nested deeper.
func (c *Context) openGroups() [][]int {
	groups := c.currentGroups()
	var firsts []int
	for _, g := range groups {
		firsts = append(firsts, g[0])
	}
	return groups[len(firsts)-len(c.unnested(firsts)):]
}

// newestExchange returns the last of exchanges that an assistant began, or the last
// of all.
func newestExchange(messages []*schema.Message, exchanges []exchange) int {
	for n := len(exchanges) - 1; n >= 0; n-- {
		if messages[exchanges[n].from].Role == schema.Assistant {
			return n
		}
	}
	return len(exchanges) - 1
}

// offloadNewest offloads the results that are left, oldest first, if the context
// still does not fit.
func (c *Context) offloadNewest(ctx context.Context) error {
	var swaps []swap
	for i := c.layout().running.from; i < len(c.messages); i++ {
		if isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, 0))
		}
	}
	return c.substitute(ctx, swaps, c.overLimit)
}

// tighten makes what stands in for past rounds shorter, if the context still does
// not fit: a long summary must not be what a turn fails for.
func (c *Context) tighten(ctx context.Context) error {
	if c.overLimit() <= 0 {
		return nil
	}
	g := &leaving{}
	for _, indices := range c.pastGroups() {
		for _, i := range indices {
			if !standsForMany(c.messages[i]) {
				return nil // another step's work
			}
		}
		c.grow(g, indices)
	}
	shapes := c.shapes(true)
	return c.fold(ctx, g, shapes[len(shapes)-1])
}
