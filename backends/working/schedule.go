// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

// sweepPage is how many sessions are listed at a time.
const sweepPage = 100

// backlog is the part of one session that this process appended and that may still be unlearnt.
type backlog struct {
	ctx           context.Context // of the last turn, for its values
	turns, tokens int             // since the session was last consolidated
	appends       int             // rises with every append
	failures      int             // consolidations in a row that could not even be noted in the session
}

// appended notes that a turn, or a part of one, is in the log now, and schedules learning from
// it.
func (m *Memory) appended(e *entries, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[e.key]
	if b == nil {
		b = &backlog{}
		m.backlogs[e.key] = b
	}
	b.ctx = e.ctx
	b.appends++
	b.tokens += e.tokens
	if ended {
		b.turns++
	}
	switch {
	case b.turns == 0: // all turns are open
		m.due.AddAfter(e.key, m.cfg.OpenTurn)
	case b.turns >= m.cfg.MaxTurns || b.tokens >= m.cfg.MaxTokens:
		m.due.Add(e.key)
	default:
		m.due.AddAfter(e.key, m.cfg.Idle)
	}
}

// takeBacklog begins a consolidation: the session's counts restart at zero. It returns the
// number of appends that the consolidation covers.
func (m *Memory) takeBacklog(k session.Key) (ctx context.Context, appends int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return m.life.Running(), 0
	}
	b.turns, b.tokens = 0, 0
	return b.ctx, b.appends
}

// endBacklog ends a consolidation that learnt everything. It drops the backlog of the session,
// unless more was appended meanwhile, or a turn is open for so long.
func (m *Memory) endBacklog(k session.Key, appends int, open time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backlogs[k]
	if b == nil {
		return
	}
	b.failures = 0
	switch {
	case b.appends != appends: // the new appends have scheduled the session
	case open > 0:
		m.due.AddAfter(k, open)
	default:
		delete(m.backlogs, k)
		m.due.Cancel(k)
	}
}

// postpone schedules the session again after a failure. If pause is zero, the pause grows with
// each failure.
func (m *Memory) postpone(k session.Key, pause time.Duration) {
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
func (m *Memory) backlogged() []session.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.backlogs))
}

// visit consolidates one session in the background. The caller holds the session's lock.
func (m *Memory) visit(_ context.Context, k session.Key) error {
	ctx, appends := m.takeBacklog(k)
	ctx, cancel := m.life.Within(context.WithoutCancel(ctx))
	defer cancel()
	var wait time.Duration
	err := work.Catch("the store", func() (err error) {
		wait, err = m.learn(ctx, k, false, &backends.AddResponse{})
		return err
	})
	switch {
	case err == nil:
		m.endBacklog(k, appends, wait)
	case m.life.Running().Err() != nil: // closing: the log keeps it
	case errors.Is(err, errBusy) || errors.Is(err, errLost):
		m.postpone(k, m.pause(1))
	default:
		m.report(ctx, StageConsolidate, fmt.Errorf("consolidating session %s: %w", k, err))
		m.postpone(k, wait)
	}
	return nil
}

// sweep consolidates the pending sessions that other processes left.
func (m *Memory) sweep(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(m.cfg.Workers) // Go waits for a free worker, so that the listing stays in step with the work
	defer func() { _ = g.Wait() }()
	err := eachSession(ctx, m.cfg.Sessions, true, func(s *store.Session) error {
		if m.life.Open().Err() != nil {
			return ErrClosed
		}
		if m.left(s) {
			k := session.Key{Partition: s.Partition, ID: s.ID}
			g.Go(func() error {
				unlock, err := m.due.Lock(m.life.Open(), k)
				if err != nil {
					return nil
				}
				defer unlock()
				return m.visit(ctx, k)
			})
		}
		return nil
	})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// left reports whether a session is free to take over: this process has no backlog of it, its
// lease is free, its pause is over, and it is idle.
func (m *Memory) left(s *store.Session) bool {
	now := m.cfg.Clock()
	leased := s.Lease.Owner != "" && s.Lease.Owner != m.owner && now.Before(s.Lease.Expires) && s.Lease.Plausible(now)
	if leased || now.Sub(s.Updated).Abs() < m.cfg.Idle || m.pausing(s) > 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backlogs[session.Key{Partition: s.Partition, ID: s.ID}] == nil
}

// pausing returns how much is left of the pause after a failure.
func (m *Memory) pausing(s *store.Session) time.Duration {
	if s.Retry.Upto <= s.Watermark { // the failed range is behind the watermark
		return 0
	}
	return max(s.Retry.After.Sub(m.cfg.Clock()), 0)
}

// releaseTimeout bounds the write that releases a lease after its context ended.
const releaseTimeout = 5 * time.Second

var (
	// errBusy is returned while another process holds the session's lease.
	errBusy = fmt.Errorf("another process consolidates the session: %w", backends.ErrConflict)
	// errLost is returned once the lease went to another process.
	errLost = fmt.Errorf("another process took the session over: %w", backends.ErrConflict)
	// errGone is returned for a session that was deleted.
	errGone = fmt.Errorf("the session was deleted: %w", backends.ErrNotFound)
)

// run is one owner's work on one session, under its lease.
type run struct {
	m     *Memory
	key   session.Key
	s     *store.Session // as last read
	token int64          // the fencing token: every write presents it
	early bool           // a caller asked for it: pauses do not count

	inDoubt bool // the outcome of an earlier try of the present batch is unknown
}

// acquire takes the session's lease, or returns errBusy or errGone.
func (m *Memory) acquire(ctx context.Context, k session.Key) (*run, error) {
	r := &run{m: m, key: k}
	err := r.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: m.owner, For: m.cfg.Lease}})
	if errors.Is(err, errLost) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	r.token = r.s.Lease.Token
	return r, nil
}

