// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/einomem/einomem/internal/fault"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// outage is a service behind a circuit that opens after two failures in a row.
func outage() (b *fault.Breaker, now *time.Time, call func(err error) error) {
	start := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	now = &start
	b = fault.NewBreaker("embedder", 2, func() time.Time { return *now })
	return b, now, func(err error) error {
		_, got := fault.Call(context.Background(), b, time.Minute, func(context.Context) (int, error) { return 1, err })
		return got
	}
}

var (
	errDown    = errors.New("connection refused")
	errRefused = errors.New("status code: 400: too long")
)

func TestAServiceThatFailsIsLeftAloneForAGrowingWhile(t *testing.T) {
	b, now, call := outage()
	require.ErrorIs(t, call(errDown), errDown)
	require.NoError(t, call(nil))
	require.ErrorIs(t, call(errDown), errDown, "not in a row")
	require.ErrorIs(t, call(errRefused), errRefused)
	require.ErrorIs(t, call(errRefused), backends.ErrInvalid)
	require.NoError(t, call(nil), "what the service refuses is no failure of it")
	for range 2 {
		require.ErrorIs(t, call(errDown), errDown)
	}
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
		_, err := b.Open()
		require.ErrorIs(t, err, fault.ErrOpen)
		require.Equal(t, err, call(nil), "it is not called")
		*now = now.Add(pause - 1)
		require.ErrorIs(t, call(nil), fault.ErrOpen, pause)
		*now = now.Add(1)
		due, _ := b.Open()
		require.True(t, due)
		err = call(errDown) // the probe
		require.ErrorIs(t, err, errDown)
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
	require.EqualError(t, call(nil), "unavailable: embedder: the circuit is open since 2026-03-07T12:00:00Z, after 10 failures in a row: connection refused; the next probe is from 2026-03-07T12:04:03Z on")
	*now = now.Add(time.Minute)
	require.NoError(t, call(nil))
	require.ErrorIs(t, call(errDown), errDown)
	require.NoError(t, call(nil), "one failure opens nothing again")
}

func TestOneCallAtATimeProbes(t *testing.T) {
	b, now, call := outage()
	for range 2 {
		require.Error(t, call(errDown))
	}
	*now = now.Add(time.Second)
	begun, end, done := make(chan bool), make(chan error), make(chan error)
	probe := func(ctx context.Context) {
		_, err := fault.Call(ctx, b, time.Minute, func(context.Context) (int, error) {
			begun <- true
			return 0, <-end
		})
		done <- err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go probe(ctx)
	<-begun
	require.ErrorIs(t, call(nil), fault.ErrOpen)
	cancel()
	end <- errDown
	require.ErrorIs(t, <-done, context.Canceled)
	go probe(t.Context())
	<-begun // a caller that gave up says nothing of the service: the next call probes
	end <- nil
	require.NoError(t, <-done)
	require.NoError(t, call(nil))
}

func TestACallEndsInTimeWhateverTheServiceDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fault.NewBreaker("embedder", 2, time.Now)
		deaf := make(chan bool)
		start := time.Now()
		_, err := fault.Call(t.Context(), b, time.Second, func(context.Context) (int, error) { <-deaf; return 0, nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "embedder: no answer within 1s")
		_, err = fault.Call(t.Context(), b, time.Second, func(context.Context) (int, error) { panic("boo") })
		require.EqualError(t, err, "unavailable: embedder: panic: boo")
		_, err = fault.Call(t.Context(), b, time.Second, func(context.Context) (int, error) { return 1, nil })
		require.ErrorIs(t, err, fault.ErrOpen, "both are failures")
		require.Equal(t, time.Second, time.Since(start))
		close(deaf)

		ctx, cancel := context.WithCancel(t.Context())
		b = fault.NewBreaker("model", 2, time.Now)
		n, err := fault.Call(ctx, b, time.Second, func(context.Context) (int, error) { cancel(); return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, n, "what was answered stands")
	})
}
