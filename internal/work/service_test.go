// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/work"
)

var errClosed = errors.New("closed")

// service returns a service that is closed with the test.
func service(t *testing.T) *work.Service {
	s := work.NewService(t.Context(), errClosed, func(_ context.Context, stage string, err error) { t.Errorf("%s: %v", stage, err) })
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background(), 0)) })
	return s
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestCloseWaitsForTheCallsUnderWay(t *testing.T) {
	s := service(t)
	first, err := s.Enter()
	require.NoError(t, err)
	second, err := s.Enter()
	require.NoError(t, err)
	require.ErrorIs(t, s.Close(ended(), 0), context.Canceled, "two are under way")
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background(), 0) }()
	first()
	select {
	case <-closed:
		t.Fatal("closed with a call under way")
	default:
	}
	second()
	require.NoError(t, <-closed)
	require.NoError(t, s.Close(ended(), 0), "nothing is under way")
	_, err = s.Enter()
	require.ErrorIs(t, err, errClosed)
	require.ErrorIs(t, s.Go(t.Context(), "late", func(context.Context) error { panic("it began") }), errClosed)
}

func TestDrainWaitsForEarlierWorkAlone(t *testing.T) {
	s := service(t)
	earlier, err := s.Enter()
	require.NoError(t, err)
	require.ErrorIs(t, s.Drain(ended()), context.Canceled)
	later, err := s.Enter()
	require.NoError(t, err)
	require.ErrorIs(t, s.Drain(ended()), context.Canceled)
	last, err := s.Enter()
	require.NoError(t, err)
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(context.Background()) }()
	later() // before the earlier one
	last()
	earlier()
	require.NoError(t, <-drained)
	require.NoError(t, s.Drain(ended()))
}

func TestWorkEndsWithItsContextWhenCloseRunsOutOfTime(t *testing.T) {
	type key struct{}
	s := work.NewService(t.Context(), errClosed, nil)
	begun, over := make(chan any), make(chan error, 1)
	gone, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	require.NoError(t, s.Go(gone, "work", func(ctx context.Context) error {
		begun <- ctx.Value(key{})
		<-ctx.Done()
		over <- ctx.Err()
		return nil
	}))
	leave()
	require.Equal(t, "value", <-begun)
	within, free := s.Within(context.Background())
	defer free()
	require.NoError(t, within.Err())
	require.ErrorIs(t, s.Close(ended(), time.Minute), context.Canceled)
	require.Len(t, over, 1, "Close gave it its time")
	<-within.Done()
}

func TestErrorsAndPanicsOfGoroutinesAreReported(t *testing.T) {
	reported := make(chan string, 10)
	s := work.NewService(t.Context(), errClosed, func(_ context.Context, stage string, err error) { reported <- stage + ": " + err.Error() })
	require.NoError(t, s.Go(t.Context(), "store", func(context.Context) error { return errors.New("away") }))
	require.Equal(t, "store: away", <-reported)
	calls := 0
	require.NoError(t, s.Every(t.Context(), "sweep", time.Nanosecond, func(context.Context) error {
		if calls++; calls < 3 {
			panic(calls)
		}
		s.Cancel()
		return errors.New("a cancelled call says nothing")
	}))
	require.Equal(t, "sweep: sweep: panic: 1", <-reported)
	require.Equal(t, "sweep: sweep: panic: 2", <-reported)
	require.NoError(t, s.Drain(t.Context()))
	require.Empty(t, reported)
}

// part is one piece of work in the property below.
type part struct{ began, over atomic.Bool }

// Whatever several goroutines do with a service: a Drain ends after all that was accepted before it,
// nothing is accepted after a Stop, and once Close is back nothing runs and nothing begins.
func TestTheLifeOfAService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var panics, reports atomic.Int32
		s := work.NewService(context.Background(), errClosed, func(context.Context, string, error) { reports.Add(1) })
		list := work.NewList(s, "list", 2, func(context.Context, int) error { return nil })
		var mu sync.Mutex
		var accepted []*part
		start := func(panicking bool) {
			p := &part{}
			stopped := s.Open().Err() != nil
			err := s.Go(context.Background(), "part", func(context.Context) error {
				p.began.Store(true)
				defer p.over.Store(true)
				if panicking {
					panics.Add(1)
					panic("part")
				}
				return nil
			})
			switch {
			case err == nil && stopped:
				t.Errorf("work began after Stop")
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				accepted = append(accepted, p)
			}
		}
		drained := func(wait func() error) {
			mu.Lock()
			before := append([]*part(nil), accepted...)
			mu.Unlock()
			if err := wait(); err != nil {
				t.Errorf("a wait without an end failed: %v", err)
			}
			for _, p := range before {
				if !p.over.Load() {
					t.Errorf("a wait ended before the work")
				}
			}
		}
		do := map[string]func(){
			"go":    func() { start(false) },
			"panic": func() { start(true) },
			"add":   func() { list.Add(1); list.AddAfter(2, time.Microsecond); list.AddAfter(3, time.Hour) },
			"enter": func() {
				if leave, err := s.Enter(); err == nil {
					defer leave()
				}
			},
			"drain":  func() { drained(func() error { return s.Drain(context.Background()) }) },
			"stop":   s.Stop,
			"cancel": s.Cancel,
			"close":  func() { drained(func() error { return s.Close(context.Background(), 0) }) },
		}
		names := []string{"go", "go", "go", "panic", "add", "enter", "enter", "drain", "drain", "stop", "cancel", "close"}
		var all sync.WaitGroup
		for range rapid.IntRange(1, 4).Draw(t, "goroutines") {
			ops := rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(t, "ops")
			all.Go(func() {
				for _, name := range ops {
					do[name]()
				}
			})
		}
		all.Wait()
		do["close"]()
		if err := s.Running().Err(); err == nil {
			t.Errorf("Close left the context open")
		}
		if reports.Load() != panics.Load() {
			t.Errorf("%d panics, %d reports", panics.Load(), reports.Load())
		}
		do["go"]()
		for _, p := range accepted {
			if !p.began.Load() {
				t.Errorf("accepted work was dropped")
			}
		}
	})
}
