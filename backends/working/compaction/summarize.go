// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// SummarizeRounds summarises past rounds with a model, in groups, oldest first, while the
// context is too large. The summary is one message of the role user right after the leading
// system messages; a former summary is merged into it. If it covers the beginning of the
// session's log, [Result].Summary says how far it reaches.
//
// A summary keeps the goal, the user's directives, facts and decisions, failures, open items,
// and the next steps. It is used only if it is smaller than the messages that it replaces. The
// messages themselves are archived before, and code writes their reference, never the model.
//
// Groups are summarised one after the other, each with the summary of the groups before it. So a
// later message corrects an earlier one, and one summary of bounded size stands for the past,
// however long that is. When the model fails at a group, the groups before it stay summarised,
// and the rest stays as it is.
type SummarizeRounds struct {
	// Model writes the summaries: by a forced call of a tool when it is a
	// [model.ToolCallingChatModel], else as JSON. Required.
	Model model.BaseChatModel
	// GroupTokens is how many tokens of messages one call of the model summarises. Cuts fall
	// between exchanges, and between rounds where possible; a larger exchange is a group by
	// itself. Optional. Defaults to 0: as many as the summarising model takes.
	GroupTokens int
	// KeepShare is the share of the budget's limit up to which the newest exchanges stay
	// as they are, above 0 and below 1. Optional. Defaults to 0.4.
	KeepShare float64
	// KeepRecent is the number of newest messages that stay instead of a share; the system's do
	// not count. A negative number keeps only the newest exchange. Optional. Defaults to 0:
	// KeepShare decides.
	KeepRecent int
	// SummaryWindow is the window of the summarising model in tokens: instructions, former
	// summary, messages and answer. A text that alone exceeds it is shown with its middle cut
	// out. Optional. Defaults to the budget's limit.
	SummaryWindow int
	// Timeout is how long one call of the model may take. Optional. Defaults to 60 s.
	Timeout time.Duration

	all bool // summarise everything that may leave, even where less would suffice
}

func (s SummarizeRounds) build(c *Config) (*step, error) {
	return s.summarizer("summarize_rounds", false, c.Budget.Limit())
}

// SummarizeCurrent summarises the older exchanges of the running round with a model while the
// context is too large. The user's request and the newest exchange stay. The summary is one
// message of the role user right after the user's messages. Code lists in it the tools that were
// called, with their arguments. A former summary of the same round is merged into it. Its fields
// are the fields of [SummarizeRounds].
type SummarizeCurrent SummarizeRounds

func (s SummarizeCurrent) build(c *Config) (*step, error) {
	return SummarizeRounds(s).summarizer("summarize_current", true, c.Budget.Limit())
}

// withDefaults returns a complete copy, or ErrInvalid.
func (s SummarizeRounds) withDefaults(limit int) (SummarizeRounds, error) {
	work.Default(&s.KeepShare, 0.4)
	work.Default(&s.SummaryWindow, limit)
	switch {
	case !(s.KeepShare > 0 && s.KeepShare < 1):
		return s, fmt.Errorf("%w: KeepShare %v: give a share above 0 and below 1", backends.ErrInvalid, s.KeepShare)
	case s.GroupTokens < 0 || s.SummaryWindow < 0:
		return s, fmt.Errorf("%w: GroupTokens %d, SummaryWindow %d: neither may be negative", backends.ErrInvalid, s.GroupTokens, s.SummaryWindow)
	}
	return s, nil
}

// run summarises group after group, until the context fits.
func (s *summarizer) run(ctx context.Context, c *draft) error {
	for s.config.all || c.over() > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		g := s.next(c)
		if g == nil {
			return nil
		}
		if err := s.fold(ctx, c, g); err != nil {
			return err
		}
	}
	return nil
}

