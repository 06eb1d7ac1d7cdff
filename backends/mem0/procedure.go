// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// stepRunes is how much of each message a procedure's question shows, at most.
const stepRunes = 6000

// procedure decides to write down the agent's work as one memory, in the words of the model. Unlike
// a fact it needs the tool calls and their results: the model sees them, and the store gets only
// the parts that it writes down.
func (b *Backend) procedure(ctx context.Context, c *reconcile.Call) error {
	lines, err := b.trajectory(c)
	if err != nil || len(lines) == 0 {
		return err
	}
	p := promptsIn[c.Language.For()]
	system := p.procedure
	if instructions := strings.TrimSpace(c.Instructions); instructions != "" {
		system += "\n\n" + p.instruct + "\n" + instructions
	}
	written, err := ask.Text(ctx, c.Run, &ask.Question{System: system, User: ask.Section("messages", lines), Language: c.Language}, nil)
	if err != nil {
		return err
	}
	m := c.Memory(backends.KindProcedure, b.keep.Redact(strings.TrimSpace(written)))
	m.Origin.Role, m.Origin.Author = string(schema.Assistant), cmp.Or(c.Author, b.engine.Author)
	for _, u := range c.Said() {
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
	}
	c.Add(m)
	return nil
}

// trajectory renders all words and actions, except for system messages and notes.
func (b *Backend) trajectory(c *reconcile.Call) ([]reconcile.Line, error) {
	if c.Scope.AgentID == "" {
		return nil, fmt.Errorf("mem0: a procedure: %w: needs Scope.AgentID, the agent that did it", backends.ErrInvalid)
	}
	var lines []reconcile.Line
	for _, m := range c.Messages {
		if m.Message == nil || m.Role == schema.System || einox.IsNote(m.Message) {
			continue
		}
		said := einox.Text(m.Message)
		for _, call := range m.ToolCalls {
			said += "\n" + call.Function.Name + "(" + call.Function.Arguments + ")"
		}
		if !utf8.ValidString(said) {
			return nil, fmt.Errorf("mem0: message %q: %w: not UTF-8", m.ID, backends.ErrInvalid)
		}
		if said = strings.TrimSpace(b.keep.Redact(said)); said == "" {
			continue
		}
		step := text.Middle(said, min(stepRunes, max(200, 10*stepRunes/len(c.Messages))))
		if step != said {
			u := &reconcile.Utterance{ID: m.ID, Turn: m.Turn, Role: string(m.Role), Time: m.Time}
			c.Skip(u, said, errors.New("a procedure is written down without the middle of its long messages"))
		}
		lines = append(lines, reconcile.Line{Role: string(m.Role), Name: m.ToolName, Text: step})
	}
	return lines, nil
}
