// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
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

// procedure decides to write down what the agent did as one memory, in the words of the model
// or verbatim. Unlike a fact it needs the tool calls and their results; the model is shown
// them, and they are stored only as far as it writes them down.
func (b *Backend) procedure(ctx context.Context, c *reconcile.Call, verbatim bool) error {
	lines, err := b.trajectory(c)
	if err != nil || len(lines) == 0 {
		return err
	}
	written, author := "", b.engine.Author
	if verbatim {
		author = authorVerbatim
		for _, l := range lines {
			written += l.Role + ": " + l.Text + "\n"
		}
	} else {
		p := prompts(c.Language)
		system := p.procedure
		if instructions := strings.TrimSpace(c.Instructions); instructions != "" {
			system += "\n\n" + p.instruct + "\n" + instructions
		}
		q := &ask.Question{System: system, User: reconcile.Section("messages", lines), Language: c.Language}
		if written, err = ask.Text(ctx, c.Run, q, nil); err != nil {
			return err
		}
	}
	m := c.Memory(backends.KindProcedure, b.keep.Redact(strings.TrimSpace(written)))
	m.Origin.Role, m.Origin.Author = string(schema.Assistant), cmp.Or(c.Author, author)
	for _, u := range c.Said() {
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
	}
	c.Add(m)
	return nil
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
		if said = strings.TrimSpace(b.keep.Redact(said)); said != "" {
			lines = append(lines, reconcile.Line{Role: string(m.Role), Name: m.ToolName, Text: text.Middle(said, reconcile.MessageRunes(len(c.Messages)))})
		}
	}
	return lines, nil
}
