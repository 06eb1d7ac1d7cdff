// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(100-i)*time.Millisecond)
	}
	require.Equal(t, trial.Quantiles{P50: 50, P95: 95, P99: 99}, trial.QuantilesOf(times))
	require.Equal(t, trial.Quantiles{P50: 7, P95: 7, P99: 7}, trial.QuantilesOf([]time.Duration{7 * time.Millisecond}))
	require.Zero(t, trial.QuantilesOf(nil))
}

func TestLoadSharesTheWorkAmongClients(t *testing.T) {
	var mu sync.Mutex
	done := map[int]int{}
	_, times, err := trial.Load(t.Context(), 3, 10, func(_ context.Context, client, op int) error {
		mu.Lock()
		defer mu.Unlock()
		done[op] = client
		return nil
	})
	require.NoError(t, err)
	require.Len(t, times, 10)
	require.Len(t, done, 10)
	require.Equal(t, 1, done[4], "each client has a number of its own")
	failure := errors.New("full")
	_, _, err = trial.Load(t.Context(), 3, 10, func(context.Context, int, int) error { return failure })
	require.ErrorIs(t, err, failure)
}

func TestAReportIsComparedAndPrinted(t *testing.T) {
	recall := 0.975
	r := &trial.Report{
		About: []string{"about"}, Notes: []string{"a note"},
		Searches: []trial.Search{
			{Where: "redis", How: "int8", Partitions: 1, Memories: 10, Warm: trial.Quantiles{P50: 3}, Cold: trial.Quantiles{P50: 10}, Recall10: &recall},
			{Where: "sqlite", How: "int8", Partitions: 1, Memories: 10, Warm: trial.Quantiles{P50: 2}, Cold: trial.Quantiles{P50: 20}},
			{Where: "redis", How: "int8", Partitions: 1, Memories: 99, Warm: trial.Quantiles{P50: 3}},
		},
		Writes: []trial.Write{{Where: "sqlite", What: "append", Clients: 8, PerSec: 10}, {Where: "redis", What: "append", Clients: 8, PerSec: 45}},
	}
	r.Compare("sqlite")
	require.InDelta(t, 1.5, r.Searches[0].Times, 0)
	require.InDelta(t, 0.5, r.Searches[0].TimesCold, 0)
	require.Zero(t, r.Searches[1].Times, "the yardstick itself")
	require.Zero(t, r.Searches[2].Times, "nothing to compare with")
	require.InDelta(t, 4.5, r.Writes[1].Times, 0)

	var table, data bytes.Buffer
	require.NoError(t, r.Print(&table, false))
	require.Contains(t, table.String(), "about")
	require.Contains(t, table.String(), "0.975")
	require.Contains(t, table.String(), "4.50")
	require.Contains(t, table.String(), "a note")
	require.NoError(t, r.Print(&data, true))
	var back trial.Report
	require.NoError(t, json.Unmarshal(data.Bytes(), &back))
	require.Equal(t, *r, back)
}

func TestNumbersAreAFlag(t *testing.T) {
	n := trial.Numbers{1, 2}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&n, "n", "")
	require.Equal(t, "1,2", n.String())
	require.NoError(t, flags.Parse([]string{"-n", "3, 40"}))
	require.Equal(t, trial.Numbers{3, 40}, n)
	for _, wrong := range []string{"", "0", "1,", "-4", "many"} {
		require.Error(t, flags.Parse([]string{"-n", wrong}), wrong)
	}
	require.Equal(t, trial.Numbers{3, 40}, n, "what is wrong changes nothing")
}

func TestSizeOfAFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "deep", "a"), make([]byte, 30), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), make([]byte, 12), 0o600))
	size, err := trial.SizeOf(dir)
	require.NoError(t, err)
	require.EqualValues(t, 42, size)
	_, err = trial.SizeOf(filepath.Join(dir, "none"))
	require.Error(t, err)
	require.Positive(t, trial.Heap())
}
