// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// The defaults of [RetryRequest].
const (
	DefaultAttempts  = 3
	DefaultSuccessAt = trajectory.DefaultThreshold
)

// RetryRequest is a task that may be tried more than once.
type RetryRequest struct {
	Scope  backends.Scope // Names the workspace. Optional where the context carries one.
	TaskID string         // Which task it is. Optional.
	Query  string         // Required. What the task is; also what to look for.

	// Run makes one attempt and returns what was done, and how well it went. It gets
	// what is known before it begins. Required. An error ends the retries.
	Run func(ctx context.Context, a *Attempt) (*trajectory.Trajectory, error)

	Attempts  int     // How many at most. Optional. Defaults to DefaultAttempts.
	SuccessAt float64 // Score from which on an attempt is a success: that of the Extractor's Threshold. Optional. Defaults to DefaultSuccessAt.

	TopK    int  // How many memories are wanted: see RetrieveRequest. Optional.
	Rerank  bool // See RetrieveRequest. Optional.
	Rewrite bool // See RetrieveRequest. Optional.

	// KeepPartial stores what was learnt where a step of learning failed. Optional.
	KeepPartial bool
	// IdempotencyKey makes the storing and the counting of a repeated call harmless.
	// The attempts are made all the same. At most 480 bytes. Optional.
	IdempotencyKey string
	Metadata       map[string]any // Kept with each memory. Optional.
	Author         string         // See SummaryRequest. Optional.
}

// Attempt is what is known when an attempt begins.
type Attempt struct {
	N        int                 // from 1 on
	Of       int                 // how many there may be
	Memories []backends.Hit      // what the workspace knows about such tasks
	Lessons  []extract.Candidate // what the attempts before taught; nowhere stored
	Answer   string              // both as a text for the agent; empty when nothing is known
}

// RetryResponse tells how the attempts went, and what is left of them.
type RetryResponse struct {
	Trajectories []trajectory.Trajectory // of the attempts, in order
	Attempts     int                     // how many were made
	Succeeded    bool                    // the last one was a success
	Memories     []backends.Hit          // what the attempts were given
	Kept         []backends.Item         // what became of the lessons that were kept: see SummaryResponse.Items
	Dropped      []extract.Candidate     // lessons that were not kept
	Recorded     *RecordResponse         // the use of the memories; nil when none was counted
	Report       flow.Report
}

// Retry makes attempts at a task until one succeeds, and learns from failures only
// what a later success bears out (the failure-aware reflection of ReMe's paper):
//
//  1. It retrieves what the workspace knows, once, and runs the first attempt with it.
//  2. After a failure it draws lessons from the trajectory, which are nowhere stored,
//     and runs the next attempt with them as well.
//  3. If an attempt succeeds, the lessons so far are stored, together with what made
//     it succeed. If none does, nothing is.
//  4. The memories of step 1 are recorded as used, and as useful if an attempt
//     succeeded.
//
// More attempts are more chances: compare with an agent without memory that has as
// many.
//
// Each attempt is learnt from by itself: what sets the success apart from a failure is
// what the lessons of both say. Summarize compares whole trajectories of one task.
//
// The attempts come first: what fails beside them, retrieving, learning, storing or
// counting, is in the error beside the response, and no attempt is lost for it. Where
// learning failed nothing is stored, unless KeepPartial is set. An error of Run, or the end of the
// context, ends the retries: nothing is stored and nothing counted.
func (m *Memory) Retry(ctx context.Context, r *RetryRequest) (*RetryResponse, error) {
	t, err := m.retry(ctx, r)
	if err != nil {
		return nil, err
	}
	err = t.run(ctx)
	t.resp.Report = t.flow.Report()
	return t.resp, err
}
