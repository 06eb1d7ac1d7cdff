// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// RetryRequest is a task that may take several attempts.
type RetryRequest struct {
	Scope  backends.Scope // Names the workspace. Optional where the context carries one.
	TaskID string         // The id of the task. Optional.
	Query  string         // The task, also for the search. Required.

	// Run makes one attempt and returns a trajectory with its score. It gets the known experience
	// first. Required. An error ends the retries.
	Run func(ctx context.Context, a *Attempt) (*Trajectory, error)

	Attempts int // At most. Optional. Defaults to Config.Attempts.

	TopK int // How many memories to retrieve: see RetrieveRequest. Optional.

	// IdempotencyKey makes the storing and the counting of a repeated call harmless. A repeat still
	// makes the attempts. At most 480 bytes. Optional.
	IdempotencyKey string
}

// Attempt is the knowledge at the start of an attempt.
type Attempt struct {
	N        int               // from 1 on
	Of       int               // how many there may be
	Memories []backends.Hit    // what the workspace knows about such tasks
	Learnt   []backends.Memory // lessons of the attempts before; stored nowhere
	Answer   string            // both as a text for the agent; empty without any
}

// RetryResponse is the answer to a [RetryRequest].
type RetryResponse struct {
	Trajectories []Trajectory      // of the attempts, in order
	Attempts     int               // number of attempts
	Succeeded    bool              // the last one was a success
	Memories     []backends.Hit    // the experience that the attempts got
	Kept         []backends.Item   // the outcomes of the kept candidates: see SummaryResponse.Items
	Dropped      []backends.Memory // the other candidates
	Recorded     *RecordResponse   // the use of the memories; nil if it was not counted
	Report       backends.Report
}

// Retry makes attempts at a task until one succeeds. It keeps a lesson of a failure only if a later
// success confirms it (the failure-aware reflection of ReMe's paper):
//
//  1. It retrieves the experience of the workspace, once, and runs the first attempt with it.
//  2. After a failure it extracts candidates from the trajectory, stores them nowhere, and
//     runs the next attempt with them as well.
//  3. If an attempt succeeds, it stores the candidates so far, and the candidates of the
//     success. Otherwise it stores nothing.
//  4. It records the memories of step 1 as used, and as useful after a success.
//
// More attempts are more chances: compare with as many attempts of an agent without memory.
//
// Each attempt is learnt by itself; Summarize compares whole trajectories of one task.
//
// An error of Run, of learning or of the store, or the end of the context, ends the retries: the
// response beside the error holds the attempts so far, and nothing is stored. The
// exception is an error of counting the uses, which comes after the storing.
func (m *Memory) Retry(ctx context.Context, r *RetryRequest) (_ *RetryResponse, err error) {
	defer work.Recover("task", &err)
	if err := m.validateRetry(r); err != nil {
		return nil, fmt.Errorf("task: %w: %w", backends.ErrInvalid, err)
	}
	s, err := m.summary(ctx, &SummaryRequest{Scope: r.Scope, IdempotencyKey: r.IdempotencyKey})
	if err != nil {
		return nil, err
	}
	if !s.own { // the lessons are still unknown, so they give no key
		s.key = ""
	}
	known, err := m.retrieve(ctx, s.run, &RetrieveRequest{Scope: s.scope, Query: r.Query, TopK: r.TopK})
	if err != nil {
		return nil, err
	}
	resp := &RetryResponse{Memories: known.Hits}
	for err == nil && resp.Attempts < cmp.Or(r.Attempts, defaultAttempts) && !resp.Succeeded {
		err = s.attempt(ctx, r, known, resp)
	}
	if err == nil && resp.Succeeded {
		var stored *SummaryResponse
		if stored, err = s.store(ctx, resp.Dropped); err == nil {
			resp.Kept, resp.Dropped = s.shown(stored).Items, nil
		}
	}
	if err == nil && len(known.Hits) > 0 {
		resp.Recorded, err = m.Record(ctx, &RecordRequest{Scope: s.scope, IDs: known.IDs(), AllUseful: resp.Succeeded, IdempotencyKey: r.IdempotencyKey})
	}
	resp.Report = s.run.Report()
	return resp, err
}

func (m *Memory) validateRetry(r *RetryRequest) error {
	switch {
	case r == nil:
		return errors.New("no request")
	case r.Run == nil:
		return errors.New("RetryRequest.Run is required: it makes an attempt")
	case strings.TrimSpace(r.Query) == "":
		return errors.New("RetryRequest.Query is required: it names the task")
	case r.Attempts < 0:
		return fmt.Errorf("%d attempts: at least 1, or 0 for %d", r.Attempts, defaultAttempts)
	case m.model == nil:
		return errors.New("retries learn, and need a model: reme.Config.Model")
	}
	return nil
}

// attempt makes one attempt, and learns from it unless it is the last failure. resp.Dropped holds
// the lessons until they are stored.
func (s *summary) attempt(ctx context.Context, r *RetryRequest, known *RetrieveResponse, resp *RetryResponse) error {
	m := s.m
	a := &Attempt{N: resp.Attempts + 1, Of: cmp.Or(r.Attempts, defaultAttempts), Memories: slices.Clone(known.Hits), Learnt: slices.Clone(resp.Dropped), Answer: known.Answer}
	if len(a.Learnt) > 0 {
		a.Answer = m.withLearnt(known, a.Learnt)
	}
	err := ctx.Err()
	var made *Trajectory
	if err == nil {
		made, err = r.Run(ctx, a)
	}
	if err == nil && made == nil {
		err = fmt.Errorf("%w: Run returned no trajectory", backends.ErrInvalid)
	}
	if err == nil {
		err = made.validate()
	}
	if err != nil {
		return fmt.Errorf("task: attempt %d: %w", a.N, err)
	}
	own := *made
	own.TaskID, own.Query = cmp.Or(own.TaskID, r.TaskID), cmp.Or(own.Query, r.Query)
	resp.Trajectories = append(resp.Trajectories, own)
	resp.Attempts, resp.Succeeded = a.N, own.Score >= m.config.Threshold
	if !resp.Succeeded && a.N == a.Of {
		return nil
	}
	learnt, err := s.candidates(ctx, &SummaryRequest{Trajectories: []Trajectory{own}})
	resp.Dropped = append(resp.Dropped, learnt...)
	if err != nil {
		return fmt.Errorf("learning from attempt %d: %w", a.N, err)
	}
	return nil
}

// withLearnt returns the known experience, and below it the lessons of the attempts so far.
func (m *Memory) withLearnt(known *RetrieveResponse, learnt []backends.Memory) string {
	prompts := promptsIn[m.language.For(known.Query, learnt[0].Text)]
	parts := []string{prompts.Learnt}
	for i, c := range learnt {
		parts = append(parts, prompts.one(i+1, c.WhenToUse, c.Text))
	}
	return strings.TrimSpace(known.Answer + "\n\n" + strings.Join(parts, "\n\n"))
}
