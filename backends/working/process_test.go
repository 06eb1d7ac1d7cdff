// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestADeadOwnersLeaseIsTakenOver(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	p, _ := ann.Speaker()
	dead, err := e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "dead", For: 30 * time.Second}})
	require.NoError(t, err)

	e = e.restart(func(e *env) { e.cfg.Idle = 1 })
	e.clock.Advance(30*time.Second - 1)
	e.sweep()
	assert.Empty(t, e.back.stored())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = e.mem.Consolidate(ctx, ann) // waits for the other
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, backends.ErrConflict)
	require.ErrorIs(t, e.mem.RetryFailures(ctx, ann), context.DeadlineExceeded)

	e.clock.Advance(1)
	e.sweep()
	assert.Len(t, e.back.stored(), 1)
	assert.Greater(t, e.session(ann).Lease.Token, dead.Lease.Token)
	_, err = e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Token: dead.Lease.Token, Summary: new(string)})
	require.ErrorIs(t, err, backends.ErrConflict, "the dead owner, should it wake up, is refused")
}

func TestADeadOwnersLeaseIsTakenOverAfterTheClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		e := newEnv(t)
		e.append(said("a", ann))
		p, _ := ann.Speaker()
		_, err := e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "dead", For: 30 * time.Second}})
		require.NoError(t, err)
		e = e.restart(func(e *env) { e.cfg.Idle = 1 })
		e.clock.Advance(jump)
		e.sweep()
		e.clock.Advance(30*time.Second - 1)
		e.sweep()
		assert.Empty(t, e.back.stored(), "the owner may live")
		e.clock.Advance(1)
		e.sweep()
		assert.Len(t, e.back.stored(), 1)
	}
}

func TestABackgroundWorkerComesBackToASessionThatIsBusy(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	p, _ := ann.Speaker()
	_, err := e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Acquire: &store.Acquire{Owner: "other", For: 30 * time.Second}})
	require.NoError(t, err)
	learnt := make(chan struct{})
	busy := openEnv(t, e.db, e.clock, func(e *env) {
		e.cfg.Idle, e.cfg.Backoff = time.Millisecond, time.Millisecond
		e.back.after = func(*backends.AddRequest) error { close(learnt); return nil }
	})
	tried := make(chan struct{}, 1000)
	busy.log.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Update" {
			tried <- struct{}{}
		}
		return nil
	})
	busy.append(said("b", ann))
	for range 3 {
		<-tried
	}
	e.clock.Advance(time.Minute)
	<-learnt
	assert.Empty(t, busy.errs, "which is no failure")
}

// A process pauses in the middle of a model call for so long that another takes its
// session over.
func TestTheSlowerProcessIsRefused(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		slow := newEnv(t)
		fast := openEnv(t, slow.db, slow.clock)
		slow.back.workspace, fast.back.workspace = workspace, workspace
		slow.append(said("a", ann))
		slow.back.before = func(context.Context, *backends.AddRequest) error {
			slow.back.before = nil
			slow.clock.Advance(time.Minute) // its renewals, too, came to a halt
			fast.append(said("b", ann))     // a longer range than the slow one has
			fast.consolidate(ann)
			return nil
		}
		slow.consolidate(ann)
		assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, slow.learnt())
		assert.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, fast.back.stored(), "the range that was begun comes first")
		assert.EqualValues(t, 4, slow.session(ann).Watermark)
		assert.Zero(t, slow.session(ann).Retry)
		assert.Empty(t, slow.session(ann).Failures)
	}
}

func TestTheLeaseIsRenewedWhileTheModelWorks(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Lease = 3 * time.Millisecond })
	renewed := make(chan struct{}, 1000)
	e.append(said("a", ann))
	e.back.before = func(context.Context, *backends.AddRequest) error {
		for len(renewed) > 0 {
			<-renewed
		}
		for range 5 {
			<-renewed
		}
		return nil
	}
	e.log.Arm(func(c *testkit.StoreCall) error {
		if u, ok := c.Arg.(*store.SessionUpdate); ok && u.Acquire != nil && u.Retry == nil {
			c.After = func() { renewed <- struct{}{} }
		}
		return nil
	})
	e.consolidate(ann)
	assert.Len(t, e.back.stored(), 1)
}

func TestAModelCallEndsWhenItsSessionIsErased(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Lease = 3 * time.Millisecond })
	e.append(said("a", ann))
	p, _ := ann.Speaker()
	e.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
		_, err := e.db.Drop(context.Background(), p)
		assert.NoError(t, err)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	assert.Empty(t, e.consolidate(ann).Items)
	assert.Empty(t, e.learnt(), "a user who asked to be forgotten is")
	assert.Zero(t, e.mem.Stats().Sessions)
	_, err := e.db.Session(t.Context(), p, ann.SessionID)
	assert.ErrorIs(t, err, backends.ErrNotFound, "no state of the attempt is left")
}

