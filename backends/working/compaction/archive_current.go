// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"

	"github.com/einomem/einomem/internal/einox"
)

// ArchiveCurrent moves the older steps of the running round to the archive, and puts one
// message in their place, behind the user's, that lists the calls and says where all of
// it is kept. It calls no model. The newest exchange stays; where that alone is too
// large, the results in it are offloaded, whatever their size, and the placeholders of
// older rounds are made as short as they can be.
type ArchiveCurrent struct{}

func (ArchiveCurrent) build(*Config) (*step, error) {
	return &step{name: "archive_current", run: func(ctx context.Context, c *draft) error {
		g, s, _ := c.smallest(c.runningGroups(), c.shapes(true))
		var err error
		if g.fresh {
			err = c.fold(ctx, g, s)
		}
		if errors.Is(err, errNoArchive) {
			return err
		}
		return errors.Join(err, c.offloadNewest(ctx), c.tighten(ctx))
	}}, nil
}

// runningGroups returns what of the running round may leave, an exchange each: all but
// what the user said, and the newest exchange.
func (c *draft) runningGroups() [][]int {
	l := c.layout()
	exchanges := einox.Exchanges(c.messages, l.running)
	var out [][]int
	for _, e := range exchanges[:max(0, len(exchanges)-1)] {
		if l.keeps(c.messages, e.From) || einox.Asks(c.messages[e.From]) {
			continue
		}
		out = append(out, indices(e))
	}
	return out
}

// offloadNewest offloads the results that are left, oldest first, if the context still
// does not fit.
func (c *draft) offloadNewest(ctx context.Context) error {
	var swaps []swap
	for i := c.layout().running.From; i < len(c.messages); i++ {
		if isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, 0))
		}
	}
	return c.substitute(ctx, swaps, c.overLimit)
}

// tighten makes what stands for past rounds shorter, if the context still does not fit:
// a long summary must not be what a turn fails for.
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