// newest returns where the recent messages begin that stay: at the beginning of an exchange, at
// most the newest one.
func (s *summarizer) newest(c *draft, l *layout) int {
	all := einox.Exchanges(c.messages, einox.Span{To: len(c.messages)})
	if len(all) == 0 {
		return 0
	}
	last := len(all) - 1
	from := all[last].From // the newest exchange stays, whatever its size
	if s.config.KeepRecent != 0 {
		recent := c.recentFrom(s.config.KeepRecent)
		for ; all[last].From > recent; last-- {
		}
		return all[last].From
	}
	share := int(s.config.KeepShare * float64(c.config.Budget.Limit()))
	kept := c.sum(all[last])
	for i := last - 1; i >= 0 && kept+c.sum(all[i]) <= share; i-- {
		from = all[i].From
		kept += c.sum(all[i])
	}
	for _, r := range l.past { // keep whole rounds instead, if these are enough
		if r.From < from && from < r.To && c.sum(einox.Span{From: r.To, To: len(c.messages)}) >= share/2 {
			return r.To
		}
	}
	return from
}

// leastTokens is the size of a group that is worth a call of the model.
const leastTokens = 200

// group is the input of one call of the model: consecutive messages that all leave, so that the
// summary takes their place.
type group struct {
	einox.Span
	former []einox.Marked // summaries at its beginning, which are merged
	folded int            // their tokens
	tokens int            // of the new messages
	shown  int            // their size as the model sees them
}

// next returns the oldest group that is worth a call, or nil.
func (s *summarizer) next(c *draft) *group {
	l, room := c.layout(), s.room(c)
	span := einox.Span{To: min(s.newest(c, l), l.running.From)}
	if s.running {
		span = einox.Span{From: l.running.From, To: s.newest(c, l)}
	}
	g := &group{Span: einox.Span{From: span.From, To: span.From}}
	var whole *group // the longest part of g that ends with a round
	for _, e := range einox.Exchanges(c.messages, span) {
		asks, worth := c.messages[e.From].Asks(), g.tokens >= leastTokens
		switch {
		case l.keeps(c.messages, e.From) || s.running && asks:
			if worth {
				return g
			}
			g = &group{Span: einox.Span{From: e.To, To: e.To}}
			continue
		case asks && worth:
			part := *g
			whole = &part
		}
		shown, most := s.shown(c, e), room-g.folded
		if s.config.GroupTokens > 0 {
			most = min(most, s.config.GroupTokens)
		}
		if worth && g.shown+shown > most {
			if whole != nil {
				return whole
			}
			return g
		}
		g.take(c, e, shown)
	}
	if g.tokens < leastTokens {
		return nil
	}
	return g
}

// take adds an exchange. Memory's own messages leave with it and stay out of the summary. A
// digest longer than half a context is from elsewhere, and is summarised as a new message:
// merged whole, it would leave the model too little room.
func (g *group) take(c *draft, e einox.Span, shown int) {
	g.To = e.To
	m, tokens := c.messages[e.From], c.sum(e)
	switch {
	case m.Added():
	case g.tokens == 0 && isDigest(m) && tokens <= c.config.Budget.Limit()/2:
		g.former = append(g.former, m)
		g.folded += tokens
	default:
		g.tokens += tokens
		g.shown += shown
	}
}

// messages returns the messages of the group to archive and summarise.
func (g *group) messages(c *draft) []einox.Marked {
	var out []einox.Marked
	for _, m := range c.messages[g.From:g.To] {
		if !m.Added() {
			out = append(out, m)
		}
	}
	return out
}

// fold summarises a group, stores it, and puts the summary in its place.
func (s *summarizer) fold(ctx context.Context, c *draft, g *group) error {
	d, err := s.summarise(ctx, c, g)
	if err != nil {
		return err
	}
	ref, err := c.put(ctx, g.messages(c)...)
	if err != nil {
		return err
	}
	m := c.placeholder(d, s.shape(c, g), ref)
	if c.count(m) >= g.folded+g.tokens {
		return fmt.Errorf("%w: the summary is not smaller than what it takes the place of", backends.ErrModel)
	}
	if upto := reaches(ref); upto > 0 && !s.running {
		m.Seq = upto
		c.summary = &Summary{Text: m.Content, Upto: upto}
	}
	c.replace(indices(g.Span), m)
	return nil
}

// reaches returns the last sequence number of a reference to a range that begins with the first
// entry of the session's log; 0 for any other reference.
func reaches(ref string) int64 {
	var last int64
	_, _ = fmt.Sscanf(ref, "log-1-%d", &last) // last stays 0 for any other ref
	return last
}
