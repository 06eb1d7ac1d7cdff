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
)

func TestFlushReportsEverySessionThatFails(t *testing.T) {
	f := &failing{err: backends.ErrModel, only: "bad"}
	w := failingWorld(t, f, func(w *world) { w.cfg.Workers = 1 })
	for i := range 4 {
		id := []string{"good", "bad"}[i%2]
		require.NoError(t, w.mem.Record(t.Context(), say(id, backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", i)})))
	}
	err := w.mem.Flush(t.Context())
	require.ErrorIs(t, err, backends.ErrModel)
	assert.ErrorContains(t, err, `"s1"`)
	assert.ErrorContains(t, err, `"s3"`)
	assert.NotContains(t, err.Error(), `"s2"`)
	assert.Equal(t, 2, w.mem.Stats().Sessions, "they are tried again")
	assert.Equal(t, epoch, w.mem.Stats().Oldest)
	f.err = nil
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Zero(t, w.mem.Stats().Sessions)
	assert.Zero(t, w.mem.Stats().Oldest)
}

func TestATurnThatComesWhileASessionIsSettledIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	w.append(say("a", ann))
	w.log.after = func(op string, arg any) error {
		if u, ok := arg.(*store.SessionUpdate); ok && u.Release { // the last look at the log is over
			w.log.after = nil
			w.clock.Advance(time.Minute)
			w.append(say("b", ann))
		}
		return nil
	}
	w.consolidate(ann)
	assert.Equal(t, 1, w.mem.Stats().Sessions)
	assert.Equal(t, epoch.Add(time.Minute), w.mem.Stats().Oldest)
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, w.back.stored())
}

func TestFlushLeavesOpenTurnsOpen(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.mem.Record(t.Context(), piece("t", 0, false, "hi")))
	require.NoError(t, w.mem.Flush(t.Context()))
	assert.Empty(t, w.back.stored())
	assert.Equal(t, 1, w.mem.Stats().Sessions)
}

func TestCloseAppendsWhatIsRecordedAndLeavesTheRestToTheNext(t *testing.T) {
	w := newWorld(t)
	release := blocked(w, say("first", ann))
	for i := range 9 {
		require.NoError(t, w.mem.Record(t.Context(), say(fmt.Sprint(i), ann)))
	}
	release()
	require.NoError(t, w.mem.Close(t.Context()))
	assert.Len(t, w.entries(ann), 20)
	assert.Empty(t, w.back.stored())

	learnt := make(chan struct{}, 10)
	next := joinWorld(t, w.db, w.clock, func(w *world) {
		w.clock.Advance(time.Hour)
		w.cfg.Sweep = time.Hour
		w.back.after = func(*backends.AddRequest) error { learnt <- struct{}{}; return nil }
	})
	<-learnt // the first sweep comes at once
	require.NoError(t, next.mem.Close(t.Context()))
}

func TestCloseInTheMiddleOfEverything(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Idle, w.cfg.MaxTurns, w.cfg.Queue, w.cfg.Sweep = 1, 1, 2, time.Millisecond })
	var wg sync.WaitGroup
	var kept atomic.Int64
	started := make(chan struct{}, 100)
	for g := range 8 {
		s := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", g%4)}
		wg.Go(func() {
			for i := 0; ; i++ {
				turn := say(fmt.Sprintf("%d.%d", g, i), s)
				var err error
				switch i % 4 {
				case 0, 1:
					if err = w.mem.Record(context.Background(), turn); err == nil {
						kept.Add(2)
					}
				case 2:
					if err = w.mem.Append(context.Background(), turn); err == nil {
						kept.Add(2)
					}
				case 3:
					started <- struct{}{}
					_, err = w.mem.Consolidate(context.Background(), s)
					err = errors.Join(err, w.mem.Flush(context.Background()))
				}
				if err != nil {
					assert.ErrorIs(t, err, working.ErrClosed)
					return
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	go func() { // until all are gone
		for range started {
			continue
		}
	}()
	require.NoError(t, w.mem.Close(t.Context()))
	wg.Wait()
	close(started)
	var stored int64
	for g := range 4 {
		stored += w.session(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", g)}).LastSeq
	}
	assert.Equal(t, kept.Load(), stored, "whatever was accepted is in the log")
	p, _ := ann.Speaker()
	for id, n := range learnt(t, w.db, p) {
		assert.Equal(t, 1, n, id)
	}
}

func TestCloseTwiceAndUseAfter(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.mem.Close(t.Context()))
	require.NoError(t, w.mem.Close(t.Context()))
	_, consolidate := w.mem.Consolidate(t.Context(), ann)
	_, failures := w.mem.Failures(t.Context(), ann)
	_, take := w.mem.TakeOpenTurn(t.Context(), ann, "c")
	for name, err := range map[string]error{
		"append": w.mem.Append(t.Context(), say("a", ann)), "record": w.mem.Record(t.Context(), say("a", ann)),
		"consolidate": consolidate, "failures": failures, "take": take, "flush": w.mem.Flush(t.Context()),
		"retry": w.mem.RetryFailures(t.Context(), ann), "save": w.mem.SaveOpenTurn(t.Context(), ann, "c", say("a", ann)),
	} {
		assert.ErrorIs(t, err, working.ErrClosed, name)
	}
}

func TestCloseWakesWhoWaitsForRoom(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Queue = 1 })
	release := blocked(w, say("a", ann))
	recorded, closed := make(chan error), make(chan error)
	go func() { recorded <- w.mem.Record(t.Context(), say("b", ann)) }()
	go func() { closed <- w.mem.Close(t.Context()) }()
	err := <-recorded // while the queue is stuck
	release()
	require.NoError(t, <-closed)
	if err == nil { // it came too late for the queue, and found room
		t.Fatal("recorded without room")
	}
	require.ErrorIs(t, err, working.ErrClosed)
}

func TestCloseNamesTheTurnsThatAreLost(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Backoff = time.Millisecond
		w.log.before = func(op string, _ any) error { return backends.ErrUnavailable }
	})
	require.NoError(t, w.mem.Record(t.Context(), say("precious", ann)))
	err := w.mem.Close(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "precious")
	assert.ErrorContains(t, <-w.errs, "append: ")
	require.Equal(t, err, w.mem.Close(t.Context()))
}

