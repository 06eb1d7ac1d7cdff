// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// The stages of the reports.
const (
	StageCheck     = "check calls"
	StageJudge     = "judge calls"
	StageStore     = "store"
	StageDue       = "look for due guidelines"
	StageRead      = "read calls"
	StageGuideline = "write guidelines"
)

// RecordRequest asks to keep calls.
type RecordRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	Calls []Call         // of any tools
}

// RecordResponse tells what became of calls.
type RecordResponse struct {
	Tools    []ToolRecord   // a line for each tool, in the order in which the calls name them
	Rejected []RejectedCall // calls that are not kept
	Due      []string       // tools whose guidelines have RefreshAfter new calls to learn from
	Report   flow.Report
}

// ToolRecord tells what became of the calls of one tool.
type ToolRecord struct {
	Tool     string
	Added    int   // calls stored
	Repeated int   // of those: equal to a recent one, or to one before them, by hash
	Unjudged int   // of those: without a score, since the model failed
	Known    int   // calls whose ID was there: stored before, and not again
	Err      error // why calls are not stored. Repeating them with their IDs is harmless.
}

// RejectedCall is a call that cannot be kept.
type RejectedCall struct {
	Index int // in the request
	Tool  string
	Why   error // in words for people
}

// Record keeps calls: checked, without secrets, bounded, judged. The calls of a tool
// that began in one month are one atomic write. Calls of an ID are kept once; repeats
// of a call with another ID are kept and counted. A call that cannot be kept is told
// of, and the others are kept.
//
// An error says what was not stored; the response, which is never nil with it, what
// was. A scope without a workspace is ErrNoScope, without a response. A judging model
// that fails is no error: its calls are stored without a score, and the report says so.
func (m *Memory) Record(ctx context.Context, r *RecordRequest) (*RecordResponse, error) {
	return m.record(ctx, r, m.cfg.Judge, true)
}

// record is Record, judging by the model or by rules. Uncounted, without a model, the
// kept calls are not read: Known and Repeated are not told, and the store alone knows
// the IDs again.
func (m *Memory) record(ctx context.Context, r *RecordRequest, byModel, counted bool) (*RecordResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("toolmem: %w: no request", backends.ErrInvalid)
	}
	s, p, err := m.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	run, resp := m.cfg.Models.Begin(), &RecordResponse{}
	tools := m.check(run, r.Calls, resp)
	resp.Tools = make([]ToolRecord, len(tools))
	logs := make([]*history, len(tools))
	var all errgroup.Group
	all.SetLimit(m.cfg.Models.Limits().Concurrency)
	for i, calls := range tools {
		all.Go(func() error {
			line := &resp.Tools[i]
			line.Tool = calls[0].Tool
			line.Err = guarded(func() (err error) {
				logs[i], err = m.recordTool(ctx, &recording{run, s, p, byModel, byModel || counted}, calls, line)
				return err
			})
			if line.Err != nil {
				run.Stage(StageStore).Fail(line.Err)
			}
			return nil
		})
	}
	_ = all.Wait()
	resp.Due = m.due(ctx, run, p, resp.Tools, logs)
	resp.Report = run.Report()
	var errs []error
	for i := range resp.Tools {
		errs = append(errs, resp.Tools[i].Err)
	}
	return resp, errors.Join(errs...)
}

// check returns the calls that can be kept, by their tools.
func (m *Memory) check(run *flow.Run, calls []Call, resp *RecordResponse) [][]Call {
	stage := run.Stage(StageCheck)
	stage.Took(len(calls))
	place := map[string]int{}
	var tools [][]Call
	for i := range calls {
		c, err := m.prepare(calls[i])
		if err != nil {
			stage.Drop(1)
			resp.Rejected = append(resp.Rejected, RejectedCall{Index: i, Tool: calls[i].Tool, Why: err})
			continue
		}
		if _, ok := place[c.Tool]; !ok {
			place[c.Tool] = len(tools)
			tools = append(tools, nil)
		}
		tools[place[c.Tool]] = append(tools[place[c.Tool]], c)
		stage.Gave(1)
	}
	return tools
}

// recording is what the tools of a request share.
type recording struct {
	run     *flow.Run
	scope   backends.Scope
	p       backends.Partition
	byModel bool
	reads   bool // the kept calls, to compare with
}

// recordTool stores the calls of one tool and returns its log as it is then.
func (m *Memory) recordTool(ctx context.Context, r *recording, calls []Call, line *ToolRecord) (*history, error) {
	limit := 0
	if r.reads {
		limit = m.cfg.History
	}
	h, err := m.read(ctx, r.p, calls[0].Tool, limit, time.Time{})
	if err != nil {
		return nil, err
	}
	calls, repeated := fresh(calls, h.calls)
	line.Known = repeated.known
	m.judge(ctx, r, calls, h.calls)
	stage := r.run.Stage(StageStore)
	stage.Took(len(calls))
	for _, month := range byMonth(calls) {
		session, err := m.appendCalls(ctx, r.scope, r.p, monthOf(month[0].Time), month)
		if err != nil {
			return nil, err
		}
		stage.Gave(len(month))
		line.Added += len(month)
		for i := range month {
			line.Repeated += repeated.of[month[i].ID]
			if month[i].Score == nil {
				line.Unjudged++
			}
		}
		h.seen[monthOf(month[0].Time)] = session.LastSeq
	}
	return h, nil
}

// repeats tell which calls were there before.
type repeats struct {
	known int
	of    map[string]int // 1 for the id of a call whose hash was there
}

// fresh returns the calls whose id is not known, and which of them repeat one.
func fresh(calls, recent []Call) ([]Call, repeats) {
	ids, hashes, r := map[string]bool{}, map[string]bool{}, repeats{of: map[string]int{}}
	for i := range recent {
		ids[recent[i].ID], hashes[recent[i].Hash] = true, true
	}
	var out []Call
	for _, c := range calls {
		if ids[c.ID] {
			r.known++
			continue
		}
		if hashes[c.Hash] {
			r.of[c.ID] = 1
		}
		ids[c.ID], hashes[c.Hash] = true, true
		out = append(out, c)
	}
	return out, r
}

// byMonth divides calls by the months in which they began, oldest first.
func byMonth(calls []Call) [][]Call {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, byTime)
	var out [][]Call
	for i := range calls {
		if n := len(out); n > 0 && monthOf(out[n-1][0].Time) == monthOf(calls[i].Time) {
			out[n-1] = append(out[n-1], calls[i])
			continue
		}
		out = append(out, []Call{calls[i]})
	}
	return out
}

// due returns the tools with enough new calls. That it cannot be told is no error of
// recording.
func (m *Memory) due(ctx context.Context, run *flow.Run, p backends.Partition, tools []ToolRecord, logs []*history) []string {
	var stored []string
	for i := range tools {
		if tools[i].Added > 0 && logs[i] != nil {
			stored = append(stored, tools[i].Tool)
		}
	}
	cards, err := m.cards(ctx, p, stored)
	if err != nil {
		run.Stage(StageDue).Fail(err)
		return nil
	}
	var out []string
	for i := range tools {
		if slices.Contains(stored, tools[i].Tool) && cards[tools[i].Tool].unseen(logs[i]) >= int64(m.cfg.RefreshAfter) {
			out = append(out, tools[i].Tool)
		}
	}
	return out
}
