// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

func TestCloseWaitsForTheCallsUnderWay(t *testing.T) {
	var calls work.Calls
	require.NoError(t, calls.Enter("test"))
	require.NoError(t, calls.Enter("test"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, calls.Close(ended), context.Canceled, "two are under way")

	closed := make(chan error, 1)
	go func() { closed <- calls.Close(t.Context()) }()
	calls.Leave()
	select {
	case <-closed:
		t.Fatal("closed with a call under way")
	default:
	}
	calls.Leave()
	require.NoError(t, <-closed)
	require.NoError(t, calls.Close(t.Context()), "again")
}

func TestWithNothingUnderWayCloseNeedsNoTime(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		var calls work.Calls
		require.NoError(t, calls.Close(ended))
	}
}

func TestNoCallBeginsAfterClose(t *testing.T) {
	var calls work.Calls
	require.NoError(t, calls.Close(t.Context()))
	err := calls.Enter("reme")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.ErrorContains(t, err, "reme: the backend is closed")
}
