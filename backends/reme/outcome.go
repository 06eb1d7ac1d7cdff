// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/keeper"
)

// RecordOutcome implements [backends.Judge]: task memory learns from a turn that is in
// the session's log. The newest 20,000 messages of the session are looked at.
//
// Errors: ErrNoScope where the scope names no workspace or nobody whose session it is,
// ErrNotFound for a turn that is not there, ErrInvalid for a score that is no number
// and without a model, and those of Task().Summarize.
func (b *Backend) RecordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	if !b.calls.Enter() {
		return nil, errClosed
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
	t, err := b.turn(ctx, speaker, at.scope, r.Turn, 0)
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	resp, err := b.task.Summarize(ctx, &task.SummaryRequest{
		Scope: at.scope, Trajectories: []task.Trajectory{t.trajectory(&Outcome{Score: r.Score, Note: r.Note})},
		IdempotencyKey: "outcome/" + keeper.HashID(speaker.String(), t.Scope.SessionID, t.ID, strconv.FormatFloat(r.Score, 'g', -1, 64), r.Note),
	})
	if err != nil {
		return nil, err
	}
	return &backends.AddResponse{Items: resp.Items, Usage: resp.Report.Usage, Replayed: resp.Replayed}, nil
}
