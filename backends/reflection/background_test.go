// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// behind is a process that reflects in the background, and what it did.
type behind struct {
	*reflection.Background
	drafts, applied chan int
	failures        *testkit.Failures
}

func start(t testing.TB, db store.Store, clock *testkit.Clock, change func(*reflection.Schedule)) *behind {
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Clock: clock.Now})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	out := &behind{drafts: make(chan int, 100), applied: make(chan int, 100), failures: &testkit.Failures{}}
	s := &reflection.Schedule{Config: reflection.Config{Backend: b}, Turns: 3, Idle: time.Millisecond}
	s.Review = func(_ context.Context, p *reflection.Plan) bool { out.drafts <- len(p.Operations); return true }
	s.OnApplied = func(_ context.Context, _ *reflection.Plan, a *reflection.Applied) { out.applied <- a.Done }
	change(s)
	out.Background, err = reflection.Start(s, out.failures.Add)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, out.Close(context.Background())) })
	return out
}

// apply waits for a plan to be applied, and returns how many of its operations were.
func (b *behind) apply(t testing.TB) int {
	select {
	case done := <-b.applied:
		return done
	case <-time.After(time.Minute):
		require.FailNow(t, "no plan was applied", "%v", b.failures.Err())
		return 0
	}
}

func same(*reflection.Schedule) {}

func TestTheBackgroundReflectsAfterSomeTurns(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, db, clock, nil)
		w.remember(tea, teaToo)
		first := start(t, db, clock, same)
		first.After(ann)
		first.After(ann)
		require.NoError(t, first.Close(t.Context()))
		require.Empty(t, first.drafts)
		second := start(t, db, clock, same) // the turns of another process count
		second.After(ann)
		require.Equal(t, 1, second.apply(t))
		require.Len(t, w.active(), 1)
		w.remember(oslo, bergen)
		second.After(ann)
		time.Sleep(50 * time.Millisecond)
		require.Len(t, second.drafts, 1, "two more turns are to come")
	})
}

func TestOneProcessReflectsAtATime(t *testing.T) {
	clock := testkit.NewClock()
	db := testkit.SQLite(t)
	w := open(t, db, clock, nil)
	for i := range 30 {
		w.remember(fmt.Sprintf("The user owns book %d.", i), fmt.Sprintf("The user owns book %d", i))
	}
	var busy sync.Mutex
	drafts := make(chan int, 100)
	for range 3 {
		b := start(t, db, clock, func(s *reflection.Schedule) {
			s.Review = func(_ context.Context, p *reflection.Plan) bool {
				require.True(t, busy.TryLock(), "another process is at it")
				time.Sleep(20 * time.Millisecond)
				busy.Unlock()
				drafts <- len(p.Operations)
				return false
			}
		})
		for range 3 {
			b.After(ann)
		}
	}
	require.Equal(t, 30, <-drafts)
	require.Len(t, w.active(), 60, "a plan that the review declines is not applied")
}

func TestABudgetIsKeptForADay(t *testing.T) {
	clock := testkit.NewClock()
	db := testkit.SQLite(t)
	w := open(t, db, clock, nil)
	chat := answering(t)
	b := start(t, db, clock, func(s *reflection.Schedule) { s.Model, s.Calls = chat, 1 })
	for day := range 3 {
		for range 2 {
			clock.Advance(time.Hour)
			w.remember(fmt.Sprintf("The user saw film %d.", clock.Now().Unix()), fmt.Sprintf("The user read book %d.", clock.Now().Unix()))
			for range 3 {
				b.After(ann)
			}
			require.Eventually(t, func() bool { return len(chat.Calls()) == day+1 }, time.Minute, time.Millisecond)
			time.Sleep(50 * time.Millisecond) // for a call too many
		}
		require.Len(t, chat.Calls(), day+1)
		clock.Advance(24 * time.Hour)
	}
}

func TestAModelThatFailsIsAskedAgainAfterTheNextTurn(t *testing.T) {
	clock := testkit.NewClock()
	db := testkit.SQLite(t)
	w := open(t, db, clock, nil)
	w.remember(run, swim, tea, teaToo)
	down := testkit.New(testkit.Fail(fmt.Errorf("down")), testkit.Call("1", "reflect", `{"operations":[]}`))
	b := start(t, db, clock, func(s *reflection.Schedule) { s.Model = down })
	for range 3 {
		b.After(ann)
	}
	require.Eventually(t, func() bool { return b.failures.Err() != nil }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, b.failures.Err(), backends.ErrUnavailable)
	require.Len(t, w.active(), 4, "nothing is done by halves")
	b.After(ann)
	require.Equal(t, 1, b.apply(t))
}

func TestTurnsThatAStoreRefusesAreCountedLater(t *testing.T) {
	clock := testkit.NewClock()
	db := testkit.Spy(testkit.SQLite(t))
	w := open(t, db, clock, nil)
	w.remember(tea, teaToo)
	b := start(t, db, clock, same)
	db.FailOn(backends.ErrUnavailable, "Apply")
	b.After(ann)
	b.After(ann)
	require.Eventually(t, func() bool { return b.failures.Err() != nil }, time.Minute, time.Millisecond)
	db.Arm(nil)
	b.After(ann)
	require.Equal(t, 1, b.apply(t))
}
