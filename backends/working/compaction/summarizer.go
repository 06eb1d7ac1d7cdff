// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/modelask"
)

// summarizer makes summaries of groups and keeps them for the next time.
type summarizer struct {
	ask    *modelask.Asker
	cache  *cache
	tokens int // a summary may have, or 0
	window int // of the summarising model, or 0
}

// group is what one call of the model summarises.
type group struct {
	messages []*schema.Message // those that leave, oldest first
	tokens   int               // of these
	former   int               // tokens of the summaries among them that are folded in
	work     bool              // they belong to the running round
}

const (
	leastTokens = 200 // a smaller group is not worth a call
	toolTokens  = 150 // what the tool and the protocol take of the model's window
)

// most is how many tokens a summary may have.
func (s *summarizer) most(c *Context) int {
	if s.tokens > 0 {
		return s.tokens
	}
	return max(c.Usage().Limit/10, leastTokens)
}

// wanted is how many tokens the summary of a group may have: no more than what
// leaves half of what is new as gain.
func (s *summarizer) wanted(c *Context, g *group) int {
	return min(s.most(c), g.former+(g.tokens-g.former)/2-leastTokens/4)
}

// room is how many tokens of messages the summarising model takes at once.
func (s *summarizer) room(c *Context, former []*schema.Message, work bool) int {
	window := s.window
	if window <= 0 {
		window = c.Usage().Limit
	}
	want := s.most(c)
	room := window - want - c.config.Budget.Counter.Text(s.system(prompts(c.language), work, want)) - toolTokens
	for _, m := range former {
		room -= c.Count(m)
	}
	return room
}

func (s *summarizer) system(p *promptSet, work bool, tokens int) string {
	task, format := p.rounds, p.byText
	if work {
		task = p.current
	}
	if s.ask.ByTool() {
		format = p.byTool
	}
	return strings.Join([]string{task, p.rules, fmt.Sprintf(p.length, tokens*p.perToken/10), format}, "\n\n")
}

// summarise returns the summary of a group, without its reference. It asks the
// model unless the same was asked before.
func (s *summarizer) summarise(ctx context.Context, c *Context, g *group) (*summary, error) {
	p := prompts(c.language)
	former, messages := c.split(g.messages)
	want := s.wanted(c, g)
	text, fits := p.clipTo(messages, s.room(c, former, g.work), c.config.Budget.Counter)
	if !fits {
		return nil, fmt.Errorf("%w: %d messages are too many for the window of the summarising model: raise SummaryWindow", backends.ErrInvalid, len(messages))
	}
	lines := make([]inputLine, len(former))
	for i, m := range former {
		lines[i] = p.line(m)
	}
	q := &modelask.Question{
		System: s.system(p, g.work, want), User: inputOf("former_summary", lines) + text, Tool: toolName,
		Complaint: func(err error) string { return p.badAnswer + " " + err.Error() },
	}
	draft := g.draft(c, want)
	d, err := s.digest(ctx, c, q, func(d digest) error {
		draft.digest = d
		return draft.fits(c, p, want, g.tokens)
	})
	if err != nil {
		return nil, err
	}
	draft.digest = d
	return draft, nil
}

// draft is the summary as far as code writes it.
func (g *group) draft(c *Context, want int) *summary {
	s := &summary{work: g.work, noTools: c.config.NoTools, earlier: map[string]int{}}
	for _, m := range g.messages {
		s.join(m)
	}
	if !g.work { // what the tools of past rounds found is among the facts
		s.calls, s.earlier = nil, nil
	}
	s.bound(want/2, c.config.Budget.Counter)
	return s
}

// fits tells why a summary cannot be used. The text is shown to the model.
func (s *summary) fits(c *Context, p *promptSet, want, replaced int) error {
	size := c.Count(schema.UserMessage(s.text(p, draftRef)))
	written := 0
	for _, part := range parts {
		for _, t := range s.digest[part] {
			written += c.config.Budget.Counter.Text(t)
		}
	}
	if size >= replaced || written > 2*want {
		return fmt.Errorf("the summary is too long: at most %d characters, and less than the messages themselves", want*p.perToken/10)
	}
	return nil
}

// digest asks the model, or returns what it answered before. What it could not
// answer is not asked again either.
func (s *summarizer) digest(ctx context.Context, c *Context, q *modelask.Question, fits func(digest) error) (digest, error) {
	key := keyOf(q)
	if held, ok := s.cache.get(key); ok {
		if held.err != nil {
			return nil, held.err
		}
		return held.digest, fits(held.digest)
	}
	var d digest
	var spent backends.Usage
	defer func() { c.Spend(spent) }()
	err := s.ask.Ask(ctx, q, &spent, func(m *schema.Message) error {
		got, err := readDigest(m)
		if err != nil {
			return err
		}
		if d = got.withoutInvented(q.User); len(d) == 0 {
			return errNothing
		}
		if !d.grounded(q.User) {
			return errForeign
		}
		return fits(d)
	})
	if err == nil || errors.Is(err, backends.ErrModel) {
		s.cache.put(&cached{key: key, digest: d, err: err})
	}
	return d, err
}

// split returns the summaries at the beginning, and what comes after them.
func (c *Context) split(messages []*schema.Message) (former, rest []*schema.Message) {
	i := 0
	for i < len(messages) && c.isFormer(messages[i]) {
		i++
	}
	return messages[:i], messages[i:]
}

// isFormer reports whether m may be shown whole as the summary so far. What is longer
// than half a context is no summary of this package's, and leaves the model no room:
// it is shown as messages are, without its middle.
func (c *Context) isFormer(m *schema.Message) bool {
	return standsForMany(m) && c.Count(m) <= c.config.Budget.Limit()/2
}
