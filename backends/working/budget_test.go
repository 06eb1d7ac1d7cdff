// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/work"
)

// costs makes each batch one turn, which costs a call and ten tokens.
func costs(b working.Budget) func(*env) {
	return func(e *env) {
		e.cfg.Budget, e.cfg.MaxTurns = b, 1
		e.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
			work.Charge(ctx, 1, 10)
			return nil
		}
	}
}

func (e *env) health() *working.Health {
	h, err := e.mem.Health(context.Background())
	require.NoError(e.t, err)
	return h
}

func TestTurnsBeyondTheBudgetWaitForTheNextDay(t *testing.T) {
	for name, budget := range map[string]working.Budget{"calls": {Calls: 2}, "tokens": {Tokens: 20}, "both": {Calls: 99, Tokens: 11}} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, costs(budget))
			e.append(said("a", ann), said("b", ann), said("c", ann), said("d", ann))
			e.consolidate(ann)
			require.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, e.back.stored())
			require.ErrorContains(t, <-e.errs, "default/user/ann has spent the day's Budget of working.Config (model calls: 2, tokens: 20): further turns wait until 2026-03-08T00:00:00Z")
			retry := e.session(ann).Retry
			require.True(t, retry.OverBudget)
			require.Zero(t, retry.Attempts)
			require.Equal(t, time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), retry.After.UTC())
			h := e.health()
			require.Equal(t, []int64{4, 4, 0, 0}, []int64{h.Messages, h.OverBudget, int64(h.Failing), int64(h.Parked)})
			found, _, err := e.mem.Unlearnt(t.Context(), ann)
			require.NoError(t, err)
			require.Len(t, found, 4, "searches find the words of turns that wait")

			// Calls that ask for it early, other sessions, and another process keep to the budget.
			second := ann
			second.SessionID = "s2"
			e.append(said("e", second))
			require.NoError(t, e.mem.Flush(t.Context()))
			e = e.restart(costs(budget), func(e *env) { e.cfg.Idle, e.cfg.Workers = 1, 1 })
			e.clock.Set(retry.After.Add(-1))
			e.sweep()
			e.consolidate(ann)
			require.Empty(t, e.back.stored())
			require.Empty(t, e.errs, "it is reported once")
			require.EqualValues(t, 6, e.health().OverBudget)

			bob := backends.Scope{UserID: "bob", SessionID: "s1"}
			e.append(said("x", bob))
			e.consolidate(bob)
			require.Equal(t, [][]string{{"x-0", "x-1"}}, e.back.stored(), "the budget is each person's own")

			e.clock.Advance(1)
			e.sweep()
			require.Equal(t, [][]string{{"x-0", "x-1"}, {"c-0", "c-1"}, {"d-0", "d-1"}}, e.back.stored())
			require.EqualValues(t, 2, e.health().OverBudget)
			require.ErrorContains(t, <-e.errs, "2026-03-09T00:00:00Z", "once a day")
			e.clock.Advance(24 * time.Hour)
			e.sweep()
			require.Zero(t, e.health().Messages, "all is learnt")
			require.Zero(t, e.session(ann).Retry)
			for id, n := range e.learnt() {
				require.Equal(t, 1, n, id)
			}
		})
	}
}

func TestDaysBeginWhereTheBudgetSays(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	e := newEnv(t, costs(working.Budget{Calls: 1, Location: shanghai}))
	e.append(said("a", ann), said("b", ann), said("c", ann))
	e.consolidate(ann)
	require.Equal(t, time.Date(2026, 3, 7, 16, 0, 0, 0, time.UTC), e.session(ann).Retry.After.UTC())
	e.clock.Advance(4*time.Hour - 1)
	require.Empty(t, e.consolidate(ann).Items)
	e.clock.Advance(1)
	e.consolidate(ann) // or the worker did
	require.Equal(t, [][]string{{"a-0", "a-1"}, {"b-0", "b-1"}}, e.back.stored())
	require.Equal(t, time.Date(2026, 3, 8, 16, 0, 0, 0, time.UTC), e.session(ann).Retry.After.UTC())
}

