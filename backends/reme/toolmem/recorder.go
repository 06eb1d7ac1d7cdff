// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
)

// RecorderConfig configures a [Recorder]. It is copied by [Memory.NewRecorder].
type RecorderConfig struct {
	Queue int // Optional. Calls that may wait. Defaults to 1024.
	Batch int // Optional. Calls of one workspace that are written at a time. Defaults to 64.
	// WriteTimeout bounds a write in the way of a tool, which happens when the queue is
	// full. Optional. Defaults to a second; negative: never, such calls are lost.
	WriteTimeout time.Duration
	// Attempts are the tries of a write in the background while the store is away: then
	// the calls are lost, and OnError is told. What fails for another reason is tried at
	// most three times. Optional. Defaults to 20, which is more than two minutes.
	Attempts  int
	Backoff   time.Duration // Optional. Between tries, doubled each time up to 10 s. Defaults to 200 ms.
	NoRefresh bool          // leaves guidelines alone: somebody else calls Summarize
	// OnError is told what was lost, as a [*LostError], and which guidelines could not be
	// written. It is called from the recorder's goroutines, or in the way of a tool
	// while the queue is full. Optional.
	OnError func(context.Context, error)
}

// LostError says which calls could not be recorded.
type LostError struct {
	Scope backends.Scope
	Calls []Call // with their IDs: recording them again is harmless
	Err   error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("toolmem: %d calls of tools in workspace %q are not recorded: %v", len(e.Calls), e.Scope.Workspace, e.Err)
}

// Unwrap returns why.
func (e *LostError) Unwrap() error { return e.Err }

// Recorder records calls beside an agent's work: a queue, a goroutine that writes, and
// one that refreshes guidelines. It implements backends.ToolRecorder and is safe for
// concurrent use. Close it.
type Recorder struct {
	memory *Memory
	cfg    RecorderConfig

	life context.Context // of the background work; ends when Close gives up
	end  context.CancelFunc
	work sync.WaitGroup

	mu        sync.Mutex
	wake      *sync.Cond            // something changed
	queue     []waiting             // not yet taken by the writer
	tickets   int64                 // of takes so far, numbered from 1
	open      map[int64]int         // how many calls of a ticket are neither stored nor lost
	due       []dueTool             // guidelines to refresh
	planned   int64                 // guidelines that were ever due
	refreshed int64                 // those of them that were seen to, in order
	rest      map[dueTool]time.Time // until when a guideline that failed is left alone
	closed    bool
	missed    missed
}

// waiting is a call that was taken.
type waiting struct {
	scope  backends.Scope // the workspace, and the agent that called
	call   Call
	ticket int64
}

// dueTool is a guideline to refresh.
type dueTool struct{ namespace, workspace, tool string }

var _ backends.ToolRecorder = (*Recorder)(nil)

// NewRecorder starts a recorder. nil is the default configuration.
func (m *Memory) NewRecorder(c *RecorderConfig) *Recorder {
	r := &Recorder{memory: m, rest: map[dueTool]time.Time{}, open: map[int64]int{}}
	if c != nil {
		r.cfg = *c
	}
	for _, n := range []struct {
		value    *int
		fallback int
	}{{&r.cfg.Queue, 1024}, {&r.cfg.Batch, 64}, {&r.cfg.Attempts, 20}} {
		if *n.value <= 0 {
			*n.value = n.fallback
		}
	}
	if r.cfg.WriteTimeout == 0 {
		r.cfg.WriteTimeout = time.Second
	}
	if r.cfg.Backoff <= 0 {
		r.cfg.Backoff = 200 * time.Millisecond
	}
	if r.cfg.OnError == nil {
		r.cfg.OnError = func(context.Context, error) {}
	}
	r.wake = sync.NewCond(&r.mu)
	r.life, r.end = context.WithCancel(context.Background())
	r.work.Go(r.write)
	r.work.Go(r.refresh)
	return r
}

// RecordCalls implements backends.ToolRecorder: see [Recorder.Enqueue].
func (r *Recorder) RecordCalls(ctx context.Context, req *backends.RecordCallsRequest) error {
	if req == nil {
		return fmt.Errorf("toolmem: %w: no request", backends.ErrInvalid)
	}
	calls := make([]Call, len(req.Calls))
	for i := range req.Calls {
		calls[i] = FromToolCall(&req.Calls[i])
	}
	return r.Enqueue(ctx, req.Scope, calls...)
}

