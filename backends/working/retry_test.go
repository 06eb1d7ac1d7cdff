// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// failing makes the backend fail while err is not nil, before it stores anything.
type failing struct {
	err   error
	calls int
	only  string // if set, only batches with this message fail
}

func (f *failing) add(_ context.Context, r *backends.AddRequest) error {
	f.calls++
	if f.only != "" && !strings.Contains(fmt.Sprint(messageIDs(r.Messages)), f.only) {
		return nil
	}
	return f.err
}

func failingWorld(t *testing.T, f *failing, configure ...func(*world)) *world {
	return newWorld(t, append([]func(*world){func(w *world) { w.back.before = f.add }}, configure...)...)
}

// sweep is what the background does with a session that is due.
func (w *world) sweep() {
	w.t.Helper()
	_, err := w.mem.Sweep(context.Background(), "")
	require.NoError(w.t, err)
}

// restart replaces the Memory, so that the session is nobody's.
func (w *world) restart(configure ...func(*world)) *world {
	w.t.Helper()
	require.NoError(w.t, w.mem.Close(context.Background()))
	return joinWorld(w.t.(testing.TB), w.db, w.clock, configure...)
}

func TestPausesDoubleAndAreKeptInTheSession(t *testing.T) {
	f := &failing{err: fmt.Errorf("garbage: %w", backends.ErrModel)}
	fail := func(w *world) {
		w.back.before, w.cfg.Idle, w.cfg.MaxAttempts, w.cfg.MaxBackoff = f.add, 1, 20, 10*time.Second
	}
	writer := newWorld(t)
	writer.append(say("a", ann))
	w := writer.restart(fail)
	var pauses []time.Duration
	for range 6 {
		w.clock.Advance(time.Hour)
		w.sweep()
		retry := w.session(ann).Retry
		pauses = append(pauses, retry.After.Sub(w.clock.Now()))
		assert.Equal(t, "garbage: model output not understood", retry.Reason)
		assert.EqualValues(t, 2, retry.Upto)
	}
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}, pauses)
	assert.ErrorIs(t, <-w.errs, backends.ErrModel)

	other := joinWorld(t, w.db, w.clock, fail) // another process respects the pause
	w.clock.Advance(10*time.Second - 1)
	other.sweep()
	assert.Equal(t, 6, f.calls)
	w.clock.Advance(1)
	f.err = nil
	other.sweep()
	assert.Equal(t, 7, f.calls)
	assert.Zero(t, other.session(ann).Retry, "a success ends it")
}

func TestPausesAreSpread(t *testing.T) {
	f := &failing{err: errors.New("no")}
	w := failingWorld(t, f, func(w *world) { w.cfg.Jitter = func() float64 { return 0.5 }; w.cfg.Backoff = 8 * time.Second })
	w.append(say("a", ann))
	_, err := w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, f.err)
	assert.Equal(t, 6*time.Second, w.session(ann).Retry.After.Sub(w.clock.Now()))
}

func TestAfterTheLastAttemptLaterTurnsAreLearnt(t *testing.T) {
	f := &failing{err: fmt.Errorf("garbage: %w", backends.ErrModel), only: "bad-0"}
	w := failingWorld(t, f, func(w *world) { w.cfg.MaxAttempts = 3; w.cfg.MaxTurns = 1; w.cfg.Idle = time.Hour })
	p, _ := ann.Speaker()
	for _, id := range []string{"good", "bad", "later"} {
		_, err := w.db.Append(t.Context(), p, "s1", &store.Append{Scope: ann, Entries: []store.Entry{{Done: true, Message: backends.Message{ID: id + "-0", Turn: id, Time: epoch, Message: say(id, ann).Messages[0]}}}})
		require.NoError(t, err)
	}
	w.clock.Advance(2 * time.Hour)
	w.sweep()
	assert.Equal(t, [][]string{{"good-0"}}, w.back.stored())
	w.clock.Advance(time.Hour)
	w.sweep()
	w.clock.Advance(time.Hour)
	w.sweep()
	assert.Equal(t, [][]string{{"good-0"}, {"later-0"}}, w.back.stored(), "the third attempt was the last")
	assert.EqualValues(t, 3, w.session(ann).Watermark)

	failures, err := w.mem.Failures(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, []store.Failure{{From: 2, Upto: 2, Attempts: 3, Reason: "garbage: model output not understood", Time: w.clock.Now()}}, failures)
	assert.Equal(t, int64(1), w.mem.Stats().GivenUp)

	require.ErrorIs(t, w.mem.RetryFailures(t.Context(), ann), backends.ErrModel)
	failures, _ = w.mem.Failures(t.Context(), ann)
	assert.Equal(t, 4, failures[0].Attempts)

	f.err = nil
	require.NoError(t, w.mem.RetryFailures(t.Context(), ann))
	failures, _ = w.mem.Failures(t.Context(), ann)
	assert.Empty(t, failures)
	assert.Equal(t, []string{"bad-0"}, messageIDs(w.back.last().Messages))
	assert.Equal(t, []string{"good-0"}, messageIDs(w.back.last().Context), "grounded by what came before it")
	assert.Equal(t, map[string]int{"good-0": 1, "bad-0": 1, "later-0": 1}, learnt(t, w.db, p))
	require.NoError(t, w.mem.RetryFailures(t.Context(), ann), "nothing is left")
	require.NoError(t, w.mem.RetryFailures(t.Context(), backends.Scope{UserID: "nobody"}))
}

