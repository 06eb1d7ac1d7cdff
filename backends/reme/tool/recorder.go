// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// LostError says which calls were not recorded.
type LostError struct {
	Scope backends.Scope
	Calls []Call // with their IDs: recording them again is harmless
	Err   error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("tool: %d calls of tools in workspace %q are not recorded: %v", len(e.Calls), e.Scope.Workspace, e.Err)
}

// Unwrap returns why.
func (e *LostError) Unwrap() error { return e.Err }

// Recorder records calls in the background: a queue of calls, and one of guidelines to
// write anew. While the store is unavailable the calls wait in the queue. It implements
// backends.ToolRecorder and is safe for concurrent use. Close it: it owns goroutines.
type Recorder struct {
	memory *Memory
	taking work.Calls // RecordCalls under way
	calls  *work.Queue[backends.Scope, taken]
	due    *work.Queue[dueTool, struct{}]

	mu      sync.Mutex
	resting map[dueTool]time.Time // until when a guideline that failed is left alone
	lost    int                   // calls lost since the last Flush
	lostErr error                 // of the first of them
	closed  sync.Once
}

// taken is a call in the queue.
type taken struct {
	scope backends.Scope // the workspace, and the agent that made the call
	call  Call
}

// dueTool is a guideline to write anew.
type dueTool struct {
	scope backends.Scope // the workspace
	tool  string
}

var _ backends.ToolRecorder = (*Recorder)(nil)

const (
	batchSize   = 64                     // calls that are written at once
	fullWait    = 100 * time.Millisecond // how long RecordCalls waits for room in a full queue
	maxBackoff  = 10 * time.Second       // the longest pause after a failed write
	maxTries    = 3                      // of a write that fails though the store is available
	refreshRest = time.Minute            // how long a guideline that failed is left alone: a model that is down is not asked with every call
	closeGrace  = 5 * time.Second        // how long Close waits for what it cancelled
)

// NewRecorder starts a recorder. Its work has the values of ctx, not its end.
func (m *Memory) NewRecorder(ctx context.Context) *Recorder {
	r := &Recorder{memory: m, resting: map[dueTool]time.Time{}}
	pause := func(failures int) time.Duration { return min(m.cfg.Backoff<<min(failures-1, 16), maxBackoff) }
	r.calls = work.NewQueue(ctx, work.QueueConfig[backends.Scope, taken]{
		Size: m.cfg.Queue, Workers: 4, Batch: batchSize, Handle: r.write, Pause: pause,
	})
	r.due = work.NewQueue(ctx, work.QueueConfig[dueTool, struct{}]{
		Size: m.cfg.Queue, Workers: 2, Batch: m.cfg.Queue, Handle: r.refresh, Pause: pause,
	})
	return r
}

// RecordCalls implements backends.ToolRecorder. It returns at once, or within 100 ms while
// the queue is full. An error says that calls were not taken: ErrNoScope, or a [*LostError]
// that is ErrUnavailable, which OnError reports too.
func (r *Recorder) RecordCalls(ctx context.Context, req *backends.RecordCallsRequest) error {
	if req == nil {
		return errNoRequest
	}
	scope, _, err := r.memory.workspace(ctx, req.Scope)
	if err != nil {
		return err
	}
	calls := make([]Call, len(req.Calls))
	for i := range req.Calls {
		c := callOf(&req.Calls[i])
		if c.ID == "" {
			c.ID = r.memory.cfg.IDs()
		}
		if c.Time.IsZero() {
			c.Time = r.memory.keeper.Now() // a repeated write finds the same month
		}
		calls[i] = c
	}
	limited, cancel := context.WithTimeout(ctx, fullWait)
	defer cancel()
	for i, c := range calls {
		if err := r.take(limited, taken{scope, c}); err != nil {
			return r.lose(ctx, scope, calls[i:], fmt.Errorf("%w: %w", err, backends.ErrUnavailable))
		}
	}
	return nil
}

func (r *Recorder) take(ctx context.Context, t taken) error {
	if !r.taking.Enter() {
		return errors.New("the recorder is closed")
	}
	defer r.taking.Leave()
	return r.calls.Push(ctx, t.scope, t)
}

// lose reports calls that are not recorded, and returns the report.
func (r *Recorder) lose(ctx context.Context, scope backends.Scope, calls []Call, err error) error {
	lost := &LostError{Scope: scope, Calls: calls, Err: err}
	r.memory.notify(ctx, lost)
	return lost
}

