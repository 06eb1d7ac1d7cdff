// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/reconcile"
	"github.com/einomem/einomem/internal/text"
)

// procedure decides to write down what the agent did as one memory. Unlike a fact
// it needs the tool calls and their results; they are shown to the model and
// stored only as far as it writes them down.
func (b *Backend) procedure(ctx context.Context, c *reconcile.Call) error {
	lines, err := b.trajectory(c)
	if err != nil || len(lines) == 0 {
		return err
	}
	p := prompts(c.Language)
	system := p.procedure
	if instructions := strings.TrimSpace(c.Instructions); instructions != "" {
		system += "\n\n" + p.instruct + "\n" + instructions
	}
	answer, err := ask.Text(ctx, c.Run, &ask.Question{System: system, User: reconcile.Section("messages", lines), Language: c.Language}, func(s string) error {
		if unfenced(s) == "" {
			return ask.ErrEmpty
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.addProcedure(c, unfenced(answer), b.engine.Author)
	return nil
}

// verbatimProcedure decides to store what was said and done as one memory.
func (b *Backend) verbatimProcedure(c *reconcile.Call) error {
	lines, err := b.trajectory(c)
	if err != nil || len(lines) == 0 {
		return err
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Role + ": " + l.Text
	}
	b.addProcedure(c, strings.Join(texts, "\n"), authorVerbatim)
	return nil
}

func (b *Backend) addProcedure(c *reconcile.Call, s, author string) {
	if c.Author != "" {
		author = c.Author
	}
	m := c.Memory(backends.KindProcedure, b.config.Redact(s))
	m.Origin.Role, m.Origin.Author = string(schema.Assistant), author
	for _, u := range c.Said() {
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
	}
	c.Add(m)
}

// trajectory renders everything that was said and done, without system messages
// and notes.
func (b *Backend) trajectory(c *reconcile.Call) ([]reconcile.Line, error) {
	if c.Scope.AgentID == "" {
		return nil, fmt.Errorf("mem0: a procedure: %w: needs Scope.AgentID, the agent that did it", backends.ErrInvalid)
	}
	var lines []reconcile.Line
	for i, m := range c.Messages {
		if m.Message == nil || m.Role == schema.System || einox.IsNote(m.Message) {
			continue
		}
		said := einox.Text(m.Message)
		for _, call := range m.ToolCalls {
			said += "\n" + call.Function.Name + "(" + call.Function.Arguments + ")"
		}
		if err := b.engine.ValidText(m.ID, i, said); err != nil {
			return nil, err
		}
		if said = strings.TrimSpace(b.config.Redact(said)); said != "" {
			lines = append(lines, reconcile.Line{Role: string(m.Role), Name: m.ToolName, Text: text.Middle(said, reconcile.MessageRunes(len(c.Messages)))})
		}
	}
	return lines, nil
}

// unfenced returns a text without the code fence around the whole of it.
func unfenced(s string) string {
	rest, opens := strings.CutPrefix(s, "```")
	body, closes := strings.CutSuffix(rest, "```")
	_, inside, ok := strings.Cut(body, "\n")
	if !opens || !closes || !ok {
		return s
	}
	return strings.TrimSpace(inside)
}
