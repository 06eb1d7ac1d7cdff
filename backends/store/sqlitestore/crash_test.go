// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// newLog makes a file in which writers count their writes.
func newLog(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	apply(t, s, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "count"}})}})
	_, err := s.Append(context.Background(), ann, "log", &store.Append{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return path
}

func TestAKilledProcessLosesNothingItAcknowledged(t *testing.T) {
	const rounds = 60
	path := newLog(t)
	next, ids := 0, []string(nil)
	for round := range rounds {
		// The write that the last process did not acknowledge is tried again, as
		// a caller would: it may be there already.
		cmd, acks := child(t, path, "w", next, 1_000_000)
		for range rand.IntN(12) {
			require.True(t, acks.Scan(), "the writer ended by itself")
			i, err := strconv.Atoi(acks.Text())
			require.NoError(t, err)
			require.Equal(t, next, i)
			ids, next = append(ids, fmt.Sprint("w", i)), next+1
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond) // anywhere inside a write
		require.NoError(t, cmd.Process.Kill())
		for acks.Scan() { // acknowledged before the kill
			i, err := strconv.Atoi(acks.Text())
			if err != nil || i != next {
				break // cut off
			}
			ids, next = append(ids, fmt.Sprint("w", i)), next+1
		}
		require.Error(t, cmd.Wait(), "it was killed")
		if round%10 == 9 {
			checkWrites(t, path, ids)
		}
	}
	t.Logf("%d writes acknowledged in %d lives", len(ids), rounds)
}

func TestTwoProcessesWriteTheSameFile(t *testing.T) {
	const each = 100
	path := newLog(t)
	a, acksA := child(t, path, "a", 0, each)
	b, acksB := child(t, path, "b", 0, each)
	var ids []string
	for i := range each {
		require.True(t, acksA.Scan())
		require.True(t, acksB.Scan())
		ids = append(ids, fmt.Sprint("a", i), fmt.Sprint("b", i))
	}
	require.NoError(t, a.Wait())
	require.NoError(t, b.Wait())
	checkWrites(t, path, ids)
}