// A session that would end before the next day lives on, as long as a process looks at it.
func TestTurnsThatWaitOutliveTheirSession(t *testing.T) {
	short := func(e *env) { e.cfg.TTL, e.cfg.Idle = time.Hour, 1 }
	e := newEnv(t, costs(working.Budget{Calls: 1}), short)
	e.append(said("a", ann), said("b", ann))
	e.consolidate(ann)
	e = e.restart(costs(working.Budget{Calls: 1}), short)
	for e.clock.Now().Day() == 7 {
		e.clock.Set(e.session(ann).Retry.After)
		e.sweep()
	}
	require.Equal(t, [][]string{{"b-0", "b-1"}}, e.back.stored())
}

// A turn that failed keeps its failures, its range and its doubt while it waits.
func TestAFailureSurvivesTheWait(t *testing.T) {
	e := newEnv(t, costs(working.Budget{Calls: 1}), func(e *env) { e.cfg.MaxTurns = 8 }) // no worker begins by itself
	charge := e.back.before
	var fails atomic.Bool
	fails.Store(true)
	e.back.before = func(ctx context.Context, r *backends.AddRequest) error {
		if err := charge(ctx, r); err != nil || !fails.Load() {
			return err
		}
		return errLostAnswer
	}
	e.append(said("a", ann))
	_, _ = e.mem.Consolidate(t.Context(), ann) // or the worker does
	failed := e.session(ann).Retry
	require.NotEmpty(t, failed.Reason)
	e.consolidate(ann)
	waits := e.session(ann).Retry
	require.True(t, waits.OverBudget)
	failed.After, failed.OverBudget = waits.After, true
	require.Equal(t, failed, waits)
	e.clock.Set(waits.After)
	_, _ = e.mem.Consolidate(t.Context(), ann)
	require.False(t, e.session(ann).Retry.OverBudget, "it waits for its pause now")
	require.Zero(t, e.health().OverBudget)
	e.clock.Advance(24 * time.Hour)
	fails.Store(false)
	e.consolidate(ann)
	require.Equal(t, [][]string{{"a-0", "a-1"}}, e.back.stored())
	require.Zero(t, e.session(ann).Retry)
}

// A model that makes no sense costs as well as one that does. One that is out of reach costs nothing.
func TestUnusableAnswersCost(t *testing.T) {
	for name, c := range map[string]struct {
		reply testkit.Reply
		stops bool
	}{
		"senseless":    {testkit.Text("I would rather not."), true},
		"out of reach": {testkit.Fail(backends.ErrUnavailable), false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			model := testkit.New(c.reply)
			backend, err := mem0.New(t.Context(), &mem0.Config{Store: e.db, Model: model})
			require.NoError(t, err)
			defer func() { require.NoError(t, backend.Close(t.Context())) }()
			e = openEnv(t, e.db, e.clock, func(e *env) { e.cfg.Backend, e.cfg.Budget, e.cfg.MaxTurns = backend, working.Budget{Tokens: 1}, 1 })
			e.append(said("I live in Hangzhou.", ann), said("I like tea.", ann))
			for range 4 {
				_, _ = e.mem.Consolidate(t.Context(), ann)
			}
			require.Equal(t, c.stops, len(model.Calls()) == 2, "the second answer spent the budget")
			require.Equal(t, c.stops, e.health().OverBudget > 0)
		})
	}
}

// Nobody who was forgotten comes back as an account.
func TestAnAccountEndsWithItsPerson(t *testing.T) {
	e := newEnv(t, costs(working.Budget{Calls: 1}))
	p, err := ann.Speaker()
	require.NoError(t, err)
	var forgotten bool
	charge := e.back.before
	e.back.before = func(ctx context.Context, r *backends.AddRequest) error {
		if !forgotten {
			forgotten = true
			_, err := store.Forget(t.Context(), e.db, p, nil)
			require.NoError(t, err)
		}
		return charge(ctx, r)
	}
	e.append(said("a", ann))
	_, _ = e.mem.Consolidate(t.Context(), ann)
	require.True(t, forgotten)
	page, err := e.db.Partitions(t.Context(), p.Namespace, store.Page{})
	require.NoError(t, err)
	require.Empty(t, page.Partitions)
	require.Empty(t, e.errs)
}

func TestABudgetIsPositive(t *testing.T) {
	_, err := working.New(t.Context(), &working.Config{Sessions: newEnv(t).db, Backend: &learner{}, Budget: working.Budget{Tokens: -1}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "Budget.Tokens")
}
