// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/einox"
)

// SummarizeRounds summarises past rounds with a model, in groups, oldest first, while the
// context is too large. All of them together are one message of the role user right after
// the leading system messages; a former summary is folded in. Where it stands for the
// beginning of the session's log, [Result].Summary says how far it reaches.
//
// A summary keeps the goal, the user's directives, facts and decisions, what failed, what
// is open, and the next steps. It is smaller than what it takes the place of, or it is not used; the
// messages themselves are in the archive before, and the reference to them is written by
// code, never by the model.
//
// Groups are summarised one after the other, each with the summary of those before it:
// so a later message corrects what an earlier one said, and however long the past is, one
// summary of bounded size stands for it. When the model fails at a group, the groups
// before it stay summarised, and the rest stays as it is.
type SummarizeRounds struct {
	// Model writes the summaries: by a forced call of a tool when it is a
	// [model.ToolCallingChatModel], else as JSON. Required.
	Model model.BaseChatModel
	// GroupTokens is how many tokens of messages one call of the model summarises. Cuts
	// fall between exchanges, and between rounds where possible; an exchange that is
	// larger is a group alone. Optional. Defaults to 0: as many as the summarising model
	// takes.
	GroupTokens int
	// KeepShare is the share of the budget's limit up to which the newest exchanges stay
	// as they are, above 0 and below 1. Optional. Defaults to 0.4.
	KeepShare float64
	// KeepRecent is the number of newest messages, those of the system not counted, that
	// stay instead of a share; negative keeps the newest exchange alone. Optional.
	// Defaults to 0: KeepShare says it.
	KeepRecent int
	// SummaryWindow is how many tokens the summarising model takes: instructions, former
	// summary, messages and answer. A text that is too long for it alone is shown
	// without its middle. Optional. Defaults to the budget's limit.
	SummaryWindow int
	// Timeout is how long one call of the model may take. Optional. Defaults to 60 s.
	Timeout time.Duration

	all bool // summarise all that is not kept, not only as much as it takes
}

func (s SummarizeRounds) build(c *Config) (*step, error) {
	return s.summarizer("summarize_rounds", false, c.Budget.Limit())
}

// SummarizeCurrent summarises the older exchanges of the running round with a model while
// the context is too large: what the user asked for stays, and so does the newest
// exchange. The summary is one message of the role user right after the user's messages;
// code lists in it which tools were called with which arguments. A former summary of the
// same round is folded in. Its fields are those of [SummarizeRounds].
type SummarizeCurrent SummarizeRounds

func (s SummarizeCurrent) build(c *Config) (*step, error) {
	return SummarizeRounds(s).summarizer("summarize_current", true, c.Budget.Limit())
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (s SummarizeRounds) withDefaults(limit int) (SummarizeRounds, error) {
	config.Default(&s.KeepShare, 0.4)
	config.Default(&s.SummaryWindow, limit)
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

// newest returns where the messages begin that stay because they are new: the beginning
// of an exchange, and not after the newest one.
func (s *summarizer) newest(c *draft, l *layout) int {
	all := einox.Exchanges(c.messages, einox.Span{To: len(c.messages)})
	if len(all) == 0 {
		return 0
	}
	last := len(all) - 1
	from := all[last].From // stays whatever it has
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
	for _, r := range l.past { // rather whole rounds, if that leaves enough
		if r.From < from && from < r.To && c.sum(einox.Span{From: r.To, To: len(c.messages)}) >= share/2 {
			return r.To
		}
	}
	return from
}

// leastTokens is the size of a group that is worth a call of the model.
const leastTokens = 200

// group is what one call of the model summarises: messages that follow one another, none
// of which stays, so that the summary stands where they stood.
type group struct {
	einox.Span
	former []*schema.Message // summaries at its beginning, which are folded in
	folded int               // their tokens
	tokens int               // of what is new
	shown  int               // the same as the model sees it
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
		asks, worth := einox.Asks(c.messages[e.From]), g.tokens >= leastTokens
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

// take adds an exchange. What memory put in leaves with it and is not summarised; what is
// longer than half a context is no summary of this package's, and leaves the model no room
// to show it whole.
func (g *group) take(c *draft, e einox.Span, shown int) {
	g.To = e.To
	m, tokens := c.messages[e.From], c.sum(e)
	switch {
	case isMemory(m):
	case g.tokens == 0 && isDigest(m) && tokens <= c.config.Budget.Limit()/2:
		g.former = append(g.former, m)
		g.folded += tokens
	default:
		g.tokens += tokens
		g.shown += shown
	}
}

// messages returns what of the group is archived and summarised.
func (g *group) messages(c *draft) []*schema.Message {
	var out []*schema.Message
	for _, m := range c.messages[g.From:g.To] {
		if !isMemory(m) {
			out = append(out, m)
		}
	}
	return out
}

// fold summarises a group and puts the summary in its place, once the group is stored.
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
		m = einox.MarkSeq(m, upto)
		c.summary = &Summary{Text: m.Content, Upto: upto}
	}
	c.replace(indices(g.Span), m)
	return nil
}

// reaches returns the last sequence number of a range of the session's log that begins
// with the log's first entry; 0 of any other reference.
func reaches(ref string) int64 {
	var last int64
	_, _ = fmt.Sscanf(ref, "log-1-%d", &last) // leaves 0 where ref is another one
	return last
}
