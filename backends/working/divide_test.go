// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

// poison makes every batch fail that holds a message of one of the turns.
func poison(err error, turns ...string) func(context.Context, *backends.AddRequest) error {
	return func(_ context.Context, r *backends.AddRequest) error {
		for _, m := range r.Messages {
			for _, turn := range turns {
				if m.Turn == turn {
					return err
				}
			}
		}
		return nil
	}
}

// turnsOf returns the turns that failures hold.
func (w *world) turnsOf(failures []store.Failure) []string {
	w.t.Helper()
	var out []string
	for _, f := range failures {
		for _, e := range w.entries(ann) {
			if f.From <= e.Seq && e.Seq <= f.Upto && (len(out) == 0 || out[len(out)-1] != e.Turn) {
				out = append(out, e.Turn)
			}
		}
	}
	return out
}

// eight appends eight turns of two messages, t1 to t8, that nobody looks at yet.
func eight(t *testing.T, configure ...func(*world)) *world {
	w := newWorld(t, func(w *world) { w.cfg.MaxTurns = 1 << 20 })
	for i := range 8 {
		w.append(say(fmt.Sprint("t", i+1), ann))
	}
	return w.restart(configure...)
}

// tried wraps before so that the size of each batch is noted, in turns.
func (w *world) tried(sizes *[]int) {
	before := w.back.before
	w.back.before = func(ctx context.Context, r *backends.AddRequest) error {
		*sizes = append(*sizes, len(r.Messages)/2)
		return before(ctx, r)
	}
}

func TestOnePoisonTurnIsIsolated(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		var sizes []int
		w := eight(t, func(w *world) {
			w.back.workspace = workspace
			w.cfg.MaxAttempts = 3
			w.back.before = poison(backends.ErrModel, "t5")
			w.tried(&sizes)
		})
		var pauses []time.Duration
		for w.session(ann).Pending() {
			w.clock.Advance(time.Hour)
			w.sweep()
			if retry := w.session(ann).Retry; retry != (store.Retry{}) {
				pauses = append(pauses, retry.After.Sub(w.clock.Now()))
			}
		}
		assert.Equal(t, []int{8, 8, 8, 4, 4, 2, 1, 3}, sizes, "halves, then what is left")
		assert.Equal(t, []time.Duration{1, 2, 4, 8, 16}, seconds(pauses), "a backend that is sick gets no rush of calls")
		s := w.session(ann)
		assert.Equal(t, []store.Failure{{From: 9, Upto: 10, Attempts: 6, Reason: backends.ErrModel.Error(), Time: w.clock.Now()}}, s.Failures)
		assert.Zero(t, s.Retry)
		w.back.before = nil
		require.NoError(t, w.mem.RetryFailures(t.Context(), ann))
		assert.Len(t, w.all(), 16)
	}
}

func seconds(ds []time.Duration) []time.Duration {
	for i := range ds {
		ds[i] /= time.Second
	}
	return ds
}

// all returns what was learnt, each message once.
func (w *world) all() map[string]int {
	w.t.Helper()
	p, err := w.back.partition(ann)
	require.NoError(w.t, err)
	got := learnt(w.t, w.db, p)
	for id, n := range got {
		require.Equal(w.t, 1, n, id)
	}
	return got
}

func TestWhatCanNeverSucceedIsIsolatedAtOnce(t *testing.T) {
	for _, workspace := range []string{"", "team"} {
		w := eight(t, func(w *world) {
			w.back.workspace = workspace
			w.back.before = poison(backends.ErrInvalid, "t1", "t8")
		})
		resp, err := w.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrInvalid)
		assert.Len(t, resp.Items, 12)
		s := w.session(ann)
		assert.Equal(t, []string{"t1", "t8"}, w.turnsOf(s.Failures))
		assert.Equal(t, s.LastSeq, s.Watermark)
		assert.Zero(t, s.Retry)
		assert.Len(t, w.all(), 12)
		assert.Equal(t, int64(2), w.mem.Stats().GivenUp)
	}
}

func TestAStretchThatIsTooMuchIsLearntInParts(t *testing.T) {
	w := eight(t, func(w *world) {
		w.cfg.MaxAttempts = 1
		w.back.before = func(_ context.Context, r *backends.AddRequest) error {
			if len(r.Messages) > 4 {
				return fmt.Errorf("cut off: %w", backends.ErrModel)
			}
			return nil
		}
	})
	for w.session(ann).Pending() {
		w.clock.Advance(time.Hour)
		w.sweep()
	}
	assert.Empty(t, w.session(ann).Failures)
	assert.Len(t, w.all(), 16)
}

