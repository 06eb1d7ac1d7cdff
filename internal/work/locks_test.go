// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneKeyDoesNotWaitForAnother(t *testing.T) {
	var l Locks[string]
	unlock, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	_, ok := l.TryLock("a")
	require.False(t, ok)
	other, ok := l.TryLock("b")
	require.True(t, ok)
	other()
	unlock()
	require.Empty(t, l.locks, "nothing is kept of keys that nobody holds")
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	var l Locks[string]
	unlock, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Lock(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	require.Empty(t, l.locks)
}

func TestOneHolderAtATime(t *testing.T) {
	var l Locks[string]
	n := 0 // guarded by the lock: the race detector sees when it is not
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				unlock, err := l.Lock(context.Background(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				n++
				unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 800, n)
	require.Empty(t, l.locks)
}
