// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"math"

	"github.com/cloudwego/eino/schema"
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
		SummaryWindow: s.p.SummaryWindow, KeepRecent: s.p.KeepRecentCount, none: true, whole: true,
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

// compact offloads large tool messages: all that are not recent when the messages
// that are not are too large together; else, and of the recent ones, as many as it
// takes until the context is not too large, oldest first.
func (s remeStep) compact(ctx context.Context, c *Context) error {
	recent := c.recentFrom(s.p.KeepRecentCount)
	over := c.Over
	if s.before(c, recent) > s.p.MaxTotalTokens {
		over = func() int { return math.MaxInt }
	}
	err := c.substitute(ctx, s.large(c, 0, recent), over)
	return errors.Join(err, c.substitute(ctx, s.large(c, recent, len(c.messages)), c.Over))
}

// large returns how the large tool messages between from and to leave.
func (s remeStep) large(c *Context, from, to int) []swap {
	var swaps []swap
	for i := from; i < to; i++ {
		if c.tokens[i] > s.p.MaxToolMessageTokens && isResult(c.messages[i]) {
			swaps = append(swaps, c.offloadResult(i, s.p.PreviewCharLength))
		}
	}
	return swaps
}

// compress summarises all that is not recent when it is too large together.
func (s remeStep) compress(ctx context.Context, c *Context) error {
	if s.before(c, c.recentFrom(s.p.KeepRecentCount)) <= s.p.MaxTotalTokens {
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
