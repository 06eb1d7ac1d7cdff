// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/test/testkit"
)

var errLostAnswer = fmt.Errorf("reset by peer: %w", backends.ErrUnavailable)

func TestPausesDoubleAndAreKeptInTheSession(t *testing.T) {
	fail := func(e *env) {
		e.back.err = fmt.Errorf("garbage: %w", backends.ErrModel)
		e.cfg.Idle, *e.cfg.Attempts(), e.cfg.Backoff = 1, 20, time.Second
	}
	e := newEnv(t)
	e.append(said("a", ann))
	e = e.restart(fail)
	for n := range 12 {
		e.clock.Advance(time.Hour)
		e.sweep()
		retry := e.session(ann).Retry
		most := min(time.Second<<n, 300*time.Second)
		pause := retry.After.Sub(e.clock.Now())
		assert.True(t, most/2 <= pause && pause <= most, "%s after failure %d", pause, n+1)
		assert.Equal(t, "garbage: model output not understood", retry.Reason)
		assert.EqualValues(t, 2, retry.Upto)
	}
	assert.ErrorIs(t, <-e.errs, backends.ErrModel)

	other := openEnv(t, e.db, e.clock, fail) // another process respects the pause
	e.clock.Set(e.session(ann).Retry.After.Add(-1))
	other.sweep()
	assert.Empty(t, other.back.tried)
	e.clock.Advance(1)
	other.back.err = nil
	other.sweep()
	assert.Len(t, other.back.tried, 1)
	assert.Zero(t, other.session(ann).Retry, "a success ends it")
}

// A server that learns later has the turn already. Until it has learnt, the log answers for it.
func TestAQueuedRangeIsPendingUntilItIsLearnt(t *testing.T) {
	queue := func(e *env) {
		e.cfg.Idle = 1
		e.back.answer = func() *backends.AddResponse { return &backends.AddResponse{Queued: true} }
	}
	unlearnt := func(e *env) int {
		out, _, err := e.mem.Unlearnt(t.Context(), ann)
		require.NoError(t, err)
		return len(out)
	}
	e := newEnv(t)
	e.append(said("a", ann))
	e = e.restart(queue)
	require.True(t, e.consolidate(ann).Queued)
	for range 3 {
		retry := e.session(ann).Retry
		require.Greater(t, retry.After, e.clock.Now())
		require.Empty(t, retry.Reason)
		require.Equal(t, 2, unlearnt(e))
		health, err := e.mem.Health(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, []int{health.Sessions, health.Failing})
		e.clock.Set(retry.After.Add(-1))
		tried := len(e.back.tried)
		e.sweep()
		require.Len(t, e.back.tried, tried, "it is asked after a pause")
		e.clock.Advance(time.Second)
		e.sweep()
		require.Len(t, e.back.tried, tried+1)
	}
	e.append(said("b", ann))
	e = e.restart(func(e *env) { e.cfg.Idle = 1 })
	require.Equal(t, 4, unlearnt(e), "another process knows it, too")
	e.clock.Advance(time.Hour)
	e.sweep()
	require.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, e.back.stored())
	require.Zero(t, e.session(ann).Retry)
	require.Zero(t, unlearnt(e))
	require.Empty(t, e.errs)
}

