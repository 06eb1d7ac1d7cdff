// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
)

// Consolidate learns now from all complete turns of a session, in the caller's
// goroutine and whatever the batch limits. Turns that were recorded are appended
// first. If another process is at it, Consolidate waits for it, until ctx is done.
//
// The response sums up what was learnt, also next to an error. After a failure
// the turns stay in the log and are tried again in the background; a call that
// comes before that was due tries at once, and does not count as an attempt.
// Nothing to learn is an empty response.
func (m *Memory) Consolidate(ctx context.Context, s backends.Scope) (*backends.AddResponse, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.calls.Done()
	k, _, err := keyOf(s)
	if err != nil {
		return nil, fmt.Errorf("consolidating: %w", err)
	}
	if err := m.drain(ctx, k); err != nil {
		return nil, fmt.Errorf("consolidating: a recorded turn comes first: %w", err)
	}
	return m.consolidate(ctx, k)
}

// consolidate is Consolidate once everything is in the log.
func (m *Memory) consolidate(ctx context.Context, k sessionKey) (*backends.AddResponse, error) {
	ctx, cancel := m.bound(ctx)
	defer cancel()
	unlock, err := m.locks.Lock(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("consolidating session %s: waiting for its turn: %w", k, err)
	}
	defer unlock()
	_, appends := m.takeBacklog(k)
	total := &backends.AddResponse{}
	var wait time.Duration
	err = m.patiently(ctx, func() error {
		var resp *backends.AddResponse
		resp, wait, err = m.learn(ctx, k, true)
		merge(total, resp)
		return err
	})
	if err != nil {
		m.postpone(k, wait)
		return total, fmt.Errorf("consolidating session %s: %w", k, err)
	}
	m.settle(k, appends, wait)
	return total, nil
}

// patiently repeats what another process stands in the way of, until ctx is done.
func (m *Memory) patiently(ctx context.Context, do func() error) error {
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

// consolidateWorker consolidates sessions as they come due, until it is told to stop.
func (m *Memory) consolidateWorker() {
	for {
		k, ok := m.due.get()
		if !ok {
			return
		}
		m.visit(k)
		m.due.done(k)
	}
}

// visit consolidates one session in the background.
func (m *Memory) visit(k sessionKey) {
	unlock, ok := m.locks.TryLock(k)
	if !ok { // a caller is at it
		m.postpone(k, m.pause(1))
		return
	}
	defer unlock()
	ctx, appends := m.takeBacklog(k)
	ctx, cancel := m.bound(context.WithoutCancel(ctx))
	defer cancel()
	resp, wait, err := m.learn(ctx, k, false)
	m.reportFailed(ctx, k, resp)
	switch {
	case err == nil:
		m.settle(k, appends, wait)
	case m.ctx.Err() != nil: // closing: the log keeps it
	case errors.Is(err, errBusy) || errors.Is(err, errLost):
		m.postpone(k, m.pause(1))
	default:
		m.report(ctx, StageConsolidate, fmt.Errorf("consolidating session %s: %w", k, err))
		m.postpone(k, wait)
	}
}

// reportFailed tells of items that the backend could not store.
func (m *Memory) reportFailed(ctx context.Context, k sessionKey, resp *backends.AddResponse) {
	for i := range resp.Items {
		if it := &resp.Items[i]; it.Outcome == backends.OutcomeFailed {
			m.report(ctx, StageConsolidate, fmt.Errorf("session %s: one memory was not stored: %w", k, it.Err))
		}
	}
}
