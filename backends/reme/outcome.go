// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/keeper"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
)

// logPage is how many messages of a log are read at a time, logPages how often.
const (
	logPage  = 1000
	logPages = 20
)

// RecordOutcome implements [backends.Judge]: task memory learns from a turn that is in
// the session's log. The newest 20,000 messages of the session are looked at.
//
// Errors: ErrNoScope where the scope names no workspace or nobody whose session it is,
// ErrNotFound for a turn that is not there, ErrInvalid for a score that is no number
// and without a model, and those of Task().Summarize.
func (b *Backend) RecordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	if err := b.calls.Enter("reme"); err != nil {
		return nil, err
	}
	defer b.calls.Leave()
	if r == nil {
		return nil, errNoRequest
	}
	if math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
		return nil, fmt.Errorf("reme: outcome of a turn: %w: score %v", backends.ErrInvalid, r.Score)
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if at.workspace == nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w: set Scope.Workspace: it is what learns", backends.ErrNoScope)
	}
	speaker, err := at.scope.Speaker()
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	t, err := b.turn(ctx, at.scope, r.Turn)
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	resp, err := b.task.Summarize(ctx, &task.SummaryRequest{
		Scope: at.scope, Trajectories: []trajectory.Trajectory{t.trajectory(&Outcome{Score: r.Score, Note: r.Note})},
		IdempotencyKey: "outcome/" + keeper.HashID(speaker.String(), t.Scope.SessionID, t.ID, strconv.FormatFloat(r.Score, 'g', -1, 64), r.Note),
	})
	if err != nil {
		return nil, err
	}
	return &backends.AddResponse{Items: resp.Items, Usage: resp.Report.Usage, Replayed: resp.Replayed}, nil
}

// turn reads a turn from the log of the scope's session; the empty id is the newest.
func (b *Backend) turn(ctx context.Context, s backends.Scope, id string) (*Turn, error) {
	p, err := s.Speaker()
	if err != nil {
		return nil, err
	}
	var entries []store.Entry // from the first of the turn on
	var found *Turn
	for upto, page := int64(0), 0; page < logPages; page++ {
		got, err := b.store.Read(ctx, p, s.SessionID, store.Range{Upto: upto, Limit: logPage, Last: true})
		if err != nil {
			return nil, fmt.Errorf("reading the log: %w", err)
		}
		entries = append(got, entries...)
		t, whole := find(s, entries, id)
		if t != nil {
			found = t
		}
		if whole || len(got) < logPage || got[0].Seq == 1 {
			break
		}
		upto = got[0].Seq - 1
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("turn %q of session %q: %w: it is not in the log; turns are logged by a middleware whose mode records them", id, s.SessionID, backends.ErrNotFound)
}

// find returns the turn, or nil, and whether all of it is among the entries: messages
// of another turn come before it.
func find(s backends.Scope, entries []store.Entry, id string) (t *Turn, whole bool) {
	messages := make([]backends.Message, len(entries))
	for i := range entries {
		messages[i] = entries[i].Message
	}
	turns := turnsOf(s, messages)
	for i := len(turns) - 1; i >= 0; i-- {
		if turns[i].ID == id || id == "" {
			return turns[i], i > 0
		}
	}
	return nil, false
}
