// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

const (
	queriesPerCall = 12  // searches for one question, beside the one for all its messages
	queryBytes     = 600 // of a message that are searched with
)

// statements returns what holds about the subject, of the engine's kind. The memories
// belong to the ranker.
func (c *Call) statements(ctx context.Context) ([]*backends.Memory, error) {
	all, err := c.engine.Keeper.All(ctx, c.Partition)
	if err != nil {
		return nil, err
	}
	var out []*backends.Memory
	for _, m := range all {
		if c.states(m) {
			out = append(out, m)
		}
	}
	return out, nil
}

// states reports whether a memory is a statement about the subject that holds now.
func (c *Call) states(m *backends.Memory) bool {
	return m.Kind == c.engine.Kind && m.Active() && !m.Expired(c.Now) && c.about(m)
}

// Candidates returns the statements that the texts may be about, at most n: in turn the
// best of each search with one of the texts or with all of them together, so that none is
// drowned by many that are alike; ByTime also those that were said on the days of the
// messages or stored today. The newest fill the places that are left, because what changes
// a statement may share no word with it.
func (c *Call) Candidates(ctx context.Context, texts []string, n int) ([]*backends.Memory, error) {
	known, err := c.statements(ctx)
	if err != nil {
		return nil, err
	}
	if c.seen == nil {
		c.seen = make(map[string]bool, len(known))
		for _, m := range known {
			c.seen[m.ID] = true
		}
	}
	slices.SortStableFunc(known, func(a, b *backends.Memory) int { return b.Updated.Compare(a.Updated) })
	var lists [][]*backends.Memory
	if len(known) > n {
		if lists, err = c.searches(ctx, texts, n); err != nil {
			return nil, err
		}
		if c.engine.ByTime {
			lists = append(lists, c.ofTheDays(known))
		}
	}
	return inTurn(n, lists, known), nil
}

// searches returns what is found by the texts, a list each.
func (c *Call) searches(ctx context.Context, texts []string, n int) ([][]*backends.Memory, error) {
	var queries []string
	for _, t := range texts[max(0, len(texts)-queriesPerCall):] {
		queries = append(queries, text.TruncateBytes(t, queryBytes))
	}
	if len(queries) > 1 {
		queries = append(queries, text.TruncateBytes(strings.Join(queries, "\n"), 4*queryBytes))
	}
	lists := make([][]*backends.Memory, len(queries))
	for i, q := range queries {
		resp, err := c.engine.Keeper.Search(ctx, c.Partition, &backends.SearchRequest{
			Scope: c.Scope, Query: q, TopK: n, Kinds: []backends.Kind{c.engine.Kind}, Filter: c.About,
		})
		if err != nil {
			return nil, err
		}
		if c.engine.Keeper.Embeds() {
			c.Run.Embedded(1)
		}
		for k := range resp.Hits {
			lists[i] = append(lists[i], &resp.Hits[k].Memory)
		}
	}
	return lists, nil
}

// ofTheDays returns the statements that were said on the days of the messages, or stored
// today, in their order.
func (c *Call) ofTheDays(known []*backends.Memory) []*backends.Memory {
	day := func(t time.Time) string { return t.In(c.engine.Location).Format(time.DateOnly) }
	days := map[string]bool{}
	for _, u := range c.said {
		days[day(u.Time)] = true
	}
	var out []*backends.Memory
	for _, m := range known {
		if days[day(m.Observed)] || day(m.Created) == day(c.Now) {
			out = append(out, m)
		}
	}
	return out
}

// inTurn returns the first n memories of the lists: the first of each, the second of each,
// and so on, and then the rest. Each is there once, as a copy that lasts while the store
// changes.
func inTurn(n int, lists [][]*backends.Memory, rest []*backends.Memory) []*backends.Memory {
	var out []*backends.Memory
	seen := map[string]bool{}
	add := func(m *backends.Memory) {
		if len(out) < n && !seen[m.ID] {
			seen[m.ID] = true
			copied := m.Clone()
			out = append(out, &copied)
		}
	}
	for place := range n {
		for _, list := range lists {
			if place < len(list) {
				add(list[place])
			}
		}
	}
	for _, m := range rest {
		add(m)
	}
	return out
}
