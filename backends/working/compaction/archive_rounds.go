// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "context"

// DefaultSlack is the share of what a context may have that the steps which
// archive rounds free beside what is needed.
const DefaultSlack = 0.1

// ArchiveRounds moves the oldest rounds to the archive, and puts one message in
// their place that tells what the user asked in them, which tools were called, and
// where all of it is kept. It calls no model. What already stands in for older
// rounds goes along, so that there is one such message however often it runs; the
// text of a summary is taken over. The running round stays.
type ArchiveRounds struct {
	// Slack is the share of what a context may have that is freed beside what is
	// needed, so that not every message calls for the next archive, and the
	// provider's cache of the prompt stays good meanwhile. Optional. Defaults to
	// DefaultSlack; negative frees no more than needed.
	Slack float64
}

// Name implements [Step].
func (ArchiveRounds) Name() string { return "archive_rounds" }

// Apply implements [Step].
func (s ArchiveRounds) Apply(ctx context.Context, c *Context) error {
	groups := c.pastGroups()
	if len(groups) > 0 {
		groups[0] = c.unnested(groups[0])
	}
	g, shape, _ := c.smallest(groups, slackOf(s.Slack), c.shapes(true))
	if !g.fresh {
		return nil
	}
	return c.fold(ctx, g, shape)
}

// pastGroups returns what of the past may leave, a round each. What stands before
// the first round goes with it.
func (c *Context) pastGroups() [][]int {
	l := c.layout()
	var out [][]int
	var head []int
	for _, r := range l.past {
		indices, asked := head, false
		for i := r.from; i < r.to; i++ {
			if !l.keeps(c.messages, i) {
				indices = append(indices, i)
				asked = asked || asks(c.messages[i])
			}
		}
		if head = nil; !asked {
			head = indices
			continue
		}
		out = append(out, indices)
	}
	if len(head) > 0 {
		out = append(out, head)
	}
	return out
}

func slackOf(s float64) float64 {
	switch {
	case s == 0:
		return DefaultSlack
	case s > 0:
		return s
	}
	return 0
}
