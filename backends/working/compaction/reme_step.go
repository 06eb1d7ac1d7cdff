// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// remeStep is one of ReMe's modes.
type remeStep struct {
	p               Params
	rounds, current Step // of compress
}

// Name implements [Step].
func (s remeStep) Name() string { return "reme_" + string(s.p.WorkingSummaryMode) }

func (s remeStep) prepare() (Step, error) {
	if s.p.Model == nil {
		return s, nil
	}
	with := Summarize{
		Model: s.p.Model, GroupTokens: max(s.p.GroupTokenThreshold, 0),
		KeepRecent: s.p.KeepRecentCount, none: true, whole: true,
	}
	var err error
	if s.rounds, err = SummarizeRounds(with).prepare(); err == nil {
		s.current, err = SummarizeCurrent(with).prepare()
	}
	return s, err
}

// Apply implements [Step].
func (s remeStep) Apply(ctx context.Context, c *Context) error {
	if s.p.WorkingSummaryMode == ModeCompress {
		return s.compress(ctx, c)
	}
	before := c.all()
	if err := s.compact(ctx, c); err != nil || s.p.WorkingSummaryMode == ModeCompact {
		return err
	}
	if float64(c.all()) <= s.p.CompactRatioThreshold*float64(before) {
		return nil
	}
	return s.compress(ctx, c)
}

// compact offloads large tool messages: all that are not recent when these are too
// large together; and more of them, oldest first, the recent ones last, while the
// context is.
func (s remeStep) compact(ctx context.Context, c *Context) error {
	recent := c.recent(nil, s.p.KeepRecentCount)
	all := s.before(c, recent) > s.p.MaxTotalTokens
	for i := range c.messages {
		if c.messages[i].Role != schema.Tool || c.tokens[i] <= s.p.MaxToolMessageTokens {
			continue
		}
		if c.Over() <= 0 && (i >= recent || !all) {
			continue
		}
		if err := s.offload(ctx, c, i); err != nil {
			return err
		}
	}
	return nil
}

// compress summarises all that is not recent when it is too large together.
func (s remeStep) compress(ctx context.Context, c *Context) error {
	if s.before(c, c.recent(nil, s.p.KeepRecentCount)) <= s.p.MaxTotalTokens {
		return nil
	}
	if err := s.rounds.Apply(ctx, c); err != nil {
		return err
	}
	return s.current.Apply(ctx, c)
}

// before counts the tokens of the messages before i that are not the system's.
func (s remeStep) before(c *Context, i int) int {
	n := 0
	for j := range i {
		if c.messages[j].Role != schema.System {
			n += c.tokens[j]
		}
	}
	return n
}

// all counts the tokens of all messages.
func (c *Context) all() int { return c.said + c.memories }

// lastResort is a step that works only while the context does not fit the model's
// window, whatever Trigger says.
type lastResort struct{ Step }

// Apply implements [Step].
func (s lastResort) Apply(ctx context.Context, c *Context) error {
	if c.Usage().Over() <= 0 {
		return nil
	}
	return s.Step.Apply(ctx, c)
}

// offload puts a stand-in in the place of a tool message.
func (s remeStep) offload(ctx context.Context, c *Context, i int) error {
	ref, err := c.Put(ctx, c.messages[i])
	if err != nil {
		return err
	}
	m := *c.messages[i]
	m.Content = ref
	c.Replace(i, i+1, einox.MarkRef(&m, ref))
	return nil
}
