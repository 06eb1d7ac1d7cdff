// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"maps"
	"time"
)

// backlog is what this process appended to one session and does not know to be
// learnt from.
type backlog struct {
	ctx           context.Context      // of the last turn, for its values
	turns, tokens int                  // since the session was last consolidated
	appends       int                  // rises with every append
	failures      int                  // of consolidations that could not even be noted in the session, in a row
	open          map[string]time.Time // turns that are not done, and when they were last heard of
	since         time.Time            // when the first of it was appended
}

// appended notes a turn that is in the log now, to its end or not, and says when
// to learn from it.
func (m *Memory) appended(e *entries, ended bool) {
	m.counters.appended.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[e.key]
	if b == nil {
		b = &backlog{open: make(map[string]time.Time), since: m.cfg.Clock()}
		m.backlogs[e.key] = b
	}
	b.ctx = e.ctx
	b.appends++
	b.tokens += e.tokens
	if ended {
		b.turns++
		delete(b.open, e.turn)
	} else {
		b.open[e.turn] = m.cfg.Clock()
	}
	switch {
	case b.turns == 0: // nothing is complete
		m.due.after(e.key, m.cfg.OpenTurn)
	case b.turns >= m.cfg.MaxTurns || b.tokens >= m.cfg.MaxTokens:
		m.due.add(e.key)
	default:
		m.due.after(e.key, m.cfg.Idle)
	}
}

// takeBacklog begins a consolidation: the session's numbers start again. It
// returns how many appends it covers.
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

// settle ends a consolidation that learnt all there was: the session is forgotten
// unless more was appended meanwhile, or a turn is open.
func (m *Memory) settle(k sessionKey, appends int, open time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return
	}
	b.failures = 0
	switch {
	case b.appends != appends: // the new appends have said when
		b.since = m.cfg.Clock()
	case open > 0:
		m.due.after(k, open)
	default:
		delete(m.backlogs, k)
		m.due.cancel(k)
	}
}

// postpone keeps the session on the list after a failure.
func (m *Memory) postpone(k sessionKey, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return
	}
	if d <= 0 {
		b.failures++
		d = m.pause(b.failures)
	}
	m.due.after(k, d)
}

// openTurns returns when this process last heard of the session's open turns.
func (m *Memory) openTurns(k sessionKey) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return nil
	}
	return maps.Clone(b.open)
}

// backlogged returns the sessions that have a backlog.
func (m *Memory) backlogged() []sessionKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]sessionKey, 0, len(m.backlogs))
	for k := range m.backlogs {
		keys = append(keys, k)
	}
	return keys
}

func (m *Memory) hasBacklog(k sessionKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backlogs[k] != nil
}
