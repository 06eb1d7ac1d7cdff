// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// toolName is the tool by which the model answers. Only its arguments matter: they are the
// summary.
const toolName = "keep_summary"

// answer is the model's answer. The aliases are names that models take from elsewhere.
type answer struct {
	Goal       string   `json:"goal" jsonschema:"required" alias:"goals,overall_goal,objective,目标,用户目标"`
	Directives []string `json:"directives" jsonschema:"required" alias:"user_directives,instructions,constraints,要求,用户的要求,指示"`
	Facts      []string `json:"facts" jsonschema:"required" alias:"facts_and_decisions,key_knowledge,decisions,summary,事实,事实与决定,摘要"`
	Failed     []string `json:"failed" jsonschema:"required" alias:"failures,what_failed,errors,失败,失败的尝试"`
	Open       []string `json:"open" jsonschema:"required" alias:"open_items,open_work,未完成,未完成的事,待办"`
	Next       []string `json:"next" jsonschema:"required" alias:"next_steps,plan,下一步"`
}

// text writes an answer with headings; "" for an empty one.
func (a *answer) text(t *phrases) string {
	var out []string
	for i, part := range [...][]string{{a.Goal}, a.Directives, a.Facts, a.Failed, a.Open, a.Next} {
		var entries []string
		for _, e := range part {
			if e = cleanEntry(e); e != "" && !slices.Contains(entries, e) {
				entries = append(entries, e)
			}
		}
		if len(entries) > 0 {
			out = append(out, section(t.parts[i], entries))
		}
	}
	return strings.Join(out, "\n")
}

// emptyWords are words by which models fill a part that should stay empty.
var emptyWords = []string{"", "none", "n/a", "null", "nothing", "...", "…", "……", "无", "没有", "暂无"}

func cleanEntry(s string) string {
	s = strings.TrimSpace(strings.TrimLeft(text.Clean(s), "-*• "))
	if slices.Contains(emptyWords, strings.ToLower(strings.TrimRight(s, ".。 "))) {
		return ""
	}
	return s
}

// summarizer asks a model for summaries, and remembers them.
type summarizer struct {
	config  SummarizeRounds
	running bool // it summarises steps of the running round, else past rounds
	model   *ask.Model
	cache   sync.Map     // of cached, by the hash of the whole question
	held    atomic.Int64 // how many were stored there
}

// summarizer returns the step that asks s.Model.
func (s SummarizeRounds) summarizer(name string, running bool, limit int) (*step, error) {
	s, err := s.withDefaults(limit)
	if err != nil {
		return nil, err
	}
	m, err := ask.New(&ask.Config{Name: "summary", Model: s.Model, Timeout: s.Timeout, Limit: "compaction.SummarizeRounds.Timeout"})
	if err != nil {
		return nil, err
	}
	with := &summarizer{config: s, running: running, model: m}
	return &step{name: name, run: with.run}, nil
}

// size is how many tokens the summary of a group may have. At least half of the new tokens are
// to be gained.
func (s *summarizer) size(c *draft, g *group) int {
	return min(s.sizeLimit(c), g.folded+g.tokens/2-leastTokens/4)
}

// sizeLimit is how many tokens any summary may have.
func (s *summarizer) sizeLimit(c *draft) int { return max(c.config.Budget.Limit()/10, leastTokens) }

// shape says which parts the placeholder of a summary shows. The findings of tools in past
// rounds are among the facts; the calls of the running round are listed, fewer in small windows.
func (s *summarizer) shape(c *draft, g *group) shape {
	if !s.running {
		return shape{summary: true}
	}
	return shape{summary: true, running: true, lines: min(max(s.size(c, g)/50, 2), maxLines)}
}

// formTokens is the part of the model's window for the tool, the protocol, and the sentence
// about the form of the answer.
const formTokens = 150

// room is how many tokens of messages and former summaries one call of the model shows.
func (s *summarizer) room(c *draft) int {
	limit := s.sizeLimit(c)
	return s.config.SummaryWindow - limit - c.countText(s.system(c.texts, limit)) - formTokens
}

func (s *summarizer) system(t *phrases, tokens int) string {
	task := t.askRounds
	if s.running {
		task = t.askCurrent
	}
	return strings.Join([]string{task, t.askRules, fmt.Sprintf(t.askLength, tokens*t.runesPerTen/10)}, "\n\n")
}

// summarise returns the digest of a group. It asks the model unless the answer is cached.
func (s *summarizer) summarise(ctx context.Context, c *draft, g *group) (*digest, error) {
	t, size := c.texts, s.size(c, g)
	messages, err := s.fit(c, g)
	if err != nil {
		return nil, err
	}
	material := ask.Section("messages", messages)
	if len(g.former) > 0 {
		material = ask.Section("former_summary", linesOf(g.former)) + material
	}
	q := &ask.Question{
		System: s.system(t, size), User: material,
		Tool: toolName, Purpose: "Keep the summary.", Language: c.language,
	}
	d := s.digestOf(c, g)
	d.Summary, err = s.ask(ctx, c, q, func(summary string) error {
		if summary == "" {
			return errors.New(t.errNothing)
		}
		draft := *d
		draft.Summary = summary
		whole := c.count(c.placeholder(&draft, s.shape(c, g), draftRef))
		if whole >= g.folded+g.tokens || c.countText(summary) > 2*size {
			return fmt.Errorf(t.errTooLong, size*t.runesPerTen/10)
		}
		return nil
	})
	return d, err
}

