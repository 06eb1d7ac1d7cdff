// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
)

// The stages of the reports.
const (
	stageJudge     = "judge calls"      // calls in, those with a score out; each question to the model that failed is a failure
	stageStore     = "store calls"      // calls in, those stored out; the others are failures
	stageDue       = "find due"         // fails where it is unknown whether a guideline is due
	stageGuideline = "write guidelines" // tools in, guidelines out, those that are not due dropped
)

// RecordRequest asks to store calls.
type RecordRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	Calls []Call         // of any tools
}

// RecordResponse says what became of each call.
type RecordResponse struct {
	Calls  []RecordedCall  `json:"calls"`         // one for each call of the request, in its order
	Due    []string        `json:"due,omitempty"` // tools with RefreshAfter calls that their guidelines do not cover
	Report backends.Report `json:"report"`
}

// RecordedCall says what became of a call.
type RecordedCall struct {
	ID   string `json:"id"` // as stored
	Tool string `json:"tool"`
	// Outcome is OutcomeAdded, now or before under the same ID, or OutcomeFailed: Reason
	// and Err say why.
	Outcome backends.Outcome `json:"outcome"`
	Reason  string           `json:"reason,omitempty"`
	// Err is ErrInvalid for a call that cannot be stored, such as one older than Keep; for
	// any other, recording it again with its ID is harmless.
	Err error `json:"-"`
}

// Record stores calls: checked, without secrets, bounded, judged. The calls of a tool that
// began in one month are one atomic write. A call whose ID is known is not stored again;
// repeats of a call under other IDs are.
//
// The response says what became of each call; the error joins the errors of the store, or
// is ErrInvalid if no call at all can be stored. A scope without a workspace is ErrNoScope,
// without a response. A judging model that fails is no error: its calls are stored without
// a score, and the report says so.
func (m *Memory) Record(ctx context.Context, r *RecordRequest) (*RecordResponse, error) {
	return m.record(ctx, r, m.cfg.Judge)
}

// batch are calls of one log.
type batch struct {
	calls []*Call
	items []*RecordedCall
	due   bool // the guideline of the tool is due
}

// record does so, with a model that judges or without.
func (m *Memory) record(ctx context.Context, r *RecordRequest, withModel bool) (*RecordResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	s, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	run := m.cfg.Model.Begin(m.cfg.Limits)
	stage := run.Stage(stageStore)
	stage.In(len(r.Calls))
	resp := &RecordResponse{Calls: make([]RecordedCall, len(r.Calls))}
	batches := map[string]*batch{} // by log
	var valid []*Call
	for i := range r.Calls {
		c, err := m.prepare(r.Calls[i])
		item := &resp.Calls[i]
		*item = RecordedCall{ID: c.ID, Tool: c.Tool, Outcome: backends.OutcomeAdded}
		if err != nil {
			item.fail(stage, fmt.Errorf("%w: %w", backends.ErrInvalid, err))
			continue
		}
		log := logName(c.Tool, monthOf(c.Time))
		if batches[log] == nil {
			batches[log] = &batch{}
		}
		batches[log].calls, batches[log].items = append(batches[log].calls, &c), append(batches[log].items, item)
		valid = append(valid, &c)
	}
	m.judge(ctx, run, valid, withModel)
	logs := slices.Sorted(maps.Keys(batches))
	errs := each(len(logs), func(i int) error { return m.recordBatch(ctx, run, s, p, batches[logs[i]]) })
	for i, log := range logs {
		b := batches[log]
		for _, item := range b.items {
			item.fail(stage, errs[i])
		}
		if tool := b.calls[0].Tool; b.due && !slices.Contains(resp.Due, tool) {
			resp.Due = append(resp.Due, tool)
		}
	}
	resp.Report = run.Report()
	if err = errors.Join(errs...); len(valid) == 0 && len(r.Calls) > 0 {
		err = fmt.Errorf("tool: none of %d calls can be stored: %w", len(r.Calls), resp.Calls[0].Err)
	}
	return resp, err
}

// fail notes why a call is not stored; without an error it is.
func (c *RecordedCall) fail(stage *ask.Stage, err error) {
	if err == nil {
		stage.Out(1)
		return
	}
	stage.Fail(err)
	c.Outcome, c.Reason, c.Err = backends.OutcomeFailed, err.Error(), err
}

// recordBatch stores calls of one log, and finds out whether the guideline of the tool is due.
func (m *Memory) recordBatch(ctx context.Context, run *ask.Run, s backends.Scope, p backends.Partition, b *batch) error {
	total, err := m.appendCalls(ctx, s, p, b.calls)
	if err != nil {
		return err
	}
	g, err := m.guidelineOf(ctx, p, b.calls[0].Tool)
	if err != nil { // the calls are stored all the same
		run.Stage(stageDue).Fail(err)
		return nil
	}
	b.due = g.uncovered(map[string]int64{monthOf(b.calls[0].Time): total}) >= int64(m.cfg.RefreshAfter)
	return nil
}
