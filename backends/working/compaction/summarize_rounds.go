// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import "context"

// SummarizeRounds summarises past rounds with a model, in groups, oldest first,
// while the context is too large. All of them together are one message of the
// role user right after the leading system messages; a former summary is folded
// in. Where it stands for the beginning of the session's log, [Result].Summary
// says how far it reaches. Its fields are those of [Summarize].
type SummarizeRounds Summarize

// Name implements [Step].
func (SummarizeRounds) Name() string { return "summarize_rounds" }

// Apply implements [Step].
func (s SummarizeRounds) Apply(ctx context.Context, c *Context) error {
	with, err := Summarize(s).ready()
	if err != nil {
		return err
	}
	return with.run(ctx, c, func() []*stretch {
		l := c.layout()
		stays := func(i int) bool { return l.keeps(c.messages, i) }
		from := 0
		for from < l.running.from && stays(from) {
			from++
		}
		return c.stretches(from, min(with.newest(c, l), l.running.from), stays, l.past...)
	})
}

func (s SummarizeRounds) prepare() (Step, error) {
	made, err := newSummarizing(Summarize(s))
	s.made = made
	return s, err
}