func TestWhatCanNeverSucceedIsNotTriedAgain(t *testing.T) {
	for _, hopeless := range []error{backends.ErrInvalid, backends.ErrNoScope} {
		f := &failing{err: hopeless}
		w := failingWorld(t, f)
		w.append(say("a", ann))
		resp, err := w.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, hopeless)
		assert.Empty(t, resp.Items)
		assert.Equal(t, 1, f.calls)
		assert.Len(t, w.session(ann).Failures, 1)
		w.append(say("b", ann))
		f.err = nil
		assert.Len(t, w.consolidate(ann).Items, 2)
	}
}

func TestAnOutageIsWaitedFor(t *testing.T) {
	f := &failing{err: fmt.Errorf("model: %w", backends.ErrUnavailable)}
	w := newWorld(t)
	w.append(say("a", ann))
	w = w.restart(func(w *world) { w.back.before = f.add; w.cfg.MaxAttempts = 2 })
	for range 19 {
		w.clock.Advance(time.Hour)
		w.sweep()
	}
	assert.Empty(t, w.session(ann).Failures)
	assert.Equal(t, 19, w.session(ann).Retry.Attempts)
	w.clock.Advance(time.Hour)
	w.sweep()
	assert.Len(t, w.session(ann).Failures, 1, "but not for ever: what follows must be learnt, too")
}

func TestHurriedCallsUseUpNoAttempts(t *testing.T) {
	f := &failing{err: backends.ErrModel}
	w := failingWorld(t, f, func(w *world) { w.cfg.MaxAttempts = 2 })
	w.append(say("a", ann))
	for range 5 {
		_, err := w.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrModel)
	}
	assert.Equal(t, 5, f.calls, "they do try")
	assert.Equal(t, 1, w.session(ann).Retry.Attempts)
	assert.Empty(t, w.session(ann).Lease.Owner)
	f.err = nil
	assert.Len(t, w.consolidate(ann).Items, 2)
}

func TestALostAnswerIsNotAFailure(t *testing.T) {
	lost := fmt.Errorf("reset by peer: %w", backends.ErrUnavailable)
	for _, workspace := range []string{"", "team"} {
		w := newWorld(t)
		w.append(say("a", ann))
		w.back.workspace = workspace
		w.back.after = func(*backends.AddRequest) error { return lost }
		_, err := w.mem.Consolidate(t.Context(), ann)
		if workspace == "" {
			require.NoError(t, err, "the watermark tells that it was stored")
		} else {
			require.ErrorIs(t, err, lost)
		}
		w.back.after = nil
		w.append(say("b", ann)) // must not change the stretch that is repeated
		w.consolidate(ann)
		p, _ := w.back.partition(ann)
		assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, learnt(t, w.db, p))
	}
}

func TestAPauseEndsWithWhatItWasFor(t *testing.T) {
	w := newWorld(t)
	w.append(say("a", ann))
	w.consolidate(ann)
	p, _ := ann.Speaker() // as left by a process that died right after a hurried call succeeded
	_, err := w.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Retry: &store.Retry{Attempts: 4, After: epoch.AddDate(1, 0, 0), Upto: 2}})
	require.NoError(t, err)
	w.append(say("b", ann))
	w = w.restart()
	w.clock.Advance(2 * time.Hour)
	w.sweep()
	assert.Equal(t, [][]string{{"b-0", "b-1"}}, w.back.stored())

	f := &failing{err: backends.ErrModel}
	w.back.before = f.add
	w.append(say("c", ann))
	_, err = w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	assert.Equal(t, 1, w.session(ann).Retry.Attempts, "each stretch has its own attempts")
}

