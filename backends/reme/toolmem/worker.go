// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// write is the goroutine that writes what waits, some calls of one workspace and
// agent at a time.
func (r *Recorder) write() {
	for {
		list := r.next()
		if list == nil {
			return
		}
		resp, err := r.persist(list)
		r.done(list, r.settle(r.life, list, resp, err))
	}
}

// next waits for calls and returns the oldest with others of its workspace and agent; nil once
// the recorder is closed and nothing waits.
func (r *Recorder) next() []waiting {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 {
		if r.closed {
			return nil
		}
		r.wake.Wait()
	}
	first := r.queue[0]
	var list, rest []waiting
	for _, w := range r.queue {
		if len(list) < r.cfg.Batch && w.scope == first.scope {
			list = append(list, w)
		} else {
			rest = append(rest, w)
		}
	}
	r.queue = rest
	return list
}

// maxBackoff is the longest pause between two tries.
const maxBackoff = 10 * time.Second

// persist writes calls, and tries again what may succeed later.
func (r *Recorder) persist(list []waiting) (*RecordResponse, error) {
	wait := r.cfg.Backoff
	for attempt := 1; ; attempt++ {
		resp, err := r.record(r.life, list, true)
		last := r.cfg.Attempts
		if !errors.Is(err, backends.ErrUnavailable) {
			last = min(last, 3)
		}
		if err == nil || attempt >= last || errors.Is(err, backends.ErrInvalid) || !r.pause(wait) {
			return resp, err
		}
		wait = max(r.cfg.Backoff, min(2*wait, maxBackoff))
	}
}

// pause waits, and reports whether the recorder still lives then.
func (r *Recorder) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.life.Done():
		return false
	}
}

// refreshRest is how long a guideline that could not be written is left alone: a model
// that is away is not asked with every call of the tool.
const refreshRest = time.Minute

// plan notes guidelines that are due, each once.
func (r *Recorder) plan(s backends.Scope, tools []string) {
	if r.cfg.NoRefresh {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.memory.cfg.Clock()
	maps.DeleteFunc(r.rest, func(_ dueTool, until time.Time) bool { return !now.Before(until) })
	for _, tool := range tools {
		d := dueTool{s.Namespace, s.Workspace, tool}
		if _, resting := r.rest[d]; !resting && !slices.Contains(r.due, d) {
			r.due = append(r.due, d)
			r.planned++
		}
	}
	r.wake.Broadcast()
}

// refresh is the goroutine that writes guidelines.
func (r *Recorder) refresh() {
	for {
		d, ok := r.nextDue()
		if !ok {
			return
		}
		err := r.summarize(d)
		if err != nil {
			r.tell(r.life, fmt.Errorf("toolmem: refreshing the guideline of tool %q: %w", d.tool, err))
		}
		r.mu.Lock()
		r.refreshed++
		if err != nil {
			r.rest[d] = r.memory.cfg.Clock().Add(refreshRest)
		}
		r.wake.Broadcast()
		r.mu.Unlock()
	}
}

// nextDue waits for a guideline that is due; false once the recorder is closed, nothing
// waits to be written, and nothing is due.
func (r *Recorder) nextDue() (dueTool, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.due) == 0 {
		if r.closed && len(r.open) == 0 {
			return dueTool{}, false
		}
		r.wake.Wait()
	}
	d := r.due[0]
	r.due = r.due[1:]
	return d, true
}

func (r *Recorder) summarize(d dueTool) error {
	s := backends.Scope{Namespace: d.namespace, Workspace: d.workspace}
	return guarded(func() error {
		_, err := r.memory.Summarize(r.life, &SummaryRequest{Scope: s, Tools: []string{d.tool}})
		return err
	})
}

// Flush implements backends.ToolRecorder: it waits until every call taken so far is
// stored or lost, and every guideline that was due by then is written, whatever comes
// in meanwhile. It returns what was lost since the last Flush: the errors of as many
// calls as the queue holds, and of more their number. Guidelines that could not be written are told to
// OnError alone: the next calls make them due again.
func (r *Recorder) Flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wake.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.tickets
	if err := r.await(ctx, func() bool { return !r.anyOpen(calls) }); err != nil {
		return err
	}
	due := r.planned
	if err := r.await(ctx, func() bool { return r.refreshed >= due }); err != nil {
		return err
	}
	err := r.missed.err()
	r.missed = missed{}
	return err
}

// await waits under the lock until something is so.
func (r *Recorder) await(ctx context.Context, so func() bool) error {
	for !so() {
		if ctx.Err() != nil {
			return fmt.Errorf("toolmem: waiting for calls to be recorded: %w", context.Cause(ctx))
		}
		r.wake.Wait()
	}
	return nil
}

// anyOpen reports whether a call of the tickets up to one is neither stored nor lost.
func (r *Recorder) anyOpen(upto int64) bool {
	for ticket := range r.open {
		if ticket <= upto {
			return true
		}
	}
	return false
}

// Close takes no more calls, waits as Flush does, and ends the goroutines. When ctx
// ends first, what is under way is cut off and what waits is lost: OnError is told. It
// may be called again.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.wake.Broadcast()
	r.mu.Unlock()
	err := r.Flush(ctx)
	if ctx.Err() != nil {
		r.mu.Lock()
		r.refreshed += int64(len(r.due))
		r.due = nil
		r.mu.Unlock()
	}
	if err != nil && ctx.Err() != nil {
		r.end()
	}
	r.work.Wait()
	r.end()
	return err
}
