// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// SummaryRequest asks task memory to learn.
type SummaryRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Trajectories []trajectory.Trajectory // What was done, and how well it went.
	// Candidates are experiences that are written down already, by a person or an
	// agent: they are neither extracted nor judged. Optional.
	Candidates []extract.Candidate

	// Simple asks the model one question a trajectory, and no judge. Optional.
	Simple bool
	// KeepPartial stores what could be learnt where a step failed for a part of it.
	// The error comes beside the response then. Optional. Defaults to all or nothing.
	KeepPartial bool
	// IdempotencyKey makes a repeated call harmless and free: what the first one
	// stored is told again. It is used up by a call that returned no error. At most 480
	// bytes. Optional. The same experience is recognised without it.
	IdempotencyKey string

	Metadata map[string]any // Kept with each memory; the keys that begin with Meta here are not the caller's. JSON values. Optional.
	Expires  time.Time      // When the memories end. Optional. Defaults to never.
	Author   string         // Who wrote it down. Optional. Defaults to Config.Author.
}

// SummaryResponse tells what became of a [SummaryRequest].
type SummaryResponse struct {
	// Items has one entry for each experience that came through the judge. Added:
	// stored. Superseded: joined with Previous, whose place the joined one took.
	// Updated: it says what Memory says in other words, which is counted there, or it
	// holds longer than Memory did, which lasts as long now.
	// Unchanged: known word for word, or counted before; nothing was written.
	Items []backends.Item
	// Memories are those that were stored, and nothing else.
	Memories []backends.Memory
	Report   flow.Report
	Replayed bool // the idempotency key was known, and nothing was done
}

// Draft is what was learnt and is not stored. It is good for one [Memory.Store] at a
// time, and for another after one that failed.
type Draft struct {
	// Candidates are what Store will store, each once. Whoever looks through them may
	// take some out.
	Candidates []extract.Candidate
	Report     flow.Report // so far

	scope     backends.Scope
	workspace backends.Partition
	key       string // of the batch; empty for none
	metadata  map[string]any
	expires   time.Time
	author    string
	run       *flow.Run
	memo      *memo
	err       error            // why nothing of it may be stored
	replayed  *SummaryResponse // of the call that came with the key before
}

// Summarize learns from trajectories and stores what it learnt: [Memory.Draft] and
// [Memory.Store] in one.
//
// All or nothing: if a step failed, nothing is stored, and both the response, whose
// report tells what failed, and the error are returned; a repeat does it all. See
// SummaryRequest.KeepPartial. Errors: ErrNoScope without a workspace, ErrInvalid for a
// request that cannot succeed, ErrUnavailable, ErrModel.
func (m *Memory) Summarize(ctx context.Context, r *SummaryRequest) (*SummaryResponse, error) {
	d, err := m.draft(ctx, r)
	if d == nil {
		return nil, err
	}
	resp, stored := m.Store(ctx, d)
	if stored != nil && errors.Is(err, stored) {
		return resp, err
	}
	return resp, errors.Join(err, stored)
}

// Draft learns from trajectories: it extracts, lets a judge look, leaves out what the
// request says twice, and lets the model decide about what nearly repeats a memory of
// the workspace. It writes nothing. Where a step failed, the draft is returned with
// the error: with KeepPartial it holds what came through, else nothing.
func (m *Memory) Draft(ctx context.Context, r *SummaryRequest) (*Draft, error) {
	d, err := m.draft(ctx, r)
	if d == nil || d.err != nil || d.replayed != nil {
		return d, err
	}
	t := m.try(d)
	if planned := t.plan(ctx); planned != nil {
		t.fail(StageDuplicates, planned)
		d.Report = d.run.Report()
		return d, errors.Join(err, planned)
	}
	d.Report = d.run.Report()
	return d, err
}

// draft is Draft without a look at the workspace.
func (m *Memory) draft(ctx context.Context, r *SummaryRequest) (*Draft, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if len(r.IdempotencyKey) > maxKey {
		return nil, fmt.Errorf("task: idempotency key of %d bytes: %w: at most %d", len(r.IdempotencyKey), backends.ErrInvalid, maxKey)
	}
	if !r.Expires.IsZero() && !r.Expires.After(m.keeper.Now()) {
		return nil, fmt.Errorf("task: %w: Expires %s is over already", backends.ErrInvalid, r.Expires.Format(time.RFC3339))
	}
	d := &Draft{scope: scope, workspace: p, metadata: r.Metadata, expires: r.Expires, author: r.Author, run: m.models.Begin(), memo: newMemo()}
	if d.author == "" {
		d.author = m.config.Author
	}
	if r.IdempotencyKey != "" {
		d.key = "task/summary/" + r.IdempotencyKey
		if d.replayed, d.err = m.replayed(ctx, d); d.err != nil {
			d.run.Stage(StageStore).Fail(d.err)
			d.Report = d.run.Report()
		}
		if d.err != nil || d.replayed != nil {
			return d, d.err
		}
	}
	d.Candidates, err = m.extract(ctx, d.run, r)
	if failed := d.run.Report().Err(); err == nil && failed != nil {
		err = failed
	}
	d.Report = d.run.Report()
	if err != nil {
		d.key = "" // a repeat is to learn the rest
	}
	if err != nil && (!r.KeepPartial || ctx.Err() != nil) {
		d.Candidates, d.err = nil, err
	}
	return d, err
}

// maxKey is the longest idempotency key of a request: stores take 512 bytes.
const maxKey = 480

// extract returns the experiences of a request that a judge found worth keeping, and
// with an error those that came through.
func (m *Memory) extract(ctx context.Context, run *flow.Run, r *SummaryRequest) ([]extract.Candidate, error) {
	given := append([]extract.Candidate(nil), r.Candidates...)
	for i := range given {
		if strings.TrimSpace(given[i].WhenToUse) == "" || strings.TrimSpace(given[i].Content) == "" {
			return nil, fmt.Errorf("task: candidate %d: %w: it needs WhenToUse and Content", i, backends.ErrInvalid)
		}
		if !utf8.ValidString(given[i].WhenToUse) || !utf8.ValidString(given[i].Content) {
			return nil, fmt.Errorf("task: candidate %d: %w: it is not UTF-8", i, backends.ErrInvalid)
		}
	}
	x := m.config.Extractor
	switch {
	case len(r.Trajectories) == 0:
		return given, nil
	case x == nil:
		return nil, fmt.Errorf("task: learning from trajectories: %w: needs Config.Extractor", backends.ErrInvalid)
	case r.Simple:
		found, err := x.Simple(ctx, run, r.Trajectories)
		return append(found, given...), err
	}
	found, err := x.Extract(ctx, run, r.Trajectories)
	if len(found) == 0 || err != nil && !r.KeepPartial { // nothing of it will be stored: no call for a judge
		return given, err
	}
	kept, judged := x.Validate(ctx, run, found)
	return append(kept, given...), errors.Join(err, judged)
}