// update writes to the session under the lease, or returns errLost or errGone.
func (r *run) update(ctx context.Context, u store.SessionUpdate) error {
	u.Session, u.Token = r.key.ID, r.token
	s, err := r.m.cfg.Sessions.Update(ctx, r.key.Partition, &u)
	switch {
	case errors.Is(err, backends.ErrConflict):
		return errLost
	case errors.Is(err, backends.ErrNotFound), errors.Is(err, backends.ErrForgotten):
		return errGone
	case err != nil:
		return fmt.Errorf("updating the session: %w", err)
	}
	r.s = s
	return nil
}

// release gives the lease back, even after ctx ended. If the write fails, the lease expires.
func (r *run) release(ctx context.Context, u store.SessionUpdate) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	u.Release = true
	return r.update(ctx, u)
}

// abandon releases the lease after an error of the session's store, and returns that error.
func (r *run) abandon(ctx context.Context, err error) error {
	if !errors.Is(err, errLost) && !errors.Is(err, errGone) {
		_ = r.release(ctx, store.SessionUpdate{}) // the first error is the one to report
	}
	return err
}

// renewal renews the lease until stop is called. It returns a context that ends when the lease
// is lost, with errLost or errGone as its cause.
func (r *run) renewal(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.renew(ctx, cancel)
	}()
	return ctx, func() { cancel(nil); <-ended }
}

func (r *run) renew(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(max(r.m.cfg.Lease/3, time.Millisecond))
	defer tick.Stop()
	held := *r // the run's own state belongs to the goroutine that works
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := held.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: r.m.owner, For: r.m.cfg.Lease}})
		if errors.Is(err, errLost) || errors.Is(err, errGone) {
			lost(err)
			return
		} // else it holds, or the next tick retries
	}
}

// Budget bounds what learning from turns may cost each partition a day, such as a person's. Once it
// is spent, further turns wait in the log until the next day, and searches find their words. The
// batch that reaches it is completed, and several processes may each complete one.
//
// The calls of models by packages mem0 and reme count once they are answered, unusable answers too.
// The sum is in the store, so that it outlives the process. It leaves out reflection, which has a
// budget of its own, searches, and Add by a program. [Memory.RetryFailures] counts and is not held
// back.
type Budget struct {
	Calls  int `json:"calls"`  // of models. 0: any number
	Tokens int `json:"tokens"` // of prompts and answers, as models report them, else as estimated. 0: any number
	// Location is where days begin. Optional. Defaults to UTC; the middleware passes its own.
	Location *time.Location `json:"-"`
}

// account is the cost of learning for a partition on a day. It is a blob in the partition, of a
// session that never begins.
type account struct {
	Day    string `json:"day"`
	Calls  int    `json:"calls"`
	Tokens int    `json:"tokens"`
}

const accountSession, accountBlob = "einomem/budget", "account"

// Budget returns Config.Budget.
func (m *Memory) Budget() Budget { return m.cfg.Budget }

// spent reports whether an account has reached the budget.
func (b *Budget) spent(a account) bool {
	return b.Calls > 0 && a.Calls >= b.Calls || b.Tokens > 0 && a.Tokens >= b.Tokens
}

// charge adds to the account of the day, and returns how long turns have to wait for a new budget;
// 0: not at all. It reports the call that spends the budget.
func (m *Memory) charge(ctx context.Context, p backends.Partition, calls, tokens int) (wait time.Duration, err error) {
	b := &m.cfg.Budget
	if b.Calls == 0 && b.Tokens == 0 {
		return 0, nil
	}
	unlock, err := m.accounts.Lock(ctx, p)
	if err != nil {
		return 0, err
	}
	defer unlock()
	data, err := m.cfg.Sessions.GetBlob(ctx, p, accountSession, accountBlob)
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return 0, fmt.Errorf("the day's cost of learning: %w", err)
	}
	var a account
	_ = json.Unmarshal(data, &a) // an unreadable account begins anew
	now := m.cfg.Clock().In(b.Location)
	if day := now.Format(time.DateOnly); a.Day != day {
		a = account{Day: day}
	}
	before := b.spent(a)
	if a.Calls, a.Tokens = a.Calls+calls, a.Tokens+tokens; calls > 0 {
		data, _ = json.Marshal(a) // a text and numbers
		if err = m.cfg.Sessions.PutBlob(ctx, p, accountSession, accountBlob, data); err != nil {
			return 0, err
		}
	}
	if !b.spent(a) {
		return 0, nil
	}
	next := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, b.Location)
	if !before {
		m.report(ctx, StageBudget, fmt.Errorf("learning for %s has spent the day's Budget of working.Config (model calls: %d, tokens: %d): further turns wait until %s",
			p, a.Calls, a.Tokens, next.Format(time.RFC3339)))
	}
	return next.Sub(now), nil
}

// charging returns a context under which answers of models charge the partition's account.
func (m *Memory) charging(ctx context.Context, p backends.Partition) context.Context {
	return work.Charging(ctx, func(calls, tokens int) {
		_, err := m.charge(context.WithoutCancel(ctx), p, calls, tokens)
		if err != nil && !errors.Is(err, backends.ErrForgotten) {
			m.report(ctx, StageBudget, fmt.Errorf("%s: %w", p, err))
		}
	})
}
