// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/modelanswer"
	"github.com/einomem/einomem/internal/modelask"
)

// procedure plans to write down what the agent did as one memory. Unlike a fact
// it needs the tool calls and their results; they are shown to the model and
// stored only as far as it writes them down.
func (b *Backend) procedure(ctx context.Context, in *intake, usage *backends.Usage) (*plan, error) {
	lines, err := b.trajectory(in)
	if err != nil || len(lines) == 0 {
		return &plan{}, err
	}
	lang := b.language(in)
	instructions := strings.TrimSpace(in.req.Instructions)
	system := prompts(lang).procedure
	if instructions != "" {
		system += "\n\n" + prompts(lang).instruct + "\n" + instructions
	}
	text := ""
	q := &modelask.Question{System: system, User: section("messages", lines), Complaint: prompts(lang).complaint}
	err = b.model.Ask(ctx, q, usage, func(m *schema.Message) error {
		if modelanswer.CutOff(m) {
			return modelanswer.ErrTruncated
		}
		if text = unwrapText(m.Content); text == "" {
			return modelanswer.ErrEmpty
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.procedurePlan(in, text, b.author), nil
}

// verbatimProcedure joins what was said and done into one memory.
func (b *Backend) verbatimProcedure(in *intake) (*plan, error) {
	lines, err := b.trajectory(in)
	if err != nil || len(lines) == 0 {
		return &plan{}, err
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Role + ": " + l.Text
	}
	return b.procedurePlan(in, strings.Join(texts, "\n"), authorVerbatim), nil
}

func (b *Backend) procedurePlan(in *intake, text, author string) *plan {
	author = in.author(author)
	m := in.memory(backends.KindProcedure, b.config.Redact(text))
	m.Origin.Role, m.Origin.Author = string(schema.Assistant), author
	for i := range in.said {
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, in.said[i].id)
	}
	return &plan{author: author, decisions: []decision{{outcome: backends.OutcomeAdded, memory: m}}}
}

// trajectory renders everything that was said and done, without system messages
// and notes.
func (b *Backend) trajectory(in *intake) ([]messageLine, error) {
	if in.scope.AgentID == "" {
		return nil, fmt.Errorf("mem0: a procedure: %w: needs Scope.AgentID, the agent that did it", backends.ErrInvalid)
	}
	if n := len(in.req.Messages); n > maxMessages {
		return nil, fmt.Errorf("mem0: %d messages: %w: at most %d a call; split them", n, backends.ErrInvalid, maxMessages)
	}
	share := min(messageRunes, max(minRunes, batchRunes/max(1, len(in.req.Messages))))
	var lines []messageLine
	for i := range in.req.Messages {
		m := in.req.Messages[i].Message
		if m == nil || m.Role == schema.System || einox.IsNote(m) {
			continue
		}
		text := einox.Text(m)
		for _, c := range m.ToolCalls {
			text += "\n" + c.Function.Name + "(" + c.Function.Arguments + ")"
		}
		if err := validText(in.req.Messages[i].ID, i, text); err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(b.config.Redact(text)); text != "" {
			lines = append(lines, messageLine{Role: string(m.Role), Name: m.ToolName, Text: bound(text, share, english.omitted)})
		}
	}
	return lines, nil
}

// unwrapText takes thoughts away, and a code fence around the whole.
func unwrapText(s string) string {
	s = modelanswer.WithoutThoughts(s)
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		if body, closed := strings.CutSuffix(rest, "```"); closed {
			if _, after, found := strings.Cut(body, "\n"); found {
				s = strings.TrimSpace(after)
			}
		}
	}
	return s
}
