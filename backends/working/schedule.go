// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// sweepPage is how many sessions are listed at a time.
const sweepPage = 100

// backlog is what this process appended to one session and does not know to be learnt
// from.
type backlog struct {
	ctx           context.Context // of the last turn, for its values
	turns, tokens int             // since the session was last consolidated
	appends       int             // rises with every append
	failures      int             // of consolidations that could not even be noted in the session, in a row
	since         time.Time       // when the first of it was appended
}

// appended notes a turn that is in the log now, to its end or not, and schedules learning
// from it.
func (m *Memory) appended(e *entries, ended bool) {
	m.counters.appended.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[e.key]
	if b == nil {
		b = &backlog{since: m.cfg.Clock()}
		m.backlogs[e.key] = b
	}
	b.ctx = e.ctx
	b.appends++
	b.tokens += e.tokens
	if ended {
		b.turns++
	}
	switch {
	case b.turns == 0: // nothing is complete
		m.due.AddAfter(e.key, m.cfg.OpenTurn)
	case b.turns >= m.cfg.MaxTurns || b.tokens >= m.cfg.MaxTokens:
		m.due.Add(e.key)
	default:
		m.due.AddAfter(e.key, m.cfg.Idle)
	}
}

// takeBacklog begins a consolidation: the session's numbers start again. It returns how
// many appends it covers.
func (m *Memory) takeBacklog(k sessionKey) (ctx context.Context, appends int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return m.ctx, 0
	}
	b.turns, b.tokens = 0, 0
	return b.ctx, b.appends
}

// endBacklog ends a consolidation that learnt all there was: the session is forgotten
// unless more was appended meanwhile, or a turn stays open so long.
func (m *Memory) endBacklog(k sessionKey, appends int, open time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return
	}
	b.failures = 0
	switch {
	case b.appends != appends: // the new appends have scheduled the session
		b.since = m.cfg.Clock()
	case open > 0:
		m.due.AddAfter(k, open)
	default:
		delete(m.backlogs, k)
		m.due.Cancel(k)
	}
}

// postpone schedules the session again after a failure, without a pause given after one
// that grows.
func (m *Memory) postpone(k sessionKey, pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return
	}
	if pause <= 0 {
		b.failures++
		pause = m.pause(b.failures)
	}
	m.due.AddAfter(k, pause)
}

// backlogged returns the sessions that have a backlog.
func (m *Memory) backlogged() []sessionKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.backlogs))
}

// consolidateWorker consolidates sessions as they come due, until the list is closed.
func (m *Memory) consolidateWorker() {
	for {
		k, ok := m.due.Get()
		if !ok {
			return
		}
		m.visit(k)
		m.due.Done(k)
	}
}

// visit consolidates one session in the background.
func (m *Memory) visit(k sessionKey) {
	unlock, ok := m.locks.TryLock(k)
	if !ok { // a caller consolidates it
		m.postpone(k, m.pause(1))
		return
	}
	defer unlock()
	ctx, appends := m.takeBacklog(k)
	ctx, cancel := m.bound(context.WithoutCancel(ctx))
	defer cancel()
	resp, wait, err := m.learn(ctx, k, false)
	for i := range resp.Items {
		if it := &resp.Items[i]; it.Outcome == backends.OutcomeFailed {
			m.report(ctx, StageConsolidate, fmt.Errorf("session %s: one memory was not stored: %w", k, it.Err))
		}
	}
	switch {
	case err == nil:
		m.endBacklog(k, appends, wait)
	case m.ctx.Err() != nil: // closing: the log keeps it
	case errors.Is(err, errBusy) || errors.Is(err, errLost):
		m.postpone(k, m.pause(1))
	default:
		m.report(ctx, StageConsolidate, fmt.Errorf("consolidating session %s: %w", k, err))
		m.postpone(k, wait)
	}
}

// sweeper looks for sessions that other processes left, at once and then in intervals.
func (m *Memory) sweeper() {
	tick := time.NewTicker(m.cfg.Sweep)
	defer tick.Stop()
	for {
		if err := m.sweep(m.ctx); err != nil && m.ctx.Err() == nil {
			m.report(m.ctx, StageSweep, err)
		}
		select {
		case <-m.open.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep consolidates the pending sessions that no process consolidates.
func (m *Memory) sweep(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(m.cfg.Workers) // Go waits for room: the listing is never ahead of the work
	defer func() { _ = g.Wait() }()
	for cursor := ""; ; {
		page, err := m.cfg.Sessions.List(ctx, store.SessionQuery{Pending: true, Page: store.Page{Limit: sweepPage, Cursor: cursor}})
		if err != nil {
			return fmt.Errorf("listing pending sessions: %w", err)
		}
		for i := range page.Sessions {
			s := &page.Sessions[i]
			if m.open.Err() != nil {
				return nil
			}
			if m.left(s) {
				g.Go(func() error { m.visit(sessionKey{s.Partition, s.ID}); return nil })
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// left reports whether no process consolidates a session: this process has no turns of
// it, its lease is free, no pause runs, and it is idle.
func (m *Memory) left(s *store.Session) bool {
	now := m.cfg.Clock()
	leased := s.Lease.Owner != "" && s.Lease.Owner != m.owner && now.Before(s.Lease.Expires)
	if leased || now.Before(s.Updated.Add(m.cfg.Idle)) || m.pausing(s) > 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backlogs[sessionKey{s.Partition, s.ID}] == nil
}