func TestAfterTheLastAttemptLaterTurnsAreLearnt(t *testing.T) {
	e := newEnv(t)
	for _, id := range []string{"good", "bad", "later"} {
		e.append(part(id, 0, true, "x"))
	}
	e = e.restart(func(e *env) {
		*e.cfg.Attempts(), e.cfg.MaxTurns = 3, 1
		e.back.err, e.back.bad = fmt.Errorf("garbage: %w", backends.ErrModel), []string{"bad"}
	})
	for range 3 {
		assert.LessOrEqual(t, len(e.back.stored()), 1)
		e.clock.Advance(2 * time.Hour)
		e.sweep()
	}
	assert.Equal(t, [][]string{{"good-0"}, {"later-0"}}, e.back.stored(), "the third attempt was the last")
	assert.EqualValues(t, 3, e.session(ann).Watermark)
	failures := e.session(ann).Failures
	assert.Equal(t, []store.Failure{{From: 2, Upto: 2, Attempts: 3, Reason: "garbage: model output not understood", Time: e.clock.Now()}}, failures)

	require.ErrorIs(t, e.mem.RetryFailures(t.Context(), ann), backends.ErrModel)
	failures = e.session(ann).Failures
	assert.Equal(t, 4, failures[0].Attempts)

	e.back.err = nil
	require.NoError(t, e.mem.RetryFailures(t.Context(), ann))
	failures = e.session(ann).Failures
	assert.Empty(t, failures)
	assert.Equal(t, []string{"bad-0"}, messageIDs(e.back.last().Messages))
	assert.Equal(t, []string{"good-0"}, messageIDs(e.back.last().Context), "with what came before it as context")
	assert.Equal(t, map[string]int{"good-0": 1, "bad-0": 1, "later-0": 1}, e.learnt())
	require.NoError(t, e.mem.RetryFailures(t.Context(), ann), "nothing is left")
	require.NoError(t, e.mem.RetryFailures(t.Context(), backends.Scope{UserID: "carol"}), "no such session")
}

// However long a service is away, and whatever keeps it away: nothing joins the failures,
// Health shows it in all processes, and it is learnt when the service is back.
func TestAnOutageOfAnHourParksNothing(t *testing.T) {
	for _, cause := range []error{errLostAnswer, fault.Of(errors.New("401")), backends.ErrDimension, backends.ErrConflict, context.DeadlineExceeded} {
		e := eight(t, func(e *env) { e.back.err, *e.cfg.Attempts(), e.cfg.Idle = cause, 2, 1 })
		e.clock.Advance(time.Minute)
		start := e.clock.Now()
		for range 120 {
			e.sweep()
			e.clock.Advance(30 * time.Second)
		}
		assert.Greater(t, len(e.back.tried), 10)
		assert.Less(t, len(e.back.tried), 40, "the pauses grow")
		other := openEnv(t, e.db, e.clock)
		h, err := other.mem.Health(t.Context())
		require.NoError(t, err)
		assert.Equal(t, &working.Health{Sessions: 1, Messages: 16, Oldest: start.Add(-time.Minute), Failing: 1, Since: start, LastError: cause.Error()}, h)
		assert.Zero(t, e.session(ann).Retry.Attempts)

		e.back.err = fmt.Errorf("garbage: %w", backends.ErrModel)
		e.clock.Advance(5 * time.Minute)
		e.sweep()
		assert.Empty(t, e.session(ann).Failures, "the tries of the outage do not count")
		e.back.err = nil
		e.clock.Advance(5 * time.Minute)
		e.sweep()
		assert.Equal(t, 16, e.learntOnce(), "%v", cause)
		h, err = other.mem.Health(t.Context())
		require.NoError(t, err)
		assert.Equal(t, &working.Health{}, h)
	}
}

// A server that refuses the form of a request refuses nothing that was said: in a day of it
// nothing is parked or lost. Content that is refused is, with the reason.
func TestADayOfRefusedFormsParksNothing(t *testing.T) {
	e := eight(t, func(e *env) {
		e.back.err, *e.cfg.Attempts(), e.cfg.Idle = fault.Of(errors.New("status code: 400, message: tool_choice is not supported")), 2, 1
	})
	for range 24 * 12 {
		e.clock.Advance(5 * time.Minute)
		e.sweep()
	}
	h, err := e.mem.Health(t.Context())
	require.NoError(t, err)
	require.Zero(t, h.Parked)
	require.Contains(t, h.LastError, "the form of the request is refused")
	e.back.err, e.back.bad = fault.Of(errors.New("status code: 400, message: content_filter")), []string{"t5"}
	e.clock.Advance(5 * time.Minute)
	e.sweep()
	require.Equal(t, []string{"t5"}, e.failed())
	require.Contains(t, e.session(ann).Failures[0].Reason, "the content is refused")
	require.Equal(t, 14, e.learntOnce())
}

