// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

func runSessions(t *testing.T, more ...string) *sessionsReport {
	t.Helper()
	var r sessionsReport
	out := bench(t, 0, append([]string{"sessions", "-json", "-sessions", "3", "-turns", "5,25", "-window", "4", "-rounds", "2"}, more...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return &r
}

func TestSessionsOnSQLite(t *testing.T) {
	r := runSessions(t)
	require.Len(t, r.Rows, 2*2, "two lengths, with one client and with three")
	for _, row := range r.Rows {
		require.Equal(t, "sqlite", row.Where)
		require.Positive(t, row.Save.Took.P50)
		require.Positive(t, row.Load.Took.P50)
		require.Zero(t, row.Load.Received, "there is no wire")
		require.InDelta(t, 4*4, row.Loaded, 1, "the window, and a notice of what lies before")
	}
	require.Contains(t, bench(t, 0, "sessions", "-sessions", "1", "-turns", "2"), "load p50")
}

// What goes over the wire does not depend on how long a session is.
func TestSessionsOnRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	rows := runSessions(t, "-redis", srv.URL()).Rows[4:]
	require.Len(t, rows, 4)
	for i, row := range rows {
		require.Greater(t, row.Save.Sent, int64(1000), "a turn of 300 tokens")
		require.Greater(t, row.Load.Received, int64(4000), "four such turns")
		require.InEpsilon(t, rows[0].Save.Sent, row.Save.Sent, 0.1, "row %d", i)
		require.InEpsilon(t, rows[0].Load.Received, row.Load.Received, 0.1, "row %d", i)
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestSessionsThatCannotBeMeasured(t *testing.T) {
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	bench(t, 1, "sessions", "-redis", url)
	bench(t, 1, "sessions", "-redis", "http://localhost")
	for _, wrong := range [][]string{{"-turns", "0"}, {"-sessions", "0"}, {"-window", "-1"}} {
		bench(t, 2, append([]string{"sessions"}, wrong...)...)
	}
}