// A session is deleted and its id used again: its numbers start at 1 again, and its keys
// must not be those of before.
func TestASessionThatBeginsAnewIsLearntFrom(t *testing.T) {
	e := newEnv(t)
	p, _ := ann.Speaker()
	for range 2 {
		e.append(said("a", ann))
		resp := e.consolidate(ann)
		assert.False(t, resp.Replayed)
		require.NoError(t, e.db.Delete(t.Context(), p, "s1"))
		e.clock.Advance(time.Second)
	}
	assert.Equal(t, map[string]int{"a-0": 2, "a-1": 2}, e.learnt())
}

func TestFlushReportsEverySessionThatFails(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Workers, e.back.err, e.back.bad = 1, backends.ErrModel, []string{"bad"} })
	for i := range 4 {
		id := []string{"good", "bad"}[i%2]
		require.NoError(t, e.mem.Record(t.Context(), said(id, backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", i)})))
	}
	err := e.mem.Flush(t.Context())
	require.ErrorIs(t, err, backends.ErrModel)
	assert.ErrorContains(t, err, `"s1"`)
	assert.ErrorContains(t, err, `"s3"`)
	assert.NotContains(t, err.Error(), `"s2"`)
	assert.Equal(t, 2, e.mem.Stats().Sessions, "they are retried")
	e.back.err = nil
	require.NoError(t, e.mem.Flush(t.Context()))
	assert.Zero(t, e.mem.Stats().Sessions)
}

func TestATurnAppendedAfterTheLastLookIsNotForgotten(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	e.log.Arm(func(c *testkit.StoreCall) error {
		if u, ok := c.Arg.(*store.SessionUpdate); ok && u.Release { // the last look at the log is over
			c.After = func() {
				e.log.Arm(nil)
				e.clock.Advance(time.Minute)
				e.append(said("b", ann))
			}
		}
		return nil
	})
	e.consolidate(ann)
	assert.Equal(t, 1, e.mem.Stats().Sessions)
	require.NoError(t, e.mem.Flush(t.Context()))
	assert.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, e.back.stored())
}

func TestCloseAppendsWhatIsRecordedAndLeavesTheRestToTheNextProcess(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.MaxTurns = 100 }) // nothing is due before Close
	release := e.block(said("first", ann))
	for i := range 9 {
		require.NoError(t, e.mem.Record(t.Context(), said(fmt.Sprint(i), ann)))
	}
	release()
	require.NoError(t, e.mem.Close(t.Context()))
	assert.Len(t, e.entries(ann), 20)
	assert.Empty(t, e.back.stored())

	learnt := make(chan struct{}, 10)
	e.clock.Advance(time.Hour)
	next := e.restart(func(e *env) {
		e.cfg.Sweep = time.Hour
		e.back.after = func(*backends.AddRequest) error { learnt <- struct{}{}; return nil }
	})
	<-learnt // the first sweep comes at once
	require.NoError(t, next.mem.Close(t.Context()))
}

