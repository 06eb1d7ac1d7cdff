// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/jsontext"
	"github.com/einomem/einomem/internal/text"
)

// Turn is a turn of a conversation: a user's message and all work on it.
type Turn struct {
	Scope    backends.Scope
	ID       string
	Messages []backends.Message // in order, with tool calls and results; shared, so read only
}

// Outcome says how a turn went.
type Outcome struct {
	Score  float64 // 1 is full success, 0 failure
	TaskID string  // Optional. Attempts at one task are compared if one stretch of the log has them.
	Note   string  // Optional. Good and bad points, in words; the model that learns sees it.
}

// VerdictOf returns a [Config.Verdict] that reads how a turn went from the results of one tool: a
// JSON object with a field that is a number, or true or false, perhaps in a code fence. Other
// results have no verdict. Results that begin with words have none either: an object further on may
// be an input of the tool.
func VerdictOf(tool, field string) func(*schema.Message) (float64, bool) {
	return func(m *schema.Message) (float64, bool) {
		if m.Role != schema.Tool || m.ToolName != tool {
			return 0, false
		}
		text := einox.Text(m)
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "```") {
			return 0, false
		}
		v, err := jsontext.Parse(text)
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
		case float64:
			return x, true
		}
		return 0, false
	}
}

// outcome returns how a turn went, or nil if that is unknown: the answer of the callback, else the
// last result of a tool that Config.Verdict can read.
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

// turnsOf groups messages of one session by their turns, in the order in which these began. It
// leaves out notes that memory put in.
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

// turnIn returns the newest of some turns that has an id, else nil. The empty id is the
// newest of all.
func turnIn(turns []*Turn, id string) *Turn {
	for _, t := range slices.Backward(turns) {
		if t.ID == id || id == "" {
			return t
		}
	}
	return nil
}

// teaches reports whether the turn has work in it: an answer or a tool's result.
func (t *Turn) teaches() bool {
	return slices.ContainsFunc(t.Messages, func(m backends.Message) bool { return m.Role == schema.Assistant || m.Role == schema.Tool })
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

// RecordOutcome implements [backends.Judge]: task memory learns from a turn in the session's log,
// among the newest 2,000 messages of the session.
//
// Errors: ErrNoScope if the scope lacks a workspace, or both user and agent; ErrNotFound for an
// unknown turn; ErrInvalid for a score that is NaN or infinite, and without a model; and the errors
// of Task().Summarize.
func (b *Backend) RecordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	return keeper.Call(ctx, b.keeper, r, b.recordOutcome)
}

func (b *Backend) recordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	if math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
		return nil, fmt.Errorf("reme: outcome of a turn: %w: score %v", backends.ErrInvalid, r.Score)
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if ctx, err = b.keeper.Begin(ctx, at.scope); err != nil {
		return nil, err
	}
	if at.workspace == nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w: set Scope.Workspace, which learns from it", backends.ErrNoScope)
	}
	speaker, err := at.scope.Speaker()
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	turns, err := b.logged(ctx, speaker, at.scope, 0)
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	t := turnIn(turns, r.Turn)
	if t == nil {
		return nil, fmt.Errorf("reme: outcome of turn %q of session %q: %w: it is not among the newest %d messages of the log that the backend's store keeps; turns are logged there by a middleware whose mode records them", r.Turn, at.scope.SessionID, backends.ErrNotFound, logSize)
	}
	return b.learnTasks(ctx, &task.SummaryRequest{
		Scope: at.scope, Trajectories: []task.Trajectory{t.trajectory(&Outcome{Score: r.Score, Note: r.Note})},
		IdempotencyKey: "outcome/" + text.HashID(speaker.String(), t.Scope.SessionID, t.ID, strconv.FormatFloat(r.Score, 'g', -1, 64), r.Note),
	})
}

const (
	logSize = 2000 // messages of a log in which a turn is looked for
	ahead   = 200  // messages behind a request in which its last turn may go on: as many as a request has
)

// ended returns the turns that end in a request, each as a whole. The log gives long turns piece by
// piece; how they went is asked once, at their end.
func (b *Backend) ended(ctx context.Context, s backends.Scope, r *backends.AddRequest) ([]*Turn, error) {
	turns := turnsOf(s, r.Messages)
	if r.Checkpoint == nil { // the messages come from the caller
		return turns, nil
	}
	p, err := s.Speaker()
	if err != nil {
		return nil, fmt.Errorf("the log of a checkpoint: %w", err)
	}
	s.SessionID = r.Checkpoint.Session
	next, err := b.config.Store.Read(ctx, p, s.SessionID, store.Range{After: r.Checkpoint.Upto, Limit: ahead})
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	later := turnsOf(s, said(next))
	turns = slices.DeleteFunc(turns, func(t *Turn) bool { return t.ID != "" && turnIn(later, t.ID) != nil })
	whole, err := b.logged(ctx, p, s, r.Checkpoint.Upto)
	if err != nil && !errors.Is(err, backends.ErrNotFound) { // then another store keeps the log
		return nil, err
	}
	for i, t := range turns {
		if t.ID != "" {
			turns[i] = cmp.Or(turnIn(whole, t.ID), t)
		}
	}
	return turns, nil
}

// logged returns the turns of the newest messages of a session, up to one; 0 is the end.
func (b *Backend) logged(ctx context.Context, p backends.Partition, s backends.Scope, upto int64) ([]*Turn, error) {
	entries, err := b.config.Store.Read(ctx, p, s.SessionID, store.Range{Upto: upto, Limit: logSize, Last: true})
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return turnsOf(s, said(entries)), nil
}

// said returns the messages of entries, without the mere marks of a turn's end.
func said(entries []store.Entry) []backends.Message {
	var out []backends.Message
	for i := range entries {
		if m := &entries[i].Message; m.Message != nil && (m.Content != "" || len(m.ToolCalls) > 0 || m.ToolCallID != "" || einox.HasParts(m.Message)) {
			out = append(out, *m)
		}
	}
	return out
}
