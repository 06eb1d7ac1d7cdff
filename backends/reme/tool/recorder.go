// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// LostError names calls whose recording failed.
type LostError struct {
	Scope backends.Scope
	Calls []Call // with their IDs: recording them again is harmless
	Err   error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("tool: %d calls of tools in workspace %q are not recorded: %v", len(e.Calls), e.Scope.Workspace, e.Err)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// recorder records calls in the background: a queue of calls, and one of guidelines to
// write anew.
type recorder struct {
	memory  *Memory
	taking  *work.Service // of calls
	calls   *work.Queue[calledBy, taken]
	writing *work.Service // of due, which may be filled until the last call is stored
	due     *work.Queue[dueTool, struct{}]

	mu      sync.Mutex
	resting map[dueTool]time.Time // the time until which a failed guideline rests
	lost    error                 // the first calls lost since the last Flush
	closed  sync.Once
}

// taken is a call in the queue.
type taken struct {
	by   calledBy
	call Call
}

// calledBy is the key of calls that are written together.
type calledBy struct {
	scope backends.Scope // the workspace, the agent that made the calls, and the user
	epoch string         // the user's epoch at the beginning of the turn, see store.Begin
}

// dueTool is a guideline to write anew.
type dueTool struct {
	scope backends.Scope // the workspace
	tool  string
}

const (
	batchSize   = 64                     // calls of one write
	fullWait    = 100 * time.Millisecond // how long RecordCalls waits for room in a full queue
	maxBackoff  = 10 * time.Second       // the longest pause after a failed write
	maxTries    = 3                      // of a write that fails though the store is available
	refreshRest = time.Minute            // how long a failed guideline rests, to spare a model that is down
	closeGrace  = 5 * time.Second        // how long Close waits for cancelled work
)

// NewRecorder returns a recorder of calls in the background, and the function that closes it. The
// recorder is safe for concurrent use and owns goroutines. Its work has the values of ctx, but
// outlives it.
//
// RecordCalls returns at once, or within 100 ms while the queue is full. An error means that the
// recorder refused calls: ErrNoScope, or a [*LostError] that is ErrUnavailable, which OnError
// reports too. While the store is unavailable the calls wait in the queue.
//
// Flush stores every accepted call, and writes the guidelines that are due. Its error says why
// calls still wait, and the first loss of calls since the last Flush. OnError alone reports failed
// guidelines: the next calls make them due again.
//
// closing refuses further calls, does the work of Flush, and ends the goroutines. Calls that the
// store does not take then are lost, and OnError reports them. When ctx ends, closing cancels
// running work. A second call is harmless.
func (m *Memory) NewRecorder(ctx context.Context) (_ backends.ToolRecorder, closing func(ctx context.Context) error) {
	r := &recorder{memory: m, resting: map[dueTool]time.Time{}}
	pause := func(failures int) time.Duration { return min(m.backoff<<min(failures-1, 16), maxBackoff) }
	closed := errors.New("the recorder is closed")
	onError := func(ctx context.Context, _ string, err error) { m.notify(ctx, err) }
	r.taking, r.writing = work.NewService(ctx, closed, onError), work.NewService(ctx, closed, onError)
	r.calls = work.NewQueue(r.taking, "tool", work.QueueConfig[calledBy, taken]{
		Size: m.queue, Workers: 4, Batch: batchSize, Handle: r.write, Pause: pause,
	})
	r.due = work.NewQueue(r.writing, "tool", work.QueueConfig[dueTool, struct{}]{
		Size: m.queue, Workers: 2, Batch: m.queue, Handle: r.refresh, Pause: pause,
	})
	return r, r.close
}

// RecordCalls implements backends.ToolRecorder: see NewRecorder.
func (r *recorder) RecordCalls(ctx context.Context, req *backends.RecordCallsRequest) error {
	if req == nil {
		return errNoRequest
	}
	scope, _, err := r.memory.keeper.Resolve(ctx, req.Scope, keeper.Workspace)
	if err != nil {
		return err
	}
	calls := make([]Call, len(req.Calls))
	for i := range req.Calls {
		c := callOf(&req.Calls[i])
		if c.ID == "" {
			c.ID = backends.NewID()
		}
		if c.Time.IsZero() {
			c.Time = r.memory.keeper.Now() // a repeated write finds the same month
		}
		c.UserID = scope.UserID
		calls[i] = c
	}
	scope.SessionID = "" // calls of several are one write
	by := calledBy{scope: scope}
	if p, err := scope.Speaker(); err == nil {
		by.epoch = store.Began(ctx, p)
	}
	limited, cancel := context.WithTimeout(ctx, fullWait)
	defer cancel()
	for i, c := range calls {
		if err := r.calls.Push(limited, by, taken{by, c}); err != nil {
			return r.lose(ctx, scope, calls[i:], fmt.Errorf("%w: %w", err, backends.ErrUnavailable))
		}
	}
	return nil
}

// lose reports lost calls, and returns the report.
func (r *recorder) lose(ctx context.Context, scope backends.Scope, calls []Call, err error) error {
	lost := &LostError{Scope: scope, Calls: calls, Err: err}
	r.memory.notify(ctx, lost)
	return lost
}

// write stores calls of one workspace, agent and user. After an error they stay in the queue.
func (r *recorder) write(ctx context.Context, by calledBy, batch []taken, failures int) error {
	scope := by.scope
	if p, err := scope.Speaker(); err == nil {
		ctx = store.WithEpoch(ctx, p, by.epoch)
	}
	calls := make([]Call, len(batch))
	for i := range batch {
		calls[i] = batch[i].call
	}
	var resp *RecordResponse
	err := work.Catch("tool", func() (err error) {
		resp, err = r.memory.Record(ctx, &RecordRequest{Scope: scope, Calls: calls})
		return err
	})
	unavailable := errors.Is(err, backends.ErrUnavailable)
	if unavailable && failures == 0 && ctx.Err() == nil {
		r.memory.notify(ctx, fmt.Errorf("tool: %d calls wait for the store, and are tried again: %w", len(calls), err))
	}
	again := unavailable || ctx.Err() != nil || failures+1 < maxTries && resp != nil && !errors.Is(err, backends.ErrInvalid) && !errors.Is(err, backends.ErrForgotten)
	if err != nil && again {
		return err
	}
	r.report(ctx, scope, calls, resp, err)
	return nil
}

// report reports the lost calls of a batch, to OnError and to the next Flush, and schedules due
// guidelines. Without a response, after a panic, all are lost.
func (r *recorder) report(ctx context.Context, scope backends.Scope, calls []Call, resp *RecordResponse, err error) {
	lost, why := calls, err
	if resp != nil {
		lost, why = nil, nil
		for i := range resp.Calls {
			if e := resp.Calls[i].Err; e != nil {
				lost, why = append(lost, calls[i]), cmp.Or(why, e)
			}
		}
		r.schedule(scope, resp.Due)
	}
	if len(lost) > 0 {
		err := r.lose(ctx, scope, lost, why)
		r.mu.Lock()
		r.lost = cmp.Or(r.lost, err)
		r.mu.Unlock()
	}
}

// schedule queues guidelines for the background. If the queue is full, the next calls make the
// guideline due again.
func (r *recorder) schedule(scope backends.Scope, tools []string) {
	if r.memory.cfg.NoRefresh {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // so that Push returns at once
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
func (r *recorder) refresh(ctx context.Context, d dueTool, _ []struct{}, _ int) error {
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

// Flush implements backends.ToolRecorder: see NewRecorder.
func (r *recorder) Flush(ctx context.Context) error {
	err := r.calls.Flush(ctx)
	if err == nil {
		err = r.due.Flush(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = errors.Join(err, r.lost)
	r.lost = nil
	return err
}

// close ends the recorder: see NewRecorder.
func (r *recorder) close(ctx context.Context) error {
	err := errors.Join(r.taking.Close(ctx, closeGrace), r.Flush(ctx))
	r.closed.Do(func() {
		lost := map[backends.Scope][]Call{}
		for _, t := range r.calls.Waiting() {
			lost[t.by.scope] = append(lost[t.by.scope], t.call)
		}
		for scope, calls := range lost {
			err = errors.Join(err, r.lose(ctx, scope, calls, fmt.Errorf("the recorder was closed before the store took them: %w", backends.ErrUnavailable)))
		}
	})
	return errors.Join(err, r.writing.Close(ctx, closeGrace))
}
