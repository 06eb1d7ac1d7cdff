// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/einox"
)

const (
	queryMessages   = 6 // newest messages that a model makes a query of
	plainMessages   = 3 // newest messages that are a query themselves
	rewriteMessages = 3 // newest messages that a model is shown when it rewrites
)

// query returns what to look for: the request's query, else one that the model makes
// of its messages, else the last of these. With an error it is the last messages.
func (m *Memory) query(ctx context.Context, run *flow.Run, r *RetrieveRequest) (string, error) {
	if q := strings.TrimSpace(m.redact(r.Query)); q != "" {
		return q, nil
	}
	last := newest(r.Messages, queryMessages)
	plain := m.joined(last[max(0, len(last)-plainMessages):])
	if r.Simple || !m.models.HasModel() || len(last) == 0 {
		return plain, nil
	}
	stage := run.Stage(StageQuery)
	stage.Took(len(last))
	l, prompts := m.prompts(m.joined(last))
	mat := m.material(frameIn(l))
	mat.section("messages", mat.messages(last))
	query := plain
	err := m.ask(ctx, run, l, toolQuery, prompts.Query, mat.text.String(), func(o map[string]any) error {
		q, err := textOf(o, "query")
		if err == nil {
			query = m.redact(q)
		}
		return err
	})
	if err != nil {
		return plain, fmt.Errorf("task: the query is the last messages: %w", err)
	}
	stage.Gave(1)
	return query, nil
}

// newest returns the last n messages that are part of the conversation, as role and
// text: no system prompts, no notes of memory itself, nothing empty.
func newest(messages []*schema.Message, n int) []said {
	var out []said
	for i := len(messages) - 1; i >= 0 && len(out) < n; i-- {
		msg := messages[i]
		if msg == nil || msg.Role == schema.System || einox.IsNote(msg) {
			continue
		}
		text := strings.TrimSpace(einox.Text(msg))
		for _, c := range msg.ToolCalls {
			text = strings.TrimSpace(text + "\n" + c.Function.Name + " " + c.Function.Arguments)
		}
		if text != "" {
			out = append([]said{{Role: string(msg.Role), Text: text}}, out...)
		}
	}
	return out
}

// joined are the texts of messages, redacted, each at most shownMessage characters.
func (m *Memory) joined(messages []said) string {
	texts := make([]string, len(messages))
	for i, s := range messages {
		r := []rune(m.redact(s.Text))
		if len(r) > shownMessage { // a query has room for no mark
			r = append(append([]rune(nil), r[:shownMessage/2]...), r[len(r)-shownMessage/2:]...)
		}
		texts[i] = string(r)
	}
	return strings.Join(texts, "\n")
}

func (m *material) messages(messages []said) []any {
	lines := make([]any, len(messages))
	for i, s := range messages {
		s.Text = m.shown(s.Text, shownMessage)
		lines[i] = s
	}
	return lines
}

// rewrite makes one advice of the hits.
func (m *Memory) rewrite(ctx context.Context, run *flow.Run, r *RetrieveRequest, resp *RetrieveResponse) error {
	stage := run.Stage(StageRewrite)
	stage.Took(len(resp.Hits))
	l, prompts := m.prompts(resp.Query)
	mat := m.material(frameIn(l))
	mat.section("task", []any{said{Text: mat.shown(resp.Query, shownQuery)}})
	if last := newest(r.Messages, rewriteMessages); len(last) > 0 {
		mat.section("messages", mat.messages(last))
	}
	shown := mat.section("experiences", mat.numbered(resp.Hits))
	var advice string
	err := m.ask(ctx, run, l, toolRewrite, prompts.Rewrite, mat.text.String(), func(o map[string]any) (err error) {
		advice, err = textOf(o, "rewritten_context")
		return err
	})
	if err != nil {
		return fmt.Errorf("task: the answer is not rewritten: %w", err)
	}
	stage.Gave(1)
	if rest := resp.Hits[shown:]; len(rest) > 0 { // what the model was not shown is not lost
		advice += "\n\n" + prompts.numbered(rest, shown)
	}
	resp.Answer, resp.Rewritten = advice, true
	return nil
}

// answer returns the hits as a text for an agent, in the language of the query.
func (m *Memory) answer(r *RetrieveRequest, resp *RetrieveResponse) string {
	if len(resp.Hits) == 0 {
		return ""
	}
	_, prompts := m.prompts(resp.Query)
	if r.Simple {
		return prompts.list(resp.Hits)
	}
	return prompts.numbered(resp.Hits, 0)
}

// numbered writes memory by memory, each under its number, from after on.
func (p *Prompts) numbered(hits []backends.Hit, after int) string {
	parts := make([]string, len(hits))
	for i := range hits {
		parts[i] = p.one(after+i+1, hits[i].WhenToUse, hits[i].Text)
	}
	return strings.Join(parts, "\n\n")
}

// one writes one memory. Whatever it holds, no line of it looks like the heading of
// another.
func (p *Prompts) one(n int, when, content string) string {
	return fmt.Sprintf("%s %d\n  %s%s\n  %s%s", p.Memory, n, p.WhenToUse, indented(when), p.Content, indented(content))
}

// list writes a bullet a memory, with a line above and one below.
func (p *Prompts) list(hits []backends.Hit) string {
	var b strings.Builder
	b.WriteString(p.Header + "\n")
	for i := range hits {
		fmt.Fprintf(&b, "- %s%s %s%s\n", p.WhenToUse, oneLine(hits[i].WhenToUse), p.Content, oneLine(hits[i].Text))
	}
	b.WriteString(p.Closing)
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// indented begins every line after the first with two spaces, whichever sign ends one.
func indented(s string) string {
	return strings.ReplaceAll(strings.TrimSpace(lineEnds.Replace(s)), "\n", "\n  ")
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