// write stores calls of one workspace and agent. While it returns an error they stay in
// the queue.
func (r *Recorder) write(ctx context.Context, scope backends.Scope, batch []taken, failures int) error {
	calls := make([]Call, len(batch))
	for i := range batch {
		calls[i] = batch[i].call
	}
	var resp *RecordResponse
	err := work.Catch("tool", func() (err error) {
		withModel := r.memory.cfg.Judge && failures == 0 // a model is not paid again and again while the store is unavailable
		resp, err = r.memory.record(ctx, &RecordRequest{Scope: scope, Calls: calls}, withModel)
		return err
	})
	unavailable := errors.Is(err, backends.ErrUnavailable)
	switch {
	case err == nil:
	case unavailable && failures == 0 && ctx.Err() == nil:
		r.memory.notify(ctx, fmt.Errorf("tool: %d calls wait for the store, and are tried again: %w", len(calls), err))
		return err
	case unavailable, ctx.Err() != nil:
		return err
	case failures+1 < maxTries && !errors.Is(err, backends.ErrInvalid):
		return err
	}
	r.report(ctx, scope, calls, resp, err)
	return nil
}

// report reports the calls of a batch that are lost, and has guidelines written that are
// due.
func (r *Recorder) report(ctx context.Context, scope backends.Scope, calls []Call, resp *RecordResponse, err error) {
	if resp == nil { // a panic
		r.count(len(calls), r.lose(ctx, scope, calls, err))
		return
	}
	var invalid, failed []Call
	var why error
	for i := range resp.Calls {
		switch e := resp.Calls[i].Err; {
		case errors.Is(e, backends.ErrInvalid):
			invalid, why = append(invalid, calls[i]), errors.Join(why, e)
		case e != nil:
			failed = append(failed, calls[i])
		}
	}
	if len(invalid) > 0 {
		_ = r.lose(ctx, scope, invalid, why) // OnError has it
	}
	if len(failed) > 0 {
		r.count(len(failed), r.lose(ctx, scope, failed, err))
	}
	r.schedule(scope, resp.Due)
}

// count counts lost calls for the next Flush.
func (r *Recorder) count(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost += n; r.lostErr == nil {
		r.lostErr = err
	}
}

// schedule has guidelines written in the background. One that finds no room becomes due
// with the next calls again.
func (r *Recorder) schedule(scope backends.Scope, tools []string) {
	if r.memory.cfg.NoRefresh {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // so that Push does not wait
	for _, tool := range tools {
		d := dueTool{backends.Scope{Namespace: scope.Namespace, Workspace: scope.Workspace}, tool}
		r.mu.Lock()
		rests := r.memory.keeper.Now().Before(r.resting[d])
		r.mu.Unlock()
		if !rests {
			_ = r.due.Push(ended, d, struct{}{})
		}
	}
}

// refresh writes a guideline anew.
func (r *Recorder) refresh(ctx context.Context, d dueTool, _ []struct{}, _ int) error {
	err := work.Catch("tool", func() error {
		_, err := r.memory.Summarize(ctx, &SummaryRequest{Scope: d.scope, Tools: []string{d.tool}})
		return err
	})
	if err != nil && ctx.Err() != nil {
		return err // the caller of Flush went away
	}
	r.mu.Lock()
	delete(r.resting, d)
	if err != nil {
		r.resting[d] = r.memory.keeper.Now().Add(refreshRest)
	}
	r.mu.Unlock()
	if err != nil {
		r.memory.notify(ctx, fmt.Errorf("tool: writing the guideline of tool %q anew: %w", d.tool, err))
	}
	return nil
}

// Flush implements backends.ToolRecorder: it stores every call taken so far, and writes
// the guidelines that are due. It returns why calls still wait, and how many were lost since
// the last Flush, with the first error. Guidelines that fail are reported to OnError alone:
// the next calls make them due again.
func (r *Recorder) Flush(ctx context.Context) error {
	err := r.calls.Flush(ctx)
	if err == nil {
		err = r.due.Flush(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 {
		err = errors.Join(err, fmt.Errorf("tool: %d calls are not recorded since the last Flush: %w", r.lost, r.lostErr))
	}
	r.lost, r.lostErr = 0, nil
	return err
}

// Close takes no more calls, does what Flush does, and ends the goroutines. Calls that the
// store does not take then are lost, and OnError reports them. When ctx ends, work under
// way is cancelled. Close may be called again.
func (r *Recorder) Close(ctx context.Context) error {
	err := errors.Join(r.taking.Close(ctx), r.calls.Stop(ctx, closeGrace))
	err = errors.Join(err, r.Flush(ctx))
	r.closed.Do(func() {
		lost := map[backends.Scope][]Call{}
		for _, t := range r.calls.Waiting() {
			lost[t.scope] = append(lost[t.scope], t.call)
		}
		for scope, calls := range lost {
			err = errors.Join(err, r.lose(ctx, scope, calls, fmt.Errorf("the recorder was closed before the store took them: %w", backends.ErrUnavailable)))
		}
	})
	return errors.Join(err, r.due.Stop(ctx, closeGrace))
}