func TestCloseCancelsWhatIsUnderWayWhenItsTimeIsOver(t *testing.T) {
	started := make(chan struct{})
	w := newWorld(t, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	w.append(say("a", ann))
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.mem.Close(ctx), context.DeadlineExceeded)
	s := w.session(ann)
	assert.Empty(t, s.Lease.Owner, "the next process need not wait for the lease")
	assert.Zero(t, s.Retry.Attempts)
	assert.Empty(t, w.errs, "which is no failure")
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.back.before = func(context.Context, *backends.AddRequest) error { close(started); <-finish; return nil }
	})
	w.append(say("a", ann))
	<-started
	closed := make(chan error)
	go func() { closed <- w.mem.Close(t.Context()) }()
	close(finish)
	require.NoError(t, <-closed)
	assert.Len(t, w.back.stored(), 1)
}

func TestSweepFindsWhatOthersLeft(t *testing.T) {
	w := newWorld(t)
	for i := range 250 {
		w.append(say("a", backends.Scope{UserID: fmt.Sprint("user", i), SessionID: "s"}))
	}
	w.append(say("a", backends.Scope{AgentID: "bot"}), piece("open", 0, false, "x"))
	w = w.restart()
	w.sweep()
	assert.Empty(t, w.back.stored(), "not idle yet")
	w.clock.Advance(time.Hour)
	w.append(say("b", backends.Scope{AgentID: "mine"}))
	w.clock.Advance(time.Hour)
	w.sweep()
	assert.Len(t, w.back.stored(), 252)
	for _, r := range w.back.offers {
		assert.NotEqual(t, "mine", r.Scope.AgentID, "what this process has on its list is left to its workers")
	}
}

func TestSweepIsBoundedAndDoesNotStarve(t *testing.T) {
	w := newWorld(t)
	p, _ := ann.Speaker()
	const stuck = 1100
	later := store.Retry{Upto: 1, After: epoch.AddDate(1, 0, 0), Attempts: 1}
	entry := store.Entry{Done: true, Message: backends.Message{ID: "x", Turn: "x", Time: epoch, Message: say("x", ann).Messages[0]}}
	for i := range stuck + 1 {
		id := fmt.Sprint("s", i)
		_, err := w.db.Append(t.Context(), p, id, &store.Append{Scope: ann, Entries: []store.Entry{entry}})
		require.NoError(t, err)
		if i < stuck {
			_, err = w.db.Update(t.Context(), p, &store.SessionUpdate{Session: id, Retry: &later})
			require.NoError(t, err)
		}
		w.clock.Advance(time.Millisecond)
	}
	w.clock.Advance(2 * time.Hour)
	pages := 0
	w.log.before = func(op string, _ any) error {
		if op == "list" {
			pages++
		} else if len(w.back.stored()) == 0 && op == "session" {
			assert.Greater(t, pages, 10, "sessions that wait cost no call of their own")
		}
		return nil
	}
	next, err := w.mem.Sweep(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, 10, pages)
	assert.NotEmpty(t, next)
	assert.Empty(t, w.back.stored())
	next, err = w.mem.Sweep(t.Context(), next)
	require.NoError(t, err)
	assert.Empty(t, next)
	assert.Len(t, w.back.stored(), 1, "the one behind all those that wait")
}

func TestSweepFailuresAreReported(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Sweep = time.Millisecond
		w.log.before = func(op string, _ any) error { return backends.ErrUnavailable }
	})
	err := <-w.errs
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.ErrorContains(t, err, "sweep: ")
	assert.ErrorContains(t, <-w.errs, "sweep: ", "and it goes on")
}
