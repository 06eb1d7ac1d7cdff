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
	older, retold := c.currentGroups()
	err := s.leave(ctx, c, older)
	if errors.Is(err, ErrNoArchive) {
		return err
	}
	if c.Over() > 0 && len(retold) > 0 {
		_, retold = c.currentGroups() // where they stand now
		err = errors.Join(err, s.leave(ctx, c, retold))
	}
	return errors.Join(err, c.offloadNewest(ctx), c.tighten(ctx))
}

// leave folds as many of groups, which follow one another, as need be.
func (s ArchiveCurrent) leave(ctx context.Context, c *Context, groups [][]int) error {
	shapes := c.shapes(false)
	g, shape, ok := c.smallest(c.open(groups), slackOf(s.Slack), shapes)
	if !ok {
		shape = shapes[len(shapes)-1]
	}
	if !g.fresh {
		return nil
	}
	return c.fold(ctx, g, shape)
}

// currentGroups returns what of the running round may leave, an exchange each:
// what comes before the newest one, and what other agents retold after it. The
// last message stays.
func (c *Context) currentGroups() (older, retold [][]int) {
	l := c.layout()
	newest := newestExchange(c.messages, l.running.exchanges)
	for n, e := range l.running.exchanges {
		if n == newest || n == len(l.running.exchanges)-1 || l.keeps(c.messages, e.from) || asks(c.messages[e.from]) {
			continue
		}
		var indices []int
		for i := e.from; i < e.to; i++ {
			indices = append(indices, i)
		}
		if n < newest {
			older = append(older, indices)
		} else {
			retold = append(retold, indices)
		}
	}
	return older, retold
}

// open are those of groups that may be nested deeper.
func (c *Context) open(groups [][]int) [][]int {
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
