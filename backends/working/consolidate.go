// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Consolidate learns now from all complete turns of a session, in the caller's goroutine and
// whatever the batch limits. It first appends the recorded turns. While another process
// consolidates the session, Consolidate waits for it, until ctx ends.
//
// The response sums up the memories, also next to an error. After a failure the turns stay in
// the log and are retried in the background. A call during the pause tries at once, and its
// failure does not count as an attempt. If nothing is pending the response is empty. Turns that
// the backend queued stay pending until it has learnt them.
func (m *Memory) Consolidate(ctx context.Context, s backends.Scope) (*backends.AddResponse, error) {
	k, leave, err := m.enter(s)
	if err != nil {
		return nil, fmt.Errorf("consolidating: %w", err)
	}
	defer leave()
	if err := m.queue.Do(ctx, k, func() error { return nil }); err != nil {
		return nil, fmt.Errorf("consolidating session %s: %w", k, err)
	}
	return m.consolidate(ctx, k)
}

// consolidate is Consolidate once all recorded turns are in the log.
func (m *Memory) consolidate(ctx context.Context, k session.Key) (*backends.AddResponse, error) {
	ctx, cancel := m.life.Within(ctx)
	defer cancel()
	unlock, err := m.due.Lock(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("consolidating session %s: waiting for its turn: %w", k, err)
	}
	defer unlock()
	_, appends := m.takeBacklog(k)
	total := &backends.AddResponse{}
	var wait time.Duration
	err = whenFree(ctx, func() (err error) {
		wait, err = m.learn(ctx, k, true, total)
		return err
	})
	if err != nil {
		m.postpone(k, wait)
		return total, fmt.Errorf("consolidating session %s: %w", k, err)
	}
	m.endBacklog(k, appends, wait)
	return total, nil
}

// whenFree repeats do while another process has the session's lease, until ctx ends.
func whenFree(ctx context.Context, do func() error) error {
	var busy error
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := do()
		switch {
		case errors.Is(err, errBusy) || errors.Is(err, errLost):
			busy = err
		case err == nil || busy == nil || ctx.Err() == nil:
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), busy)
		case <-time.After(pause):
		}
	}
}

// learn offers the log after the session's watermark to the backend, batch by batch, and adds what
// is learnt to total. early says that a caller asked for it: then pauses do not count. wait is the
// time until the next look: the rest of an open turn, or of the pause after a failure. 0 with a nil
// error means that all is learnt.
func (m *Memory) learn(ctx context.Context, k session.Key, early bool, total *backends.AddResponse) (wait time.Duration, err error) {
	if ctx, err = store.Begin(ctx, m.cfg.Sessions, k.Partition); err != nil {
		return 0, fmt.Errorf("reading the session's epoch: %w", err)
	}
	s, err := m.cfg.Sessions.Session(ctx, k.Partition, k.ID)
	if errors.Is(err, backends.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the session: %w", err)
	}
	// This look saves the lease where the session is learnt already, as it often is.
	if wait := m.pausing(s); wait > 0 && !early || !s.Pending() {
		return wait, nil
	}
	r, err := m.acquire(ctx, k)
	if err == nil {
		r.early = early
		wait, err = r.learn(ctx, total)
	}
	if errors.Is(err, errGone) {
		return 0, nil
	}
	return wait, err
}

// learn works until everything is learnt, or until a failure that is to be retried later, and
// releases the lease. Ranges that joined the failures are errors too, but the ranges behind them
// are learnt.
func (r *run) learn(ctx context.Context, total *backends.AddResponse) (time.Duration, error) {
	var givenUp error
	for {
		if wait := r.m.pausing(r.s); wait > 0 && !r.early {
			return wait, errors.Join(givenUp, r.release(ctx, store.SessionUpdate{}))
		}
		b, wait, err := r.m.next(ctx, r.key, r.s)
		var over time.Duration // until there is a new budget
		if err == nil && b != nil {
			over, err = r.m.charge(ctx, r.key.Partition, 0, 0)
		}
		switch {
		case err != nil:
			return 0, errors.Join(givenUp, r.abandon(ctx, err))
		case over > 0:
			err = r.postpone(ctx, b, over)
			return r.m.pausing(r.s), errors.Join(givenUp, err)
		case b == nil: // it also clears the state of the tries
			return wait, errors.Join(givenUp, r.release(ctx, store.SessionUpdate{Retry: &store.Retry{}}))
		}
		resp, err := r.try(ctx, b)
		switch {
		case errors.Is(err, errDivided):
		case errors.Is(err, errGivenUp):
			givenUp = errors.Join(givenUp, err)
		case err != nil:
			return r.m.pausing(r.s), errors.Join(givenUp, err)
		case resp.Queued:
			merge(total, resp)
			return r.m.pausing(r.s), givenUp
		default:
			merge(total, resp)
		}
	}
}