// A model that is away stored nothing: what it then refuses is found by division.
func TestARangeIsDividedAfterAnOutageOfTheModel(t *testing.T) {
	e := eight(t, func(e *env) { e.back.workspace, e.back.err = "team", fault.Of(errors.New("401")) })
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	e.back.err, e.back.bad = fault.Of(fmt.Errorf("too long: %w", backends.ErrInvalid)), []string{"t5"}
	_, err = e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Equal(t, []string{"t5"}, e.failed())
	assert.Equal(t, 14, e.learntOnce())
}

func TestHealthReturnsWhatItCountedBesideAnError(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	e.log.FailOn(backends.ErrUnavailable, "Read")
	h, err := e.mem.Health(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, &working.Health{Sessions: 1, Messages: 2}, h)
	e.log.FailOn(backends.ErrUnavailable, "List")
	h, err = e.mem.Health(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Zero(t, *h)
}

// What any process gave up is retried by one call, however many sessions there are.
func TestTheFailuresOfAllSessionsAreRetried(t *testing.T) {
	e := newEnv(t, func(e *env) { e.back.err = backends.ErrInvalid })
	const sessions = 120
	for i := range sessions {
		scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint(i)}
		e.append(said("a", scope))
		_, err := e.mem.Consolidate(t.Context(), scope)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	e = e.restart(func(e *env) { e.back.err = backends.ErrUnavailable })
	parked := func() int {
		h, err := e.mem.Health(t.Context())
		require.NoError(t, err)
		assert.Zero(t, h.Sessions)
		return h.Parked
	}
	assert.Equal(t, sessions, parked())
	require.ErrorIs(t, e.mem.RetryFailures(t.Context()), backends.ErrUnavailable)
	failures := e.session(backends.Scope{UserID: "ann", SessionID: "7"}).Failures
	assert.Equal(t, backends.ErrInvalid.Error(), failures[0].Reason, "an outage leaves them as they are")
	e.back.err = nil
	require.NoError(t, e.mem.RetryFailures(t.Context(), backends.Scope{UserID: "ann", SessionID: "7"}))
	assert.Equal(t, sessions-1, parked())
	require.NoError(t, e.mem.RetryFailures(t.Context()))
	assert.Zero(t, parked())
	assert.Equal(t, map[string]int{"a-0": sessions, "a-1": sessions}, e.learnt())

	require.ErrorIs(t, e.mem.RetryFailures(t.Context(), backends.Scope{}), backends.ErrNoScope)
	e.log.FailOn(backends.ErrUnavailable, "List")
	require.ErrorIs(t, e.mem.RetryFailures(t.Context()), backends.ErrUnavailable)
}

func TestALostAnswerIsNotAFailure(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		e := newEnv(t, func(e *env) { e.back.workspace = workspace })
		e.append(said("a", ann))
		e.back.after = func(*backends.AddRequest) error { return errLostAnswer }
		_, err := e.mem.Consolidate(t.Context(), ann)
		if workspace == "" {
			require.NoError(t, err, "the watermark shows that it was stored")
		} else {
			require.ErrorIs(t, err, errLostAnswer)
		}
		e.back.after = nil
		e.append(said("b", ann)) // must not change the range that is repeated
		e.consolidate(ann)
		assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, e.learnt())
	}
}

func TestAPauseEndsWithItsRange(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	e.consolidate(ann)
	p, _ := ann.Speaker() // as left by a process that died right after an early call succeeded
	_, err := e.db.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Retry: &store.Retry{Attempts: 4, After: e.clock.Now().AddDate(1, 0, 0), Upto: 2}})
	require.NoError(t, err)
	e.append(said("b", ann))
	e = e.restart()
	e.clock.Advance(2 * time.Hour)
	e.sweep()
	assert.Equal(t, [][]string{{"b-0", "b-1"}}, e.back.stored())

	e.back.err = backends.ErrModel
	e.append(said("c", ann))
	_, err = e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	assert.Equal(t, 1, e.session(ann).Retry.Attempts, "each range has its own attempts")
}

