// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/internal/einox"
)

// Context is a context under work: its messages, and what each of them counts.
// Messages are counted once. It belongs to one call of [Compactor.Compact] and is
// not safe for concurrent use.
type Context struct {
	config   *Config
	archive  Archive
	language Language

	messages []*schema.Message
	tokens   []int // of messages
	said     int   // tokens of the conversation
	memories int   // tokens of what memory put in

	shown map[shownKey]int // tokens of exchanges for the summarising model, during one step

	replaced int // by the step that runs
	spent    backends.Usage
	summary  *Summary
	taken    bool // a free stand-in took the place of summary
}

func newContext(cfg *Config, r *Request) *Context {
	lang := languageOf(cfg.Language, r.Messages)
	c := &Context{config: cfg, archive: r.Archive, language: lang, messages: repair(r.Messages, lang)}
	c.tokens = make([]int, len(c.messages))
	for i, m := range c.messages {
		c.tokens[i] = c.count(m)
		c.add(m, c.tokens[i])
	}
	return c
}

// apply runs a step and reports on it.
func (c *Context) apply(ctx context.Context, step Step) Report {
	before := c.Usage().Tokens
	c.replaced = 0
	err := step.Apply(ctx, c)
	if err != nil {
		err = fmt.Errorf("%s: %w", step.Name(), err)
	}
	return Report{Step: step.Name(), Replaced: c.replaced, Saved: before - c.Usage().Tokens, Err: err}
}

// Messages returns the messages as they are now, oldest first. Neither the slice
// nor the messages may be changed; [Context.Replace] does, and the slice is to be
// asked for again after it.
func (c *Context) Messages() []*schema.Message { return c.messages }

// Tokens returns what message i counts.
func (c *Context) Tokens(i int) int { return c.tokens[i] }

// Count returns what a message counts that is not in the context.
func (c *Context) Count(m *schema.Message) int { return c.count(m) }

func (c *Context) count(m *schema.Message) int { return c.config.Budget.Counter.Message(m) }

// Usage says how full the context is.
func (c *Context) Usage() budget.Usage {
	b := &c.config.Budget
	return budget.Usage{Tokens: c.said + max(c.memories-b.Room(), 0), Limit: b.Limit()}
}

// Over is by how many tokens the context is larger than what the steps go down
// to: the limit times [Config].Trigger. At 0 or less a step is done.
func (c *Context) Over() int { return c.Usage().Tokens - c.config.target() }

// overLimit is by how many tokens the context is larger than what fits at all.
func (c *Context) overLimit() int { return c.Usage().Over() }

// Language is that of the texts to write: never LanguageAuto.
func (c *Context) Language() Language { return c.language }

// Replace puts with in the place of the messages from up to, not including, to.
// What leaves must be in the archive before; calls of tools and their results
// leave together.
func (c *Context) Replace(from, to int, with ...*schema.Message) {
	for i := from; i < to; i++ {
		c.add(c.messages[i], -c.tokens[i])
	}
	counts := make([]int, len(with))
	for i, m := range with {
		counts[i] = c.count(m)
		c.add(m, counts[i])
	}
	c.messages = slices.Replace(c.messages, from, to, with...)
	c.tokens = slices.Replace(c.tokens, from, to, counts...)
	c.replaced += to - from
}

// Put keeps messages in the archive and returns their reference.
func (c *Context) Put(ctx context.Context, messages ...*schema.Message) (string, error) {
	if c.archive == nil {
		return "", ErrNoArchive
	}
	ref, err := c.archive.Put(ctx, messages)
	if err == nil && ref == "" {
		err = fmt.Errorf("%w: the archive gave no reference", backends.ErrInvalid)
	}
	if err != nil {
		return "", fmt.Errorf("archiving %d messages: %w", len(messages), err)
	}
	return ref, nil
}

// Spend adds to what models were asked for.
func (c *Context) Spend(u backends.Usage) {
	c.spent.ModelCalls += u.ModelCalls
	c.spent.PromptTokens += u.PromptTokens
	c.spent.CompletionTokens += u.CompletionTokens
	c.spent.EmbeddedTexts += u.EmbeddedTexts
}

// Summarised tells the caller of [Compactor.Compact] which summary stands for the
// beginning of the session now.
func (c *Context) Summarised(s *Summary) { c.summary, c.taken = s, false }

// shownSummary is that summary, if no later step took it away; one that a stand-in
// took over is told of as it was.
func (c *Context) shownSummary() *Summary {
	if c.summary == nil || !c.taken && !slices.ContainsFunc(c.messages, c.summary.is) {
		return nil
	}
	return c.summary
}

// add counts tokens where [budget.Budget.Usage] does.
func (c *Context) add(m *schema.Message, tokens int) {
	if einox.IsRecalled(m) || einox.IsCore(m) {
		c.memories += tokens
	} else {
		c.said += tokens
	}
}
