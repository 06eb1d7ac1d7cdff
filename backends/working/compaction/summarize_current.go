// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "context"

// SummarizeCurrent summarises the older exchanges of the running round with a
// model while the context is too large: what the user asked for stays, and so does
// the newest exchange, or the last thing that another agent did where such was retold
// behind it. The summary is one message of the role user right after the user's
// messages; code lists in it which tools were called with which arguments. A former
// summary of the same round is folded in. Its fields are those of [Summarize].
type SummarizeCurrent Summarize

// Name implements [Step].
func (SummarizeCurrent) Name() string { return "summarize_current" }

// Apply implements [Step].
func (s SummarizeCurrent) Apply(ctx context.Context, c *Context) error {
	with, err := Summarize(s).ready()
	if err != nil {
		return err
	}
	return with.run(ctx, c, func() []*stretch {
		l := c.layout()
		stays := func(i int) bool { return l.keeps(c.messages, i) || asks(c.messages[i]) }
		all := c.stretches(l.running.from, with.newest(c, l), stays, l.running)
		for _, st := range all {
			st.work = true
		}
		return all
	})
}

func (s SummarizeCurrent) prepare() (Step, error) {
	made, err := newSummarizing(Summarize(s))
	s.made = made
	return s, err
}