// try learns from one batch and moves the watermark past it. After an error other than
// errGivenUp and errDivided the lease is released or lost.
func (r *run) try(ctx context.Context, b *batch) (*backends.AddResponse, error) {
	before, err := r.overlap(ctx, b)
	if err != nil {
		return nil, r.abandon(ctx, err)
	}
	if err := r.begin(ctx, b); err != nil {
		return nil, r.abandon(ctx, err)
	}
	resp, err := r.offer(ctx, b, before)
	if errors.Is(err, backends.ErrForgotten) {
		return nil, errGone
	}
	if err != nil {
		// Nil means that the batch was learnt after all.
		return &backends.AddResponse{Replayed: true}, r.failed(ctx, b, err)
	}
	if resp.Queued {
		return resp, r.await(ctx)
	}
	if told := r.m.cfg.OnLearned; told != nil {
		if err := work.Catch("OnLearned", func() error { told(ctx, resp); return nil }); err != nil {
			r.m.report(ctx, StageConsolidate, err)
		}
	}
	if resp.Checkpointed {
		r.s.Watermark = max(r.s.Watermark, b.upto)
		return resp, nil
	}
	// A crash or a refusal here repeats the batch under the same key, which changes nothing.
	if err := r.update(ctx, store.SessionUpdate{Watermark: &b.upto, Retry: r.rest(b.upto)}); err != nil {
		return resp, r.abandon(ctx, err)
	}
	return resp, nil
}

// begin stores the range before it is tried.
func (r *run) begin(ctx context.Context, b *batch) error {
	retry := r.tries(b)
	r.inDoubt, retry.InDoubt = retry.InDoubt, true
	if retry == r.s.Retry {
		return nil
	}
	return r.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: r.m.owner, For: r.m.cfg.Lease}, Retry: &retry})
}

// tries returns the state of tries of a batch.
func (r *run) tries(b *batch) store.Retry {
	retry := r.s.Retry
	if retry.Upto != b.upto {
		retry = *r.rest(r.s.Watermark)
	}
	retry.Upto, retry.OverBudget = b.upto, false
	return retry
}

// rest returns the state of tries once the log is learnt up to an entry: the rest of a divided
// range stays due.
func (r *run) rest(upto int64) *store.Retry {
	if r.s.Retry.Whole > upto {
		return &store.Retry{Whole: r.s.Retry.Whole, Attempts: r.s.Retry.Attempts}
	}
	return &store.Retry{}
}

// offer passes the batch to the backend, and renews the lease meanwhile. It reports the items
// that were skipped or whose write failed.
func (r *run) offer(ctx context.Context, b *batch, before []backends.Message) (*backends.AddResponse, error) {
	resp := &backends.AddResponse{}
	said := messages(b.entries)
	if len(said) == 0 {
		return resp, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.m.cfg.Timeout, fmt.Errorf("no answer within %s: %w", r.m.cfg.Timeout, backends.ErrUnavailable))
	defer cancel()
	ctx, stop := r.renewal(ctx)
	defer stop()
	ctx = r.m.charging(ctx, r.key.Partition)
	patient, answered := work.Linger(ctx, r.m.cfg.grace)
	defer answered()
	req := &backends.AddRequest{ // made here: a call that is left behind reads nothing of r
		Scope: b.scope(r.s), Messages: said, Context: before,
		IdempotencyKey: idempotencyKey(r.s, b), Confirm: r.m.cfg.Confirm,
		Checkpoint: &backends.Checkpoint{Session: r.key.ID, Upto: b.upto, Token: r.token},
	}
	got, err := work.Await(patient, "the backend", func() (*backends.AddResponse, error) { return r.m.cfg.Backend.Add(ctx, req) })
	if got != nil {
		resp = got
	}
	if got != nil && err != nil {
		err = fmt.Errorf("%w (%w)", err, fault.ErrPartly)
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	for _, it := range resp.Items {
		if it.Err != nil && err == nil {
			r.m.report(ctx, StageConsolidate, fmt.Errorf("session %s: not learnt (%s): %w", r.key, it.Outcome, it.Err))
		}
	}
	return resp, err
}

// idempotencyKey names a range of one session for ever. It includes the session's creation and
// the messages' ids: a deleted or expired session may begin anew with the same id, and counts
// from 1.
func idempotencyKey(s *store.Session, b *batch) string {
	created, first, last := s.Created.UTC().Format(time.RFC3339Nano), b.entries[0].ID, b.entries[len(b.entries)-1].ID
	return fmt.Sprintf("log-%x-%d-%d", text.HashKey(s.Partition.String(), s.ID, created, first, last), b.from, b.upto)
}

// merge adds the response of a batch to the total.
func merge(total, resp *backends.AddResponse) {
	total.Items = append(total.Items, resp.Items...)
	total.Usage.Add(resp.Usage)
	total.Replayed, total.Queued = total.Replayed || resp.Replayed, total.Queued || resp.Queued
	total.Checkpointed = total.Checkpointed || resp.Checkpointed
}
