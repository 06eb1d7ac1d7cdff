// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatchMakesAnErrorOfAPanic(t *testing.T) {
	require.EqualError(t, work.Catch("the counter", func() error { panic("boo") }), "the counter: panic: boo")
	require.ErrorIs(t, work.Catch("the counter", func() error { return context.Canceled }), context.Canceled)
	require.NoError(t, work.Catch("the counter", func() error { return nil }))
}

func TestDefaultsTakeThePlaceOfFunctionsThatFail(t *testing.T) {
	for name, ids := range map[string]backends.IDSource{"none": nil, "panics": func() string { panic("ids") }, "empty": func() string { return "" }} {
		assert.Len(t, work.IDs(ids)(), len(backends.NewID()), name)
	}
	for name, clock := range map[string]backends.Clock{"none": nil, "panics": func() time.Time { panic("clock") }} {
		assert.WithinDuration(t, time.Now(), work.Clock(clock)(), time.Minute, name)
	}
	assert.Zero(t, work.Clock(func() (t time.Time) { return t })(), "a program may begin its time where it likes")
	assert.Equal(t, "id", work.IDs(func() string { return "id" })())
}

func TestLocksExcludeByKey(t *testing.T) {
	var locks work.Locks[string]
	unlock, err := locks.Lock(t.Context(), "a")
	require.NoError(t, err)
	other, err := locks.Lock(t.Context(), "b")
	require.NoError(t, err, "another key is free")
	other()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locks.Lock(ended, "a")
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	unlock, err = locks.Lock(t.Context(), "a")
	require.NoError(t, err)
	unlock()
}

func TestAListWorksOnAKeyInOneGoroutineAtATime(t *testing.T) {
	var keys, running [4]atomic.Int32
	var all atomic.Int32
	life := service(t)
	l := work.NewList(life, "keys", 3, func(_ context.Context, k int) error {
		keys[k].Add(1)
		assert.EqualValues(t, 1, running[k].Add(1))
		assert.LessOrEqual(t, all.Add(1), int32(3))
		all.Add(-1)
		running[k].Add(-1)
		return nil
	})
	var adders sync.WaitGroup
	for range 8 {
		adders.Go(func() {
			for i := range 200 {
				l.Add(i % 4)
			}
		})
	}
	adders.Wait()
	for k := range keys {
		assert.Eventually(t, func() bool { return keys[k].Load() > 0 }, time.Minute, time.Millisecond)
	}
	require.NoError(t, life.Close(t.Context(), 0))
}

func TestAKeyThatWaitsForRoomDoesNotHoldUpItsCallers(t *testing.T) {
	entered, release := make(chan string, 10), make(chan struct{})
	life := service(t)
	l := work.NewList(life, "keys", 1, func(_ context.Context, k string) error { entered <- k; <-release; return nil })
	l.Add("slow")
	require.Equal(t, "slow", <-entered)
	l.Add("k") // there is no room
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		unlock, err := l.Lock(ctx, "k")
		cancel()
		require.NoError(t, err)
		unlock()
		runtime.Gosched()
	}
	close(release)
	require.Equal(t, "k", <-entered)
	require.NoError(t, life.Close(t.Context(), 0))
}

func TestAListHoldsAKeyOnceAndOnceMoreIfAddedDuringTheWork(t *testing.T) {
	began, end := make(chan string), make(chan bool)
	life := service(t)
	l := work.NewList(life, "keys", 1, func(_ context.Context, k string) error { began <- k; <-end; return nil })
	l.Add("a")
	require.Equal(t, "a", <-began)
	for range 3 {
		l.Add("a") // while it is worked on
		l.Add("b")
	}
	end <- true
	next := <-began
	end <- true
	require.ElementsMatch(t, []string{"a", "b"}, []string{next, <-began})
	l.AddAfter("late", time.Hour)
	l.AddAfter("soon", time.Hour)
	l.AddAfter("soon", time.Millisecond) // the newer one counts
	end <- true
	require.Equal(t, "soon", <-began)
	l.Cancel("late")
	l.AddAfter("late", time.Hour)
	unlock, err := l.Lock(t.Context(), "locked")
	require.NoError(t, err)
	l.Add("locked")
	end <- true
	l.Add("other")
	require.Equal(t, "other", <-began)
	end <- true
	unlock()
	require.Equal(t, "locked", <-began)
	life.Stop()
	l.Add("after Stop")
	end <- true
	require.NoError(t, life.Close(t.Context(), 0))
}

// queueOf returns a queue, and its service, which is closed with the test.
func queueOf(t *testing.T, size, batch int, handle func(context.Context, string, []int, int) error) (*work.Queue[string, int], *work.Service) {
	life := service(t)
	return work.NewQueue(life, "queue", work.QueueConfig[string, int]{
		Size: size, Workers: 2, Batch: batch, Handle: handle, Pause: func(failures int) time.Duration {
			assert.Positive(t, failures) // also where a Flush beside the worker succeeds meanwhile
			return time.Millisecond
		},
	}), life
}

