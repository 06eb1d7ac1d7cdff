// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/einox"
)

// Turn is a turn of a conversation: a user's message and all that was done about it.
type Turn struct {
	Scope    backends.Scope
	ID       string
	Messages []backends.Message // in order, tool calls and results among them; shared, not to be changed
}

// Outcome says how a turn went.
type Outcome struct {
	Score  float64 // 1 is full success, 0 failure
	TaskID string  // Optional. Attempts at one task that are learnt from together, in one stretch of the log, are compared.
	Note   string  // Optional. What was good or wrong, in words; the model that learns sees it.
}

// VerdictOf returns a [Config.Verdict] that reads how a turn went from the results of
// one tool: a JSON object with a field that is a number, or true or false, perhaps in a
// code fence. Results without it say nothing, and so do those that begin with words: an
// object further on may be one that the tool was given.
func VerdictOf(tool, field string) func(*schema.Message) (float64, bool) {
	return func(m *schema.Message) (float64, bool) {
		if m.Role != schema.Tool || m.ToolName != tool {
			return 0, false
		}
		text := einox.Text(m)
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "```") {
			return 0, false
		}
		v, err := ask.JSON(text)
		if err != nil {
			return 0, false
		}
		object, _ := v.(map[string]any)
		switch x := object[field].(type) {
		case bool:
			if x {
				return 1, true
			}
			return 0, true
		case json.Number:
			score, err := x.Float64()
			return score, err == nil && !math.IsNaN(score) && !math.IsInf(score, 0)
		}
		return 0, false
	}
}

// outcome says how a turn went, as far as anybody knows: the callback, else the last
// verdict of a tool.
func (b *Backend) outcome(ctx context.Context, t *Turn) (*Outcome, error) {
	if b.config.Outcome != nil {
		o, err := b.config.Outcome(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("outcome of turn %s: %w", t.ID, err)
		}
		if o != nil {
			return o, nil
		}
	}
	if b.config.Verdict == nil {
		return nil, nil
	}
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if m := t.Messages[i].Message; m != nil && m.Role == schema.Tool {
			if score, ok := b.config.Verdict(m); ok {
				return &Outcome{Score: score}, nil
			}
		}
	}
	return nil, nil
}

// turnsOf puts messages of one session together by their turns, in the order in which
// these began. What memory itself put in is left out.
func turnsOf(s backends.Scope, messages []backends.Message) []*Turn {
	var turns []*Turn
	byID := map[string]*Turn{}
	for _, m := range messages {
		if m.Message == nil || einox.IsNote(m.Message) {
			continue
		}
		t := byID[m.Turn]
		if t == nil {
			t = &Turn{Scope: s, ID: m.Turn}
			byID[m.Turn], turns = t, append(turns, t)
		}
		t.Messages = append(t.Messages, m)
	}
	return turns
}

// among reports whether there are messages of the turn among those of others.
func (t *Turn) among(turns []*Turn) bool {
	return t.ID != "" && slices.ContainsFunc(turns, func(o *Turn) bool { return o.ID == t.ID })
}

// teaches reports whether anything was done in the turn. What an agent notes down by a
// tool of memory comes as a turn, too: nobody attempted anything in it.
func (t *Turn) teaches() bool {
	return slices.ContainsFunc(t.Messages, func(m backends.Message) bool { return m.Role == schema.Assistant || m.Role == schema.Tool })
}

// blank reports whether a message says and does nothing: the log gives no such to learn
// from.
func blank(m *schema.Message) bool {
	return m.Content == "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" && !einox.HasParts(m)
}

// trajectory is the turn as an attempt at a task.
func (t *Turn) trajectory(o *Outcome) task.Trajectory {
	out := task.Trajectory{TaskID: o.TaskID, Score: o.Score, Session: t.Scope.SessionID, Turn: t.ID}
	for _, m := range t.Messages {
		out.Messages = append(out.Messages, m.Message)
		if out.Query == "" && m.Role == schema.User {
			out.Query = einox.Text(m.Message)
		}
		if m.Time.After(out.Observed) {
			out.Observed = m.Time
		}
	}
	if o.Note != "" {
		out.Metadata = map[string]any{task.NoteKey: o.Note}
	}
	return out
}
