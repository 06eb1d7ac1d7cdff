// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/store"
)

const (
	// sweepPage is how many sessions are listed at a time.
	sweepPage = 100
	// sweepBarren is after how many pages without anything to do a sweep pauses;
	// the next one goes on from there, so that sessions which cannot be learnt
	// from never hide those behind them.
	sweepBarren = 10
)

// sweeper looks for sessions that other processes left, at once and then in
// intervals.
func (m *Memory) sweeper() {
	cursor := ""
	for {
		var err error
		if cursor, err = m.sweep(m.ctx, cursor); err != nil && m.ctx.Err() == nil {
			m.report(m.ctx, StageSweep, err)
		}
		// Spread, so that processes which start together do not sweep together.
		pause := time.NewTimer(time.Duration(float64(m.cfg.Sweep) * (0.9 + 0.2*m.cfg.Jitter())))
		select {
		case <-m.closing:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// sweep consolidates the pending sessions from cursor on that nobody cares for.
// It returns where the next sweep begins: empty is the start.
func (m *Memory) sweep(ctx context.Context, cursor string) (next string, err error) {
	var g errgroup.Group
	g.SetLimit(m.cfg.Workers) // Go waits for room: the listing is never ahead of the work
	defer func() { _ = g.Wait() }()
	for barren := 0; barren < sweepBarren && !m.isClosing(); barren++ {
		page, err := m.cfg.Sessions.List(ctx, store.SessionQuery{Pending: true, Page: store.Page{Limit: sweepPage, Cursor: cursor}})
		if err != nil {
			return "", fmt.Errorf("listing pending sessions: %w", err)
		}
		for i := range page.Sessions {
			s := &page.Sessions[i]
			if m.isClosing() || !m.left(s) {
				continue
			}
			barren = -1
			g.Go(func() error { m.visitLeft(ctx, s); return nil })
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return cursor, nil
}

// left reports whether a session needs somebody to care for it: this process has
// no turns of it, nobody holds its lease, no pause runs, and it is idle.
func (m *Memory) left(s *store.Session) bool {
	now := m.cfg.Clock()
	leased := s.Lease.Owner != "" && s.Lease.Owner != m.owner && now.Before(s.Lease.Expires)
	idle := !now.Before(s.Updated.Add(m.cfg.Idle))
	return idle && !leased && m.pausing(s) == 0 && !m.hasBacklog(sessionKey{s.Partition, s.ID})
}

func (m *Memory) visitLeft(ctx context.Context, s *store.Session) {
	k := sessionKey{s.Partition, s.ID}
	unlock, ok := m.locks.TryLock(k)
	if !ok {
		return
	}
	defer unlock()
	resp, _, err := m.learn(ctx, k, false)
	m.reportFailed(ctx, k, resp)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errBusy) && !errors.Is(err, errLost) {
		m.report(ctx, StageConsolidate, fmt.Errorf("consolidating session %s, which another process left: %w", k, err))
	}
}

func (m *Memory) isClosing() bool {
	select {
	case <-m.closing:
		return true
	default:
		return false
	}
}