func TestAQueueKeepsTheOrderOfAKeyThroughFailures(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]int{}
	q, _ := queueOf(t, 100, 3, func(_ context.Context, k string, values []int, failures int) error {
		mu.Lock()
		defer mu.Unlock()
		if values[0]%5 == 0 && failures < 2 {
			return errors.New("not yet")
		}
		got[k] = append(got[k], values...)
		return nil
	})
	var want []int
	for i := range 40 {
		want = append(want, i)
		for _, k := range []string{"a", "b"} {
			require.NoError(t, q.Push(t.Context(), k, i))
		}
	}
	for q.Flush(t.Context()) != nil {
	}
	assert.Equal(t, map[string][]int{"a": want, "b": want}, got)
	assert.Empty(t, q.Waiting())
}

func TestAFullQueueMakesPushWait(t *testing.T) {
	open := make(chan struct{})
	q, _ := queueOf(t, 1, 1, func(context.Context, string, []int, int) error { <-open; return nil })
	require.NoError(t, q.Push(t.Context(), "a", 1))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, q.Push(ended, "a", 2), context.Canceled)
	close(open)
	require.NoError(t, q.Push(t.Context(), "a", 2))
}

func TestDoComesAfterWhatWaits(t *testing.T) {
	var got []string
	away := errors.New("away")
	err := away
	q, life := queueOf(t, 10, 1, func(_ context.Context, _ string, values []int, _ int) error {
		if err == nil {
			got = append(got, fmt.Sprint(values))
		}
		return err
	})
	unlocked := func() error { got = append(got, "f"); return nil }
	require.NoError(t, q.Push(t.Context(), "a", 1))
	require.ErrorIs(t, q.Do(t.Context(), "a", unlocked), away)
	require.NoError(t, life.Close(t.Context(), 0))
	require.ErrorIs(t, q.Push(t.Context(), "a", 2), errClosed)
	assert.Equal(t, []int{1}, q.Waiting())
	err = nil
	require.NoError(t, q.Do(t.Context(), "a", unlocked), "what waits may still be drained")
	assert.Equal(t, []string{"[1]", "f"}, got)
}

func TestWhatWaitsOutlivesACloseThatCancels(t *testing.T) {
	begun := make(chan struct{})
	q, life := queueOf(t, 1, 1, func(ctx context.Context, _ string, _ []int, _ int) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, q.Push(t.Context(), "a", 1))
	<-begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, life.Close(ended, time.Minute), context.Canceled)
	assert.Equal(t, []int{1}, q.Waiting())
}

func TestAHandlerThatPanicsIsTriedAgain(t *testing.T) {
	var tries atomic.Int32
	handled := make(chan int, 1)
	q, _ := queueOf(t, 1, 1, func(_ context.Context, _ string, values []int, failures int) error {
		if tries.Add(1) == 1 {
			panic("handler")
		}
		handled <- failures
		return nil
	})
	require.NoError(t, q.Push(t.Context(), "a", 1))
	require.Equal(t, 1, <-handled)
}

func TestAwaitWaitsNoLongerThanItsContext(t *testing.T) {
	got, err := work.Await(t.Context(), "the oracle", func() (int, error) { return 42, context.DeadlineExceeded })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 42, got)
	_, err = work.Await(t.Context(), "the oracle", func() (int, error) { panic("who knows") })
	require.EqualError(t, err, "the oracle: panic: who knows")
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	_, err = work.Await(ctx, "the oracle", func() (int, error) { cancel(); <-release; return 1, nil })
	require.ErrorIs(t, err, context.Canceled, "although it does not heed it")
}

func TestReportReportsTheStageAndOutlivesAPanic(t *testing.T) {
	var got []string
	work.Report(t.Context(), func(_ context.Context, stage string, err error) { got = append(got, stage+": "+err.Error()) }, "search", errors.New("down"))
	require.Equal(t, []string{"search: down"}, got)
	work.Report(t.Context(), nil, "search", errors.New("down"))
	require.NotPanics(t, func() {
		work.Report(t.Context(), func(context.Context, string, error) { panic("callback") }, "search", errors.New("down"))
	})
}

func TestKeysThatWaitTakeNoGoroutine(t *testing.T) {
	const keys, workers = 10_000, 3
	var done atomic.Int64
	blocked, begun := make(chan struct{}), make(chan struct{}, keys)
	life := service(t)
	l := work.NewList(life, "keys", workers, func(context.Context, int) error {
		begun <- struct{}{}
		<-blocked
		done.Add(1)
		return nil
	})
	before := runtime.NumGoroutine()
	for k := range keys {
		l.AddAfter(k, time.Duration(k%2)*time.Microsecond)
	}
	for range workers {
		<-begun
	}
	unlock, err := l.Lock(t.Context(), keys)
	require.NoError(t, err)
	l.Add(keys)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+workers+1 }, 10*time.Second, time.Millisecond)
	unlock()
	close(blocked)
	require.Eventually(t, func() bool { return done.Load() == keys+1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, life.Close(t.Context(), 0))
}
