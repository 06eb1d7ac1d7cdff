// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/modelask"
)

// Defaults of [Summarize].
const (
	// DefaultTimeout is how long one call of the summarising model may take.
	DefaultTimeout = 60 * time.Second
	// DefaultKeepShare is the share of the limit that the newest messages keep.
	DefaultKeepShare = 0.4
	// DefaultCacheSize is how many summaries are remembered.
	DefaultCacheSize = 256
)

// Summarize says how [SummarizeRounds] and [SummarizeCurrent] summarise. A summary
// keeps the goal, the user's directives, facts and decisions, what failed, what is
// open, and the next steps. It is smaller than what it takes the place of, or it is
// not used; the messages themselves are in the archive before, and the reference
// to them is written by code, never by the model.
//
// Groups are summarised one after the other, each with the summary of those
// before it: so a later message corrects what an earlier one said, and however
// long the past is, one summary of bounded size stands for it. When the model fails
// at a group, the groups before it stay summarised, and the rest stays as it is.
type Summarize struct {
	// Model writes the summaries: by a forced call of a tool when it is a
	// [model.ToolCallingChatModel], else as JSON. Required.
	Model model.BaseChatModel
	// GroupTokens is how many tokens of messages one call of the model summarises.
	// Cuts fall between exchanges, and between rounds where these fit; an exchange
	// that is larger is a group alone. Optional. Defaults to 0: as many as the
	// summarising model takes.
	GroupTokens int
	// KeepShare is the share of the budget's limit up to which the newest
	// exchanges stay as they are, above 0 and below 1. Optional. Defaults to
	// DefaultKeepShare.
	KeepShare float64
	// KeepRecent is the number of newest messages, those of the system not
	// counted, that stay instead of a share. Optional. Defaults to 0: KeepShare
	// says it.
	KeepRecent int
	// SummaryWindow is how many tokens the summarising model takes: instructions,
	// former summary, messages and answer. A text that is too long for it alone
	// is shown without its middle. Optional. Defaults to the budget's limit.
	SummaryWindow int
	// SummaryTokens is how many tokens the model is told that its summary may
	// have; twice as many are put up with. Optional. Defaults to a tenth of the
	// budget's limit, at least 200.
	SummaryTokens int
	// Timeout is how long one call of the model may take. Optional. Defaults to
	// DefaultTimeout.
	Timeout time.Duration
	// CacheSize is how many answers of the model are remembered, so that the same
	// messages are not summarised twice. Optional. Defaults to DefaultCacheSize;
	// negative remembers none.
	CacheSize int

	whole bool // does not end once the context fits
	none  bool // KeepRecent 0 means none
	made  *summarizing
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (s Summarize) withDefaults() (Summarize, error) {
	if s.KeepShare == 0 {
		s.KeepShare = DefaultKeepShare
	}
	if s.CacheSize == 0 {
		s.CacheSize = DefaultCacheSize
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	switch {
	case s.Model == nil:
		return s, fmt.Errorf("%w: Model is nil: a summary needs one", backends.ErrInvalid)
	case !(s.KeepShare > 0 && s.KeepShare < 1):
		return s, fmt.Errorf("%w: KeepShare %v: give a share above 0 and below 1", backends.ErrInvalid, s.KeepShare)
	case s.GroupTokens < 0 || s.KeepRecent < 0 || s.SummaryWindow < 0 || s.SummaryTokens < 0:
		return s, fmt.Errorf("%w: GroupTokens %d, KeepRecent %d, SummaryWindow %d, SummaryTokens %d: none may be negative",
			backends.ErrInvalid, s.GroupTokens, s.KeepRecent, s.SummaryWindow, s.SummaryTokens)
	}
	return s, nil
}

// summarizing is what the two steps have in common.
type summarizing struct {
	config Summarize
	with   *summarizer
}

func newSummarizing(cfg Summarize) (*summarizing, error) {
	cfg.made = nil
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ask, err := modelask.New(&modelask.Config{Name: "compaction", Model: c.Model, Timeout: c.Timeout, Tools: []*schema.ToolInfo{answerTool()}})
	if err != nil {
		return nil, err
	}
	return &summarizing{config: c, with: &summarizer{ask: ask, cache: newCache(c.CacheSize), tokens: c.SummaryTokens, window: c.SummaryWindow}}, nil
}

// preparing is a step that checks its configuration, and makes what it keeps from
// one context to the next, before it is used.
type preparing interface{ prepare() (Step, error) }

// prepared returns a copy of steps that are ready, or ErrInvalid.
func prepared(steps []Step) ([]Step, error) {
	ready := slices.Clone(steps)
	for i, s := range steps {
		p, ok := s.(preparing)
		if !ok {
			continue
		}
		r, err := p.prepare()
		if err != nil {
			return nil, fmt.Errorf("compaction: step %d, %s: %w", i+1, s.Name(), err)
		}
		ready[i] = r
	}
	return ready, nil
}

// ready returns what the step works with: what [New] made, or of a step that is
// used by itself, one that remembers nothing.
func (s Summarize) ready() (*summarizing, error) {
	if s.made != nil {
		return s.made, nil
	}
	return newSummarizing(s)
}

// run folds group after group of the stretches that find returns, until the
// context fits.
func (s *summarizing) run(ctx context.Context, c *Context, find func() []*stretch) error {
	c.shown = make(map[shownKey]int)
	for more := true; more && (s.config.whole || c.Over() > 0); {
		more = false
		for _, st := range find() {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if more, err = s.with.fold(ctx, c, st, s.config.GroupTokens); err != nil {
				return err
			}
			if more {
				break // everything stands elsewhere now
			}
		}
	}
	return nil
}

// newest returns where the messages begin that stay because they are new: the
// beginning of an exchange, and not after the newest one.
func (s *summarizing) newest(c *Context, l *layout) int {
	all := make([]exchange, 0, len(c.messages))
	for _, r := range append(l.past[:len(l.past):len(l.past)], l.running) {
		all = append(all, r.exchanges...)
	}
	if len(all) == 0 {
		return len(c.messages)
	}
	from := all[len(all)-1].from // stays whatever it has
	if s.config.KeepRecent > 0 || s.config.none {
		return min(from, c.recent(all, s.config.KeepRecent))
	}
	share := int(s.config.KeepShare * float64(c.Usage().Limit))
	kept := c.sum(from, len(c.messages))
	for i := len(all) - 2; i >= 0 && kept+c.sum(all[i].from, all[i].to) <= share; i-- {
		from = all[i].from
		kept += c.sum(from, all[i].to)
	}
	for _, r := range l.past { // rather whole rounds, if that leaves enough
		if r.from < from && from < r.to && c.sum(r.to, len(c.messages)) >= share/2 {
			return r.to
		}
	}
	return from
}

// recent returns the beginning of the exchange with which the newest n messages
// begin, those of the system not counted.
func (c *Context) recent(all []exchange, n int) int {
	i := c.recentFrom(n)
	for _, e := range all {
		if e.from <= i && i < e.to {
			return e.from
		}
	}
	return i
}

// sum counts the messages [from, to).
func (c *Context) sum(from, to int) int {
	n := 0
	for _, t := range c.tokens[from:to] {
		n += t
	}
	return n
}