func TestWhatMayHaveBeenLearntIsNotDivided(t *testing.T) {
	lost := fmt.Errorf("reset by peer: %w", backends.ErrUnavailable)
	for name, first := range map[string]func(w *world, cancel func()){
		"the answer was lost": func(w *world, _ func()) {
			w.back.after = func(*backends.AddRequest) error { return lost }
		},
		"the caller went away": func(w *world, cancel func()) {
			w.back.after = func(*backends.AddRequest) error { cancel(); return context.Canceled }
		},
		"the log was away": func(w *world, _ func()) {
			updates := 0
			w.log.before = func(op string, _ any) error {
				if op == "update" {
					updates++
				}
				if updates > 2 { // the lease and the begin are written
					return lost
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := eight(t, func(w *world) { w.cfg.MaxAttempts = 2; w.back.workspace = "team" })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first(w, cancel)
			_, err := w.mem.Consolidate(ctx, ann)
			require.Error(t, err)
			w.back.after, w.log.before = nil, nil
			w.back.before = poison(backends.ErrModel, "t5")
			for w.session(ann).Pending() {
				w.clock.Advance(time.Hour)
				_, _ = w.mem.Consolidate(t.Context(), ann)
			}
			failures := w.session(ann).Failures
			require.Len(t, failures, 1)
			assert.EqualValues(t, 16, failures[0].Upto)
			w.back.before = nil
			require.NoError(t, w.mem.RetryFailures(t.Context(), ann))
			assert.Len(t, w.all(), 16, "under the key of the whole")
		})
	}
}

func TestHurriedCallsDoNotDivide(t *testing.T) {
	var sizes []int
	w := eight(t, func(w *world) {
		w.cfg.MaxAttempts = 2
		w.back.before = poison(backends.ErrModel, "t5")
		w.tried(&sizes)
	})
	for range 4 {
		_, err := w.mem.Consolidate(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrModel)
	}
	assert.Equal(t, []int{8, 8, 8, 8}, sizes)
	assert.False(t, w.session(ann).Retry.InDoubt, "the answers were clear")
	w.clock.Advance(time.Minute)
	_, err := w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	assert.EqualValues(t, 8, w.session(ann).Retry.Upto)
	assert.EqualValues(t, 16, w.session(ann).Retry.Whole)
}

func TestNewTurnsDoNotJoinADividedStretch(t *testing.T) {
	var sizes []int
	w := eight(t, func(w *world) {
		w.cfg.MaxAttempts = 1
		w.back.before = poison(backends.ErrModel, "t8")
		w.tried(&sizes)
	})
	_, err := w.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrModel)
	w.append(say("new", ann))
	for w.session(ann).Pending() {
		w.clock.Advance(time.Hour)
		_, _ = w.mem.Consolidate(t.Context(), ann)
	}
	assert.Equal(t, []int{8, 4, 4, 2, 2, 1, 1, 1}, sizes)
	assert.Equal(t, []string{"t8"}, w.turnsOf(w.session(ann).Failures))
	assert.Equal(t, []string{"new-0", "new-1"}, messageIDs(w.back.last().Messages))
}

// Whichever turns are poison, whoever tries, and wherever a process stops: those
// turns, and no others, are put aside, and the others are learnt once.
func TestOnlyPoisonTurnsAreGivenUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		db, err := sqlitestore.Open(context.Background(), ":memory:", &sqlitestore.Config{Clock: c.Now, Synchronous: sqlitestore.Normal})
		require.NoError(rt, err)
		defer db.Close()
		var bad []string
		w := &world{t: rt, db: db, clock: c, back: &learner{records: db, ids: backends.NewID}}
		w.back.workspace = rapid.SampledFrom([]string{"", "team"}).Draw(rt, "workspace")
		verdict := rapid.SampledFrom([]error{backends.ErrModel, backends.ErrInvalid, fmt.Errorf("odd")}).Draw(rt, "error")
		calls := rapid.IntRange(0, 60).Draw(rt, "stops at call")
		log := &sessions{Sessions: db, before: func(string, any) error {
			if calls--; calls == 0 {
				return backends.ErrUnavailable
			}
			return nil
		}}
		start := func(s store.Sessions, turns int) *working.Memory {
			mem, err := working.New(context.Background(), &working.Config{Sessions: s, Backend: w.back, Clock: c.Now, Sweep: -1, Idle: time.Hour, MaxAttempts: 2, MaxTurns: turns})
			require.NoError(rt, err)
			return mem
		}
		w.mem = start(db, 1<<20)
		for i := range rapid.IntRange(1, 12).Draw(rt, "turns") {
			id := fmt.Sprint("t", i)
			w.append(say(id, with(rapid.SampledFrom([]string{"bot", "bot", "bot", "cook"}).Draw(rt, "agent"))))
			if rapid.IntRange(0, 3).Draw(rt, "poison") == 0 {
				bad = append(bad, id)
			}
		}
		w.back.before = poison(verdict, bad...)
		for tries := 0; w.session(ann).Pending(); tries++ {
			require.Less(rt, tries, 100, "it comes to an end")
			if tries == 0 || rapid.Bool().Draw(rt, "restarts") {
				require.NoError(rt, w.mem.Close(context.Background()))
				w.mem = start(log, 6)
			}
			c.Advance(10 * time.Minute)
			_, _ = w.mem.Consolidate(context.Background(), ann)
		}
		require.NoError(rt, w.mem.Close(context.Background()))
		failed := w.turnsOf(w.session(ann).Failures)
		if calls > 0 { // nothing was ever in doubt
			require.Equal(rt, bad, failed)
		}
		got := w.all()
		for _, e := range w.entries(ann) {
			isPut := strings.Contains(" "+strings.Join(failed, " ")+" ", " "+e.Turn+" ")
			require.NotEqual(rt, isPut, got[e.ID] == 1, "%s is learnt or put aside", e.ID)
		}
	})
}