// Enqueue takes calls and returns at once; they are recorded as [Memory.Record] does,
// soon. When the queue is full they are written before it returns, within
// WriteTimeout and judged by rules. An error says that they were not taken: ErrNoScope, or they are lost,
// which OnError is told too.
func (r *Recorder) Enqueue(ctx context.Context, s backends.Scope, calls ...Call) error {
	s, _, err := r.memory.partition(ctx, s)
	if err != nil {
		return err
	}
	s = backends.Scope{Namespace: s.Namespace, Workspace: s.Workspace, AgentID: s.AgentID}
	now := r.memory.cfg.Clock()
	list := make([]waiting, len(calls))
	for i, c := range calls {
		if c = c.bounded(); c.ID == "" {
			c.ID = r.memory.cfg.IDs()
		}
		if c.Time.IsZero() {
			c.Time = now // a repeated write finds the same month
		}
		list[i] = waiting{scope: s, call: c}
	}
	return r.take(ctx, list)
}

// take puts calls into the queue, or writes them if there is no room.
func (r *Recorder) take(ctx context.Context, list []waiting) error {
	if len(list) == 0 {
		return nil
	}
	r.mu.Lock()
	full := r.full(len(list))
	wait := len(r.queue)+len(list) <= r.cfg.Queue
	if full == nil {
		r.admit(list)
		if wait {
			r.queue = append(r.queue, list...)
			r.wake.Broadcast()
		}
	}
	r.mu.Unlock()
	switch {
	case full != nil:
		return r.lost(ctx, list, full)
	case wait:
		return nil
	}
	return r.writeNow(ctx, list)
}

// full says why calls cannot be taken.
func (r *Recorder) full(n int) error {
	switch {
	case r.closed:
		return fmt.Errorf("the recorder is closed: %w", backends.ErrUnavailable)
	case len(r.queue)+n > r.cfg.Queue && r.cfg.WriteTimeout < 0:
		return fmt.Errorf("%d calls wait: %w; raise RecorderConfig.Queue, or allow a WriteTimeout", len(r.queue), backends.ErrUnavailable)
	}
	return nil
}

// admit gives calls a ticket.
func (r *Recorder) admit(list []waiting) {
	r.tickets++
	r.open[r.tickets] = len(list)
	for i := range list {
		list[i].ticket = r.tickets
	}
}

// writeNow writes in the way of a tool.
func (r *Recorder) writeNow(ctx context.Context, list []waiting) error {
	limited, cancel := context.WithTimeout(ctx, r.cfg.WriteTimeout)
	defer cancel()
	resp, err := r.record(limited, list, false)
	err = r.settle(ctx, list, resp, err)
	r.done(list, err)
	return err
}

// tell reports an error. A panic of who is told is not worth the agent's run.
func (r *Recorder) tell(ctx context.Context, err error) {
	defer func() { _ = recover() }()
	r.cfg.OnError(ctx, err)
}

// lost tells of calls that are not recorded.
func (r *Recorder) lost(ctx context.Context, list []waiting, err error) error {
	e := &LostError{Scope: list[0].scope, Calls: calls(list), Err: err}
	r.tell(ctx, e)
	return e
}

func calls(list []waiting) []Call {
	out := make([]Call, len(list))
	for i := range list {
		out[i] = list[i].call
	}
	return out
}

// settle tells what became of calls for good: which of them cannot be kept, and which
// are not recorded although they could be.
func (r *Recorder) settle(ctx context.Context, list []waiting, resp *RecordResponse, err error) error {
	rejected, failed := map[int]bool{}, map[string]bool{}
	if resp != nil {
		for _, x := range resp.Rejected {
			rejected[x.Index] = true
			r.tell(ctx, &LostError{Scope: list[0].scope, Calls: []Call{list[x.Index].call}, Err: fmt.Errorf("%w: %w", backends.ErrInvalid, x.Why)})
		}
		for i := range resp.Tools {
			failed[resp.Tools[i].Tool] = resp.Tools[i].Err != nil
		}
	}
	if err == nil {
		return nil
	}
	var lost []waiting
	for i := range list {
		name, _ := toolName(list[i].call.Tool)
		if resp == nil || !rejected[i] && failed[name] {
			lost = append(lost, list[i])
		}
	}
	if len(lost) == 0 {
		return err
	}
	return r.lost(ctx, lost, err)
}

func (r *Recorder) done(list []waiting, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range list {
		if r.open[list[i].ticket]--; r.open[list[i].ticket] == 0 {
			delete(r.open, list[i].ticket)
		}
	}
	r.missed.note(err, len(list), r.cfg.Queue)
	r.wake.Broadcast()
}

// record writes calls of one workspace once; a model judges them for who is patient.
func (r *Recorder) record(ctx context.Context, list []waiting, patient bool) (resp *RecordResponse, err error) {
	err = guarded(func() (err error) {
		resp, err = r.memory.record(ctx, &RecordRequest{Scope: list[0].scope, Calls: calls(list)}, patient && r.memory.cfg.Judge, false)
		return err
	})
	if resp != nil {
		r.plan(list[0].scope, resp.Due)
	}
	return resp, err
}