func TestCloseInTheMiddleOfEverything(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Idle, e.cfg.MaxTurns, e.cfg.Queue, e.cfg.Sweep = 1, 1, 2, time.Millisecond })
	var wg sync.WaitGroup
	var kept atomic.Int64
	started := make(chan struct{}, 1<<20)
	for g := range 8 {
		s := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", g%4)}
		wg.Go(func() {
			for i := 0; ; i++ {
				turn, err := said(fmt.Sprintf("%d.%d", g, i), s), error(nil)
				switch i % 3 {
				case 0:
					err = e.mem.Record(context.Background(), turn)
				case 1:
					err = e.mem.Append(context.Background(), turn)
				case 2:
					started <- struct{}{}
					_, err = e.mem.Consolidate(context.Background(), s)
					err = errors.Join(err, e.mem.Flush(context.Background()))
				}
				if err != nil {
					assert.ErrorIs(t, err, working.ErrClosed)
					return
				}
				if i%3 < 2 {
					kept.Add(2)
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	require.NoError(t, e.mem.Close(t.Context()))
	wg.Wait()
	var stored int64
	for g := range 4 {
		stored += e.session(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", g)}).LastSeq
	}
	assert.Equal(t, kept.Load(), stored, "whatever was accepted is in the log")
	e.learntOnce()
}

func TestCloseTwiceAndUseAfter(t *testing.T) {
	e := newEnv(t)
	require.NoError(t, e.mem.Close(t.Context()))
	require.NoError(t, e.mem.Close(t.Context()))
	_, consolidate := e.mem.Consolidate(t.Context(), ann)
	_, take := e.mem.TakeOpenTurn(t.Context(), ann, "c")
	for name, err := range map[string]error{
		"append": e.mem.Append(t.Context(), said("a", ann)), "record": e.mem.Record(t.Context(), said("a", ann)),
		"consolidate": consolidate, "take": take, "flush": e.mem.Flush(t.Context()),
		"retry": e.mem.RetryFailures(t.Context()), "save": e.mem.SaveOpenTurn(t.Context(), ann, "c", said("a", ann)),
	} {
		assert.ErrorIs(t, err, working.ErrClosed, name)
	}
}

func TestCloseWakesCallsThatWaitForRoom(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Queue = 1 })
	release := e.block(said("a", ann))
	recorded, closed := make(chan error), make(chan error)
	go func() { recorded <- e.mem.Record(t.Context(), said("b", ann)) }()
	go func() { closed <- e.mem.Close(t.Context()) }()
	require.ErrorIs(t, <-recorded, working.ErrClosed)
	release()
	require.NoError(t, <-closed)
}

func TestCloseNamesTheTurnsThatAreLost(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Backoff = time.Millisecond })
	e.log.FailOn(backends.ErrUnavailable, "Append")
	require.NoError(t, e.mem.Record(t.Context(), said("precious", ann)))
	err := e.mem.Close(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, `1 recorded turns were not appended and are lost: ["precious"]`)
	assert.ErrorContains(t, <-e.errs, "append: ")
	require.Equal(t, err, e.mem.Close(t.Context()))
}

func TestCloseCancelsWhatIsUnderWayWhenItsTimeIsOver(t *testing.T) {
	started := make(chan struct{})
	e := newEnv(t, func(e *env) {
		e.cfg.Idle = time.Millisecond
		e.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	e.append(said("a", ann))
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.mem.Close(ctx), context.DeadlineExceeded)
	s := e.session(ann)
	assert.Empty(t, s.Lease.Owner, "the next process need not wait for the lease")
	assert.Zero(t, s.Retry.Attempts)
	assert.Empty(t, e.errs, "which is no failure")
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	e := newEnv(t, func(e *env) {
		e.cfg.Idle = time.Millisecond
		e.back.before = func(context.Context, *backends.AddRequest) error { close(started); <-finish; return nil }
	})
	e.append(said("a", ann))
	<-started
	closed := make(chan error)
	go func() { closed <- e.mem.Close(t.Context()) }()
	close(finish)
	require.NoError(t, <-closed)
	assert.Len(t, e.back.stored(), 1)
}

func TestSweepFailuresAreReported(t *testing.T) {
	e := newEnv(t, func(e *env) {
		e.cfg.Sweep = time.Millisecond
		e.log.FailOn(backends.ErrUnavailable, "List")
	})
	for range 2 { // and it goes on
		err := <-e.errs
		require.ErrorIs(t, err, backends.ErrUnavailable)
		assert.ErrorContains(t, err, "sweep: ")
	}
}

// Two processes on one file record to the same sessions, wait for room now and then, and
// learn.
func TestProcessesShareTheWork(t *testing.T) {
	path := t.TempDir() + "/memory.db"
	const sessions, turns = 6, 12
	scope := func(i int) backends.Scope {
		return backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", i)}
	}
	var wg sync.WaitGroup
	var envs []*env
	for n := range 2 {
		e := openEnv(t, openSQLite(t, path, nil), testkit.NewClock(), func(e *env) {
			e.cfg.Clock, e.cfg.Idle, e.cfg.MaxTurns, e.cfg.Queue = nil, time.Millisecond, 3, 8
			e.cfg.Backoff, e.cfg.Sweep = time.Millisecond, 5*time.Millisecond
		})
		envs = append(envs, e)
		for i := range sessions {
			wg.Go(func() {
				for k := range turns {
					assert.NoError(t, e.mem.Record(t.Context(), said(fmt.Sprintf("%d.%d.%02d", n, i, k), scope(i))))
					if k%5 == 4 {
						_, err := e.mem.Consolidate(t.Context(), scope(i))
						assert.NoError(t, err)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, e := range envs {
		require.NoError(t, e.mem.Flush(t.Context()))
	}
	assert.Equal(t, 2*sessions*turns*2, envs[0].learntOnce())
	for i := range sessions {
		last := map[byte]string{}
		for _, entry := range envs[0].entries(scope(i)) {
			assert.Greater(t, entry.ID, last[entry.ID[0]], "the turns of each process are in its order")
			last[entry.ID[0]] = entry.ID
		}
	}
}

func TestSweepFindsWhatOtherProcessesLeft(t *testing.T) {
	e := newEnv(t)
	paused := &store.Retry{Upto: 2, After: e.clock.Now().AddDate(1, 0, 0), Attempts: 1}
	for i := range 250 { // the first 150 pause after a failure
		s := backends.Scope{UserID: fmt.Sprintf("user%03d", i), SessionID: "s"}
		if e.append(said("a", s)); i < 150 {
			p, _ := s.Speaker()
			_, err := e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s", Retry: paused})
			require.NoError(t, err)
		}
	}
	e.append(said("a", backends.Scope{AgentID: "bot"}), part("open", 0, false, "x"))
	e = e.restart()
	e.sweep()
	assert.Empty(t, e.back.stored(), "not idle yet")
	e.clock.Advance(time.Hour)
	e.append(said("b", backends.Scope{AgentID: "mine"}))
	e.clock.Advance(time.Hour)
	e.sweep()
	assert.Len(t, e.back.stored(), 102)
	for _, r := range e.back.offers {
		assert.NotEqual(t, "mine", r.Scope.AgentID, "this process has a backlog of it")
	}
	e.log.Arm(nil)
	e.sweep()
	assert.Len(t, e.back.tried, 102, "nothing is left")
	assert.Less(t, len(e.log.Calls()), 5, "sessions that pause cost no call of their own")
}