func TestABackendThatHangsIsCutOff(t *testing.T) {
	e := newEnv(t, func(e *env) {
		e.cfg.Timeout = time.Millisecond
		e.back.before = func(ctx context.Context, _ *backends.AddRequest) error { <-ctx.Done(); return ctx.Err() }
	})
	e.append(said("a", ann))
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, e.clock.Now(), e.session(ann).Retry.Since)
}

// A local model has some minutes for each call of a batch.
func TestASlowModelIsWaitedFor(t *testing.T) {
	var left time.Duration
	e := newEnv(t)
	e.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil
	}
	e.append(said("a", ann))
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.NoError(t, err)
	require.Greater(t, left, 29*time.Minute)
}

func TestACallThatIsCancelledLeavesNoTrace(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann))
	ctx, cancel := context.WithCancel(t.Context())
	e.back.before = func(ctx context.Context, _ *backends.AddRequest) error { cancel(); <-ctx.Done(); return ctx.Err() }
	_, err := e.mem.Consolidate(ctx, ann)
	require.ErrorIs(t, err, context.Canceled)
	s := e.session(ann)
	assert.Empty(t, s.Lease.Owner)
	assert.Zero(t, s.Retry.Attempts)
	assert.Zero(t, s.Retry.Since)
	e.back.before = nil
	assert.Len(t, e.consolidate(ann).Items, 2)
}

func TestASessionDoesNotExpireBetweenTheTries(t *testing.T) {
	e := newEnv(t, func(e *env) { e.back.err, e.cfg.TTL = backends.ErrModel, time.Hour })
	e.append(said("a", ann))
	for range 3 {
		e.clock.Advance(59 * time.Minute)
		_, err := e.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrModel)
	}
	assert.EqualValues(t, 2, e.session(ann).LastSeq)
}

func TestFailuresAreBoundedAndTheForgottenReported(t *testing.T) {
	e := newEnv(t)
	turn := part("t", 0, true, make([]string, 258)...)
	for i := range turn.Messages {
		turn.Messages[i].Content = "x"
	}
	e.append(turn)
	e = e.restart(func(e *env) { e.cfg.MaxTokens, e.back.err = 1, backends.ErrInvalid })
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)
	failures := e.session(ann).Failures
	require.Len(t, failures, 256)
	assert.EqualValues(t, 3, failures[0].From, "the newest stay")
	assert.ErrorContains(t, <-e.errs, "messages 1 to 1 stay in its log")
	assert.ErrorContains(t, <-e.errs, "messages 2 to 2 stay in its log")
}

// Whichever call of the store fails: the next consolidation learns all, once.
func TestTheStoreFailingInTheMiddle(t *testing.T) {
	away := fmt.Errorf("gone: %w", backends.ErrUnavailable)
	for name, call := range map[string]func(e *env) error{
		"consolidate":    func(e *env) error { _, err := e.mem.Consolidate(t.Context(), ann); return err },
		"retry failures": func(e *env) error { return e.mem.RetryFailures(t.Context(), ann) },
	} {
		for _, workspace := range []string{"", "team"} {
			for n := 0; ; n++ { // this call of the log fails
				e := newEnv(t, func(e *env) { e.back.workspace = workspace })
				e.append(said("a", ann))
				e.consolidate(ann)
				e.append(said("b", ann))
				if name == "retry failures" {
					e.back.err = backends.ErrInvalid
					_, err := e.mem.Consolidate(t.Context(), ann)
					require.ErrorIs(t, err, backends.ErrInvalid)
					e.back.err = nil
				}
				failed := false
				e.log.Arm(func(c *testkit.StoreCall) error {
					if failed = failed || c.N == n; c.N == n {
						return away
					}
					return nil
				})
				err := call(e)
				if !failed {
					require.NoError(t, err)
					break
				}
				if err != nil { // the answer of a write that was lost
					require.ErrorIs(t, err, away, "%s: call %d", name, n)
				}
				e.log.Arm(nil)
				e.clock.Advance(time.Minute) // a lease that was not released expires
				e.consolidate(ann)
				require.NoError(t, e.mem.RetryFailures(t.Context(), ann))
				assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "b-0": 1, "b-1": 1}, e.learnt(), "%s: call %d", name, n)
			}
		}
	}
}

