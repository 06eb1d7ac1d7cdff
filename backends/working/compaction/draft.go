// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// draft is a context while steps work on it: its messages, and the tokens of each. It belongs to
// one call of [Compactor.Compact], in one goroutine.
type draft struct {
	config   *Config
	archive  Archive
	language backends.Language
	texts    *phrases

	messages []einox.Marked
	tokens   []int // of messages
	total    int   // of tokens
	initial  int   // total before any step

	replaced int // by the step that runs
	spent    backends.Usage
	summary  *Summary
}

func newDraft(cfg *Config, r *Request) *draft {
	messages := einox.Decode(r.Messages)
	c := &draft{config: cfg, archive: r.Archive, language: languageOf(cfg.Language, messages)}
	c.texts = phrasesIn[c.language]
	c.messages = einox.Repair(messages, c.texts.repair)
	c.tokens = make([]int, len(c.messages))
	for i, m := range c.messages {
		c.tokens[i] = c.count(m)
		c.total += c.tokens[i]
	}
	c.initial = c.total
	return c
}

// languageOf returns the configured language, else the one of the last user message.
func languageOf(configured backends.Language, messages []einox.Marked) backends.Language {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Asks() {
			return configured.For(einox.Text(messages[i].Message))
		}
	}
	return configured.For()
}

// apply runs a step and reports on it.
func (c *draft) apply(ctx context.Context, s *step) Report {
	before := c.total
	c.replaced = 0
	err := s.run(ctx, c)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return Report{Step: s.name, Replaced: c.replaced, Saved: before - c.total, Err: err}
}

func (c *draft) count(m einox.Marked) int { return c.config.Budget.Counter.Message(m.Message) }

// countText counts a single text.
func (c *draft) countText(s string) int { return c.config.Budget.Counter(s) }

// sum counts the messages of a span.
func (c *draft) sum(s einox.Span) int {
	n := 0
	for _, t := range c.tokens[s.From:s.To] {
		n += t
	}
	return n
}

func (c *draft) usage() Usage { return Usage{Tokens: c.total, Limit: c.config.Budget.Limit()} }

// over returns by how many tokens the context exceeds the target of the steps: the limit times
// [Config].Trigger.
func (c *draft) over() int { return c.total - c.config.target() }

// overLimit returns by how many tokens the context exceeds the limit itself.
func (c *draft) overLimit() int { return c.usage().Over() }

// recentFrom returns where the n newest messages begin; the system's do not count.
func (c *draft) recentFrom(n int) int {
	i := len(c.messages)
	for i > 0 && n > 0 {
		if i--; c.messages[i].Role != schema.System {
			n--
		}
	}
	return i
}

// layout is the division of a context. Any change of the context makes it invalid.
type layout struct {
	past    []einox.Span // the rounds before the running one, oldest first
	running einox.Span
	kept    map[int]bool // notes of the running turn, wherever they stand
}

func (c *draft) layout() *layout {
	rounds := einox.Rounds(c.messages)
	last := len(rounds) - 1
	return &layout{past: rounds[:last], running: rounds[last], kept: currentNotes(c.messages, rounds[last].From)}
}

// keeps reports whether message i stays in the context for good: the system's messages, and
// memory's notes for the running turn.
func (l *layout) keeps(messages []einox.Marked, i int) bool {
	return l.kept[i] || messages[i].Role == schema.System && messages[i].Kind == ""
}

// currentNotes returns memory's messages for the turn that begins at start: the notes from there
// on; the last message of the core blocks; and the notes right after the system's messages. A
// note of the turn replaces an earlier one of the same name.
func currentNotes(messages []einox.Marked, start int) map[int]bool {
	kept, names := make(map[int]bool), make(map[string]bool)
	core := -1
	for i, m := range messages {
		switch {
		case m.Kind == einox.Core:
			core = i
		case i >= start && m.Kind == einox.Note:
			kept[i], names[m.Name] = true, true
		}
	}
	if core >= 0 {
		kept[core] = true
	}
	for i, m := range messages[:start] {
		if m.Kind == einox.Note && !names[m.Name] {
			kept[i], names[m.Name] = true, true
		} else if m.Role != schema.System && m.Kind == "" {
			break
		}
	}
	return kept
}

// withhold removes the words of private messages that a step may summarise or quote. It spares
// the messages that stay in any case: the user's in the running round, and the newest exchange.
func (c *draft) withhold() {
	running := c.layout().running
	exchanges := einox.Exchanges(c.messages, einox.Span{To: len(c.messages)})
	for _, e := range exchanges[:max(0, len(exchanges)-1)] {
		for i := e.From; i < e.To; i++ {
			if m := c.messages[i]; m.Private != "" && m.Role != schema.System && (i < running.From || !m.Asks()) {
				m.Message = einox.Withheld(m.Message)
				c.replace([]int{i}, m)
			}
		}
	}
}

// put stores messages in the archive and returns their reference.
func (c *draft) put(ctx context.Context, messages ...einox.Marked) (string, error) {
	if c.archive == nil {
		return "", errNoArchive
	}
	var ref string
	err := work.Catch("archive", func() (err error) {
		ref, err = c.archive.Put(ctx, einox.Encode(messages))
		return err
	})
	if err == nil && ref == "" {
		err = fmt.Errorf("%w: the archive gave no reference", backends.ErrInvalid)
	}
	if err != nil {
		return "", fmt.Errorf("archiving %d messages: %w", len(messages), err)
	}
	return ref, nil
}

// indices returns the indices of the messages of a span.
func indices(s einox.Span) []int {
	var out []int
	for i := s.From; i < s.To; i++ {
		out = append(out, i)
	}
	return out
}

// replace replaces the messages with these ascending indices by m, where the first stood. An empty
// m only removes them. Store them in the archive before; calls of tools and their results
// leave together.
func (c *draft) replace(indices []int, m einox.Marked) {
	for _, i := range indices {
		c.total -= c.tokens[i]
		c.messages[i].Message = nil
	}
	if m.Message != nil && len(indices) > 0 {
		first := indices[0]
		c.messages[first], c.tokens[first] = m, c.count(m)
		c.total += c.tokens[first]
	}
	n := 0
	for i, m := range c.messages {
		if m.Message != nil {
			c.messages[n], c.tokens[n] = m, c.tokens[i]
			n++
		}
	}
	c.messages, c.tokens = c.messages[:n], c.tokens[:n]
	c.replaced += len(indices)
}

// swap is a message that a smaller one may replace.
type swap struct {
	index int
	build func(ref string) einox.Marked // the smaller one
}

// substitute replaces messages by smaller ones, in this order, until over returns 0 or less.
// Each is stored first; one that cannot be stored stays, and the error says why. After two such
// failures in a row it gives up.
func (c *draft) substitute(ctx context.Context, swaps []swap, over func() int) error {
	var errs error
	failures := 0 // in a row
	for _, s := range swaps {
		m, tokens := c.messages[s.index], c.tokens[s.index]
		if over() <= 0 {
			break
		}
		if c.count(s.build(draftRef)) >= tokens {
			continue
		}
		ref := m.Ref // a placeholder's original is in the archive already
		if ref == "" {
			var err error
			if ref, err = c.put(ctx, m); err != nil {
				errs = errors.Join(errs, err)
				if failures++; failures == 2 {
					return errs
				}
				continue
			}
			failures = 0
		}
		if p := s.build(ref); c.count(p) < tokens {
			c.replace([]int{s.index}, p)
		}
	}
	return errs
}