func TestABackendThatSaysNothing(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Backend = silent{w.back} })
	w.append(say("a", ann))
	assert.Equal(t, &backends.AddResponse{}, w.consolidate(ann))
	assert.EqualValues(t, 2, w.session(ann).Watermark)
}

// silent answers neither with a response nor with an error.
type silent struct{ *learner }

func (silent) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return nil, nil
}

func TestAPanicInTheBackendIsAFailure(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.back.before = func(context.Context, *backends.AddRequest) error { panic("nil map") }
	})
	w.append(say("a", ann))
	assert.ErrorContains(t, <-w.errs, "panicked: nil map")
	require.NoError(t, w.mem.Close(t.Context()))
	assert.Contains(t, w.session(ann).Retry.Reason, "panicked")
}

func TestABackendThatHangsIsCutOff(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Timeout = time.Millisecond
		w.back.before = func(ctx context.Context, _ *backends.AddRequest) error { <-ctx.Done(); return ctx.Err() }
	})
	w.append(say("a", ann))
	_, err := w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, 1, w.session(ann).Retry.Attempts)
}

func TestACallerWhoGivesUpLeavesNoTrace(t *testing.T) {
	w := newWorld(t)
	w.append(say("a", ann))
	ctx, cancel := context.WithCancel(t.Context())
	w.back.before = func(ctx context.Context, _ *backends.AddRequest) error { cancel(); <-ctx.Done(); return ctx.Err() }
	_, err := w.mem.Consolidate(ctx, ann)
	require.ErrorIs(t, err, context.Canceled)
	s := w.session(ann)
	assert.Empty(t, s.Lease.Owner)
	assert.Zero(t, s.Retry.Attempts)
	assert.Zero(t, w.mem.Stats().Failed)
	w.back.before = nil
	assert.Len(t, w.consolidate(ann).Items, 2)
}

func TestASessionThatWaitsDoesNotExpire(t *testing.T) {
	f := &failing{err: backends.ErrModel}
	w := failingWorld(t, f, func(w *world) { w.cfg.TTL = time.Hour })
	w.append(say("a", ann))
	for range 3 {
		w.clock.Advance(59 * time.Minute)
		_, err := w.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrModel)
	}
	assert.EqualValues(t, 2, w.session(ann).LastSeq)
}

func TestFailuresAreBoundedAndTheForgottenReported(t *testing.T) {
	w := newWorld(t)
	turn := piece("t", 0, true, make([]string, 258)...)
	for i := range turn.Messages {
		turn.Messages[i].Content = "x"
	}
	w.append(turn)
	f := &failing{err: backends.ErrInvalid}
	w = w.restart(func(w *world) { w.cfg.MaxTokens = 1; w.back.before = f.add })
	_, err := w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)
	failures, err := w.mem.Failures(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, failures, 256)
	assert.EqualValues(t, 3, failures[0].From, "the newest stay")
	assert.ErrorContains(t, <-w.errs, "messages 1 to 1 stay in its log")
	assert.ErrorContains(t, <-w.errs, "messages 2 to 2 stay in its log")
}

func TestTheStoreFailingInTheMiddle(t *testing.T) {
	away := fmt.Errorf("gone: %w", backends.ErrUnavailable)
	for _, workspace := range []string{"", "team"} {
		for n := 1; ; n++ { // the n-th call of the log fails
			w := newWorld(t)
			w.back.workspace = workspace
			w.append(say("a", ann))
			w.consolidate(ann)
			w.append(say("b", ann))
			calls := 0
			w.log.before = func(string, any) error {
				if calls++; calls == n {
					return away
				}
				return nil
			}
			_, err := w.mem.Consolidate(t.Context(), ann)
			if calls < n {
				require.NoError(t, err)
				break
			}
			require.ErrorIs(t, err, away, "call %d", n)
			w.clock.Advance(time.Minute) // a lease that could not be given back expires
			w.consolidate(ann)
			p, _ := w.back.partition(ann)
			assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, learnt(t, w.db, p), "call %d", n)
		}
	}
}
