// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Failures returns the stretches of a session's log that could not be learnt
// from, oldest first, at most the newest 256. Their messages are in the log.
func (m *Memory) Failures(ctx context.Context, s backends.Scope) ([]store.Failure, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.calls.Done()
	k, _, err := keyOf(s)
	if err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	session, err := m.cfg.Sessions.Session(ctx, k.partition, k.id)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failures of session %s: %w", k, err)
	}
	return session.Failures, nil
}

// RetryFailures offers each failed stretch of a session to the backend once more,
// oldest first, in the caller's goroutine. What is learnt leaves the failures;
// what fails stays, and is part of the error. They are learnt after what came
// later, so that a fact which changed since may come back as it was: look at the
// failures first.
func (m *Memory) RetryFailures(ctx context.Context, s backends.Scope) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Done()
	ctx, cancel := m.bound(ctx)
	defer cancel()
	k, _, err := keyOf(s)
	if err != nil {
		return fmt.Errorf("retrying failures: %w", err)
	}
	unlock, err := m.locks.Lock(ctx, k)
	if err != nil {
		return fmt.Errorf("retrying failures of session %s: waiting for its turn: %w", k, err)
	}
	defer unlock()
	err = m.patiently(ctx, func() error {
		r, err := m.acquire(ctx, k)
		if err != nil {
			return err
		}
		return r.retryFailures(ctx)
	})
	if err != nil && !errors.Is(err, errGone) {
		return fmt.Errorf("retrying failures of session %s: %w", k, err)
	}
	return nil
}

func (r *run) retryFailures(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Clone(r.s.Failures) {
		err := r.retryFailure(ctx, f)
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, errLost), errors.Is(err, errGone):
			return r.abandon(ctx, err)
		default:
			errs = append(errs, fmt.Errorf("messages %d to %d: %w", f.From, f.Upto, err))
		}
	}
	return errors.Join(append(errs, r.release(ctx, store.SessionUpdate{}))...)
}

// retryFailure offers one stretch again: the same one, so that its idempotency
// key is the same.
func (r *run) retryFailure(ctx context.Context, f store.Failure) error {
	b, err := r.m.stretch(ctx, r.key, f.From, f.Upto)
	if err != nil {
		return err
	}
	if b != nil {
		before, err := r.m.overlap(ctx, r.key, b)
		if err != nil {
			return err
		}
		if _, err := r.offer(ctx, b, before); err != nil {
			return r.failedAgain(ctx, f, err)
		}
		r.m.counters.consolidated.Add(1)
	}
	left := slices.DeleteFunc(slices.Clone(r.s.Failures), func(g store.Failure) bool { return g.From == f.From })
	return r.update(ctx, store.SessionUpdate{Failures: &left})
}

func (r *run) failedAgain(ctx context.Context, f store.Failure, err error) error {
	if errors.Is(err, errLost) || errors.Is(err, errGone) || ctx.Err() != nil {
		return err
	}
	r.m.counters.failed.Add(1)
	failures := slices.Clone(r.s.Failures)
	for i := range failures {
		if failures[i].From == f.From {
			failures[i].Attempts++
			failures[i].Reason, failures[i].Time = reason(err), r.m.cfg.Clock()
		}
	}
	return errors.Join(err, r.update(ctx, store.SessionUpdate{Failures: &failures}))
}