// digestOf returns the parts of a group's digest that code writes. It names placeholders that no
// model has summarised: the summary knows only their text.
func (s *summarizer) digestOf(c *draft, g *group) *digest {
	d := &digest{}
	for _, m := range g.messages(c) {
		d.add(m, c.count(m))
	}
	for _, m := range g.former {
		d.Unread = append(d.Unread, unreadIn(m)...)
	}
	d.ByModel = true
	if !s.running {
		d.Asked, d.Calls, d.Tools = nil, nil, nil
	}
	return d
}

// unreadIn returns the name of a placeholder that code wrote: one of ours by its reference.
// Among the placeholders that a session loads, a summary has several lines, a notice one.
func unreadIn(m einox.Marked) []string {
	d := digestOf(m)
	switch {
	case d != nil && !d.ByModel:
		return []string{m.Ref}
	case d == nil && !strings.Contains(einox.Text(m.Message), "\n"):
		return []string{text.Line(einox.Text(m.Message), 3*lineRunes)}
	}
	return nil
}

// ask asks the model, or returns the cached answer. A failure of the model is cached too.
func (s *summarizer) ask(ctx context.Context, c *draft, q *ask.Question, check func(string) error) (string, error) {
	key := sha256.Sum256([]byte(q.System + "\x00" + q.User))
	if known, ok := s.cache.Load(key); ok {
		held := known.(cached)
		if held.err == nil {
			held.err = check(held.summary)
		}
		return held.summary, held.err
	}
	run := s.model.Begin(ask.Limits{})
	out, err := ask.For(ctx, run, q, func(a *answer) error { return check(a.text(c.texts)) })
	c.spent.Add(run.Usage())
	summary := ""
	if err == nil {
		summary = out.Value.text(c.texts)
	}
	if err == nil || errors.Is(err, backends.ErrModel) {
		if s.held.Add(1)%cacheSize == 0 {
			s.cache.Clear()
		}
		s.cache.Store(key, cached{summary, err})
	}
	return summary, err
}

// line is a message as the summarising model sees it. Reasoning is left out: it is derived, and
// its outcome is in the messages.
type line struct {
	Role  string `json:"role"`
	Tool  string `json:"tool,omitempty"`
	Text  string `json:"text,omitempty"`
	Calls []call `json:"calls,omitempty"`
}

type call struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"`
}

// lineOf returns a message as a line. Placeholders have the role "summary". Messages of the role
// user from another author have "context", so that the model takes no directives from them.
func lineOf(m einox.Marked) line {
	if isDigest(m) {
		return line{Role: "summary", Text: bodyOf(m.Message)}
	}
	l := line{Role: string(m.Role), Text: einox.Text(m.Message)}
	for _, p := range einox.Parts(m.Message) {
		if p.Media != "" {
			l.Text = strings.TrimSpace(l.Text + " [" + p.Media + "]")
		}
	}
	if m.Role == schema.User && (!m.Asks() || m.Digest) {
		l.Role = "context"
	}
	if m.Role == schema.Tool {
		l.Tool = m.ToolName
	}
	for i := range m.ToolCalls {
		l.Calls = append(l.Calls, call{Tool: m.ToolCalls[i].Function.Name, Arguments: m.ToolCalls[i].Function.Arguments})
	}
	return l
}

func linesOf(messages []einox.Marked) []line {
	out := make([]line, len(messages))
	for i, m := range messages {
		out[i] = lineOf(m)
	}
	return out
}

// shown counts an exchange as the model sees it.
func (s *summarizer) shown(c *draft, e einox.Span) int {
	return c.countText(ask.Section("m", linesOf(c.messages[e.From:e.To])))
}

// fit returns the new messages of a group as lines that fit the model's window: the longest
// texts lose their middle.
func (s *summarizer) fit(c *draft, g *group) ([]line, error) {
	most := s.room(c) - g.folded
	if most < leastTokens {
		return nil, fmt.Errorf("%w: the summarising model's window is too small for the prompt and the former summary: raise SummaryWindow", backends.ErrInvalid)
	}
	messages := g.messages(c)[len(g.former):]
	for each := most; each >= 16; each = each * 3 / 4 {
		lines := linesOf(messages)
		for i := range lines {
			lines[i].Text = text.Fit(lines[i].Text, each, c.countText)
			for n := range lines[i].Calls {
				lines[i].Calls[n].Arguments = text.Fit(lines[i].Calls[n].Arguments, each, c.countText)
			}
		}
		if c.countText(ask.Section("messages", lines)) <= most {
			return lines, nil
		}
	}
	return nil, fmt.Errorf("%w: %d messages are too many for the window of the summarising model: raise SummaryWindow", backends.ErrInvalid, len(messages))
}

// cacheSize is the number of answers after which the cache is cleared.
const cacheSize = 256

// cached is the answer to a question. A caller may drop the compacted context: a MessageModifier
// gets the whole history at every call. The cache makes it pay once for each summary.
type cached struct {
	summary string
	err     error
}