// eight appends eight turns of two messages, t1 to t8, and leaves them to the process that
// it returns.
func eight(t *testing.T, configure ...func(*env)) *env {
	e := newEnv(t, func(e *env) { e.cfg.MaxTurns = 1 << 20 })
	for i := range 8 {
		e.append(said(fmt.Sprint("t", i+1), ann))
	}
	return e.restart(configure...)
}

// learnAll lets time pass until nothing is pending.
func (e *env) learnAll() {
	for tries := 0; e.session(ann).Pending(); tries++ {
		require.Less(e.t, tries, 100, "it comes to an end")
		e.clock.Advance(10 * time.Minute)
		_, _ = e.mem.Consolidate(context.Background(), ann)
	}
}

// failed returns the turns that are among the failures.
func (e *env) failed() (out []string) {
	for _, f := range e.session(ann).Failures {
		for _, entry := range e.entries(ann) {
			if f.From <= entry.Seq && entry.Seq <= f.Upto && (len(out) == 0 || out[len(out)-1] != entry.Turn) {
				out = append(out, entry.Turn)
			}
		}
	}
	return out
}

// learntOnce checks that no message was learnt from twice, and returns how many were.
func (e *env) learntOnce() int {
	learnt := e.learnt()
	for id, n := range learnt {
		require.Equal(e.t, 1, n, id)
	}
	return len(learnt)
}

func TestARangeIsDividedUntilTheTurnThatSpoilsItIsAlone(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		e := eight(t, func(e *env) {
			*e.cfg.Attempts() = 3
			e.back.workspace, e.back.err, e.back.bad = workspace, backends.ErrModel, []string{"t5"}
		})
		for attempts := 1; e.session(ann).Pending(); attempts++ {
			e.clock.Advance(time.Hour)
			e.sweep()
			if retry := e.session(ann).Retry; retry != (store.Retry{}) {
				most := time.Second << (attempts - 1)
				pause := retry.After.Sub(e.clock.Now())
				assert.True(t, most/2 <= pause && pause <= most, "%s: a backend that fails gets no rush of calls", pause)
			}
		}
		assert.Equal(t, []int{16, 16, 16, 8, 8, 4, 2, 6}, e.back.tried, "halves, then the rest")
		s := e.session(ann)
		assert.Equal(t, []store.Failure{{From: 9, Upto: 10, Attempts: 6, Reason: backends.ErrModel.Error(), Time: e.clock.Now()}}, s.Failures)
		assert.Zero(t, s.Retry)
		e.back.err = nil
		require.NoError(t, e.mem.RetryFailures(t.Context(), ann))
		assert.Equal(t, 16, e.learntOnce())
	}
}

func TestWhatCanNeverSucceedIsDividedAtOnce(t *testing.T) {
	for _, hopeless := range []error{backends.ErrInvalid, backends.ErrNoScope} {
		e := eight(t, func(e *env) { e.back.err, e.back.bad = hopeless, []string{"t1", "t8"} })
		resp, err := e.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, hopeless)
		require.ErrorContains(t, err, "messages 1 to 2 could not be learnt from, and joined the failures")
		assert.Len(t, resp.Items, 12)
		assert.Equal(t, []string{"t1", "t8"}, e.failed())
		s := e.session(ann)
		assert.Equal(t, s.LastSeq, s.Watermark)
		assert.Zero(t, s.Retry)
		assert.Equal(t, 12, e.learntOnce())
	}
}

