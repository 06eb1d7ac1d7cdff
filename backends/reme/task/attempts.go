// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

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
	case math.IsNaN(own.SuccessAt):
		err = errors.New("RetryRequest.SuccessAt is no number")
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
	t := &retry{m: m, req: &own, scope: scope, ws: p, flow: m.models.Begin(), resp: &RetryResponse{}}
	_, _, err = m.retrieval(ctx, t.asks()) // before an attempt is made in vain
	return t, err
}

// asks is how the workspace is asked what it knows.
func (t *retry) asks() *RetrieveRequest {
	r := t.req
	return &RetrieveRequest{Scope: t.scope, Query: r.Query, TopK: r.TopK, Rerank: r.Rerank, Rewrite: r.Rewrite}
}

// run makes the attempts and settles what is left of them.
func (t *retry) run(ctx context.Context) error {
	r := t.req
	found, failed := t.m.retrieve(ctx, t.flow, t.asks())
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
	found, err := t.m.extract(ctx, t.flow, &SummaryRequest{Trajectories: []trajectory.Trajectory{made}, KeepPartial: true}) // the next attempt may use a part
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
	if t.learnt != nil {
		d.key = "" // a repeat is to learn the rest
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
