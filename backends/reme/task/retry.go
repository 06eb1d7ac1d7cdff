// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
// The attempts come first: what fails beside them, retrieving, learning, storing or
// counting, is in the error beside the response, and no attempt is lost for it. Then
// nothing is stored, unless KeepPartial is set. An error of Run, or the end of the
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

// retry is a request under way.
type retry struct {
	m       *Memory
	req     *RetryRequest
	scope   backends.Scope
	ws      backends.Partition
	flow    *flow.Run
	found   *RetrieveResponse
	lessons []extract.Candidate
	learnt  error // what failed while learning
	resp    *RetryResponse
}

func (m *Memory) retry(ctx context.Context, r *RetryRequest) (*retry, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	own := *r
	if own.Attempts == 0 {
		own.Attempts = DefaultAttempts
	}
	if own.SuccessAt == 0 {
		own.SuccessAt = DefaultSuccessAt
	}
	switch {
	case own.Run == nil:
		err = errors.New("RetryRequest.Run is required: it makes an attempt")
	case strings.TrimSpace(own.Query) == "":
		err = errors.New("RetryRequest.Query is required: it says what the task is")
	case own.Attempts < 0:
		err = fmt.Errorf("%d attempts: at least 1, or 0 for %d", own.Attempts, DefaultAttempts)
	case len(own.IdempotencyKey) > maxKey:
		err = fmt.Errorf("idempotency key of %d bytes, at most %d", len(own.IdempotencyKey), maxKey)
	case m.config.Extractor == nil:
		err = errors.New("retries need Config.Extractor")
	}
	if err != nil {
		return nil, fmt.Errorf("task: %w: %w", backends.ErrInvalid, err)
	}
	return &retry{m: m, req: &own, scope: scope, ws: p, flow: m.models.Begin(), resp: &RetryResponse{}}, nil
}

// run makes the attempts and settles what is left of them.
func (t *retry) run(ctx context.Context) error {
	r := t.req
	found, failed := t.m.retrieve(ctx, t.flow, &RetrieveRequest{Scope: t.scope, Query: r.Query, TopK: r.TopK, Rerank: r.Rerank, Rewrite: r.Rewrite})
	if found == nil {
		found = &RetrieveResponse{}
	}
	t.found, t.resp.Memories = found, found.Hits
	for t.resp.Attempts < r.Attempts && !t.resp.Succeeded {
		if err := t.attempt(ctx); err != nil {
			t.resp.Dropped = t.lessons
			return errors.Join(err, failed, t.learnt)
		}
	}
	return errors.Join(failed, t.keep(ctx), t.record(ctx))
}

// attempt runs one attempt, and learns from a failure that another one follows.
func (t *retry) attempt(ctx context.Context) error {
	n := t.resp.Attempts + 1
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("task: attempt %d: %w", n, err)
	}
	made, err := t.req.Run(ctx, &Attempt{N: n, Of: t.req.Attempts, Memories: slices.Clone(t.found.Hits), Lessons: slices.Clone(t.lessons), Answer: t.answer()})
	if err == nil && made == nil {
		err = fmt.Errorf("%w: Run returned no trajectory", backends.ErrInvalid)
	}
	if err == nil {
		err = made.Validate()
	}
	if err != nil {
		return fmt.Errorf("task: attempt %d: %w", n, err)
	}
	own := *made
	if own.TaskID == "" {
		own.TaskID = t.req.TaskID
	}
	if own.Query == "" {
		own.Query = t.req.Query
	}
	t.resp.Trajectories = append(t.resp.Trajectories, own)
	t.resp.Attempts, t.resp.Succeeded = n, own.Score >= t.req.SuccessAt
	if t.resp.Succeeded || n < t.req.Attempts { // of the last failure nothing would be kept
		t.learn(ctx, own)
	}
	return nil
}

// learn draws lessons from a trajectory, and notes what failed.
func (t *retry) learn(ctx context.Context, made trajectory.Trajectory) {
	found, err := t.m.extract(ctx, t.flow, &SummaryRequest{Trajectories: []trajectory.Trajectory{made}})
	if err != nil {
		t.learnt = errors.Join(t.learnt, fmt.Errorf("task: learning from attempt %d: %w", t.resp.Attempts, err))
	}
	t.lessons = append(t.lessons, found...)
}

// answer is what is known as a text for the agent.
func (t *retry) answer() string {
	if len(t.lessons) == 0 {
		return t.found.Answer
	}
	_, prompts := t.m.prompts(t.req.Query, t.lessons[0].Content)
	parts := []string{prompts.Lessons}
	for i := range t.lessons {
		parts = append(parts, prompts.one(i+1, t.lessons[i].WhenToUse, t.lessons[i].Content))
	}
	if t.found.Answer != "" {
		parts = append([]string{t.found.Answer}, parts...)
	}
	return strings.Join(parts, "\n\n")
}

// keep stores the lessons if they were borne out.
func (t *retry) keep(ctx context.Context) error {
	if !t.resp.Succeeded || t.learnt != nil && !t.req.KeepPartial {
		t.resp.Dropped = t.lessons
		return t.learnt
	}
	d := &Draft{
		Candidates: t.lessons, scope: t.scope, workspace: t.ws, metadata: t.req.Metadata, author: t.req.Author,
		run: t.flow, memo: newMemo(), key: t.key("task/summary/"),
	}
	if d.author == "" {
		d.author = t.m.config.Author
	}
	stored, err := t.m.Store(ctx, d)
	if err != nil {
		t.resp.Dropped = t.lessons
	}
	t.resp.Kept = stored.Items
	return errors.Join(t.learnt, err)
}

func (t *retry) key(prefix string) string {
	if t.req.IdempotencyKey == "" {
		return ""
	}
	return prefix + t.req.IdempotencyKey
}

// record counts the use of the memories that the attempts were given.
func (t *retry) record(ctx context.Context) (err error) {
	if len(t.found.Hits) == 0 {
		return nil
	}
	t.resp.Recorded, err = t.m.Record(ctx, &RecordRequest{
		Scope: t.scope, IDs: t.found.IDs(), AllUseful: t.resp.Succeeded, IdempotencyKey: t.req.IdempotencyKey,
	})
	return err
}