func TestWhatMayHaveBeenLearntIsNotDivided(t *testing.T) {
	for name, first := range map[string]func(e *env, cancel func()){
		"the answer was lost": func(e *env, _ func()) {
			e.back.after = func(*backends.AddRequest) error { return errLostAnswer }
		},
		"a part was stored": func(e *env, _ func()) {
			e.back.partly, e.back.after = true, func(*backends.AddRequest) error { return fault.Of(errors.New("401")) }
		},
		"the caller went away": func(e *env, cancel func()) {
			e.back.after = func(*backends.AddRequest) error { cancel(); return context.Canceled }
		},
		"the log was away": func(e *env, _ func()) {
			updates := 0
			e.log.Arm(func(c *testkit.StoreCall) error {
				if c.Method == "Update" {
					updates++
				}
				if updates > 2 { // the lease and the begin are written
					return errLostAnswer
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := eight(t, func(e *env) { *e.cfg.Attempts(), e.back.workspace = 2, "team" })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first(e, cancel)
			_, err := e.mem.Consolidate(ctx, ann)
			require.Error(t, err)
			e.log.Arm(nil)
			e.back.after, e.back.err, e.back.bad = nil, backends.ErrModel, []string{"t5"}
			e.learnAll()
			failures := e.session(ann).Failures
			require.Len(t, failures, 1)
			assert.EqualValues(t, 16, failures[0].Upto)
			e.back.err = nil
			require.NoError(t, e.mem.RetryFailures(t.Context(), ann))
			assert.Equal(t, 16, e.learntOnce(), "under the key of the whole")
		})
	}
}

func TestEarlyCallsUseUpNoAttempts(t *testing.T) {
	e := eight(t, func(e *env) {
		*e.cfg.Attempts() = 2
		e.back.err, e.back.bad = backends.ErrModel, []string{"t5"}
	})
	for range 4 {
		_, err := e.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrModel)
	}
	assert.Equal(t, []int{16, 16, 16, 16}, e.back.tried, "they do try, and nothing is divided")
	s := e.session(ann)
	assert.Equal(t, 1, s.Retry.Attempts)
	assert.Empty(t, s.Lease.Owner)
	assert.False(t, s.Retry.InDoubt, "the answers were clear")
	e.clock.Advance(time.Minute)
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	assert.EqualValues(t, 8, e.session(ann).Retry.Upto)
	assert.EqualValues(t, 16, e.session(ann).Retry.Whole)
}

func TestNewTurnsDoNotJoinADividedRange(t *testing.T) {
	e := eight(t, func(e *env) {
		*e.cfg.Attempts() = 1
		e.back.err, e.back.bad = backends.ErrModel, []string{"t8"}
	})
	_, err := e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	e.append(said("new", ann))
	e.learnAll()
	assert.Equal(t, []int{16, 8, 8, 4, 4, 2, 2, 2}, e.back.tried)
	assert.Equal(t, []string{"t8"}, e.failed())
	assert.Equal(t, []string{"new-0", "new-1"}, messageIDs(e.back.last().Messages))
}

func TestADivisionThatCannotBeStoredIsRepeated(t *testing.T) {
	for _, bad := range [][]string{{"t5"}, nil} { // divided, or given up whole
		e := eight(t, func(e *env) {
			e.back.err, e.back.bad = backends.ErrInvalid, bad
			e.back.before = func(context.Context, *backends.AddRequest) error {
				e.log.FailOn(errLostAnswer, "Update") // what the store needs to note the failure
				return nil
			}
		})
		_, err := e.mem.Consolidate(t.Context(), ann)
		require.True(t, errors.Is(err, backends.ErrInvalid) && errors.Is(err, backends.ErrUnavailable), err)
		assert.Empty(t, e.session(ann).Failures)
		e.log.Arm(nil)
		e.back.before = nil
		e.learnAll()
		assert.NotEmpty(t, e.session(ann).Failures, "the range may have been learnt from: it is whole")
	}
}
