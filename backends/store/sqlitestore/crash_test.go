// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// childEnv makes the test binary a process that writes to a store. Its value is the
// quoted path, the writer's name, the first write, how many, and by how many clients.
const childEnv = "SQLITESTORE_TEST_WRITER"

// TestMain is the writer in a child process: it acknowledges each write on the standard
// output once it is durable. A write is a turn in the session log, then a batch of
// what was learnt with the new watermark.
func TestMain(m *testing.M) {
	spec := os.Getenv(childEnv)
	if spec == "" {
		os.Exit(m.Run())
	}
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var path, name string
	var first, count, clients int
	_, err := fmt.Sscanf(spec, "%q %s %d %d %d", &path, &name, &first, &count, &clients)
	check(err)
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, path, &sqlitestore.Config{BusyTimeout: time.Hour})
	check(err)
	write := func(i int) {
		id := fmt.Sprint(name, i)
		entry := func(suffix string) store.Entry {
			return store.Entry{Message: backends.Message{ID: id + suffix, Turn: id, Message: schema.UserMessage(id)}, Tokens: 1}
		}
		fact := func(suffix string) store.Mutation {
			return store.Put(&store.Record{Memory: backends.Memory{ID: id + suffix, Text: id}, Vector: make([]byte, 512)})
		}
		log, err := s.Append(ctx, ann, "log", &store.Append{Entries: []store.Entry{entry("a"), entry("b")}})
		check(err)
		_, err = s.Apply(ctx, ann, &store.Batch{
			Key: id, Mutations: []store.Mutation{fact("a"), store.Increment("count", "n", 1), fact("b")},
			Session: &store.SessionUpdate{Session: "log", Watermark: &log.LastSeq},
		})
		check(err)
		fmt.Println(i)
	}
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := first + client; i < first+count; i += clients {
				write(i)
			}
		})
	}
	all.Wait()
	check(s.Close())
}

func TestProcessesThatAreKilledOrWriteTogetherLoseNothing(t *testing.T) {
	testkit.SlowUnderRace(t)
	// newLog makes a file in which writers count their writes.
	newLog := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "mem.db")
		s, err := sqlitestore.Open(t.Context(), path, nil)
		require.NoError(t, err)
		apply(t, s, put("count", ""))
		_, err = s.Append(t.Context(), ann, "log", &store.Append{})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		return path
	}
	child := func(t *testing.T, path, name string, first, count, clients int) (*exec.Cmd, *bufio.Scanner) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%q %s %d %d %d", childEnv, path, name, first, count, clients))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, bufio.NewScanner(out)
	}
	// checkLog proves that the turns of the writes are there wholly, once, without a gap.
	checkLog := func(t *testing.T, s *sqlitestore.Store, ids []string) {
		log, err := s.Session(t.Context(), ann, "log")
		require.NoError(t, err)
		found := map[string]bool{}
		for after := int64(0); after < log.LastSeq; {
			entries, err := s.Read(t.Context(), ann, "log", store.Range{After: after})
			require.NoError(t, err)
			for i, e := range entries {
				require.Equal(t, after+int64(i)+1, e.Seq)
				require.False(t, found[e.ID])
				found[e.ID] = true
				if e.Seq%2 == 0 {
					require.True(t, found[e.Turn+"a"] && found[e.Turn+"b"], "a turn is there wholly")
				}
			}
			after += int64(len(entries))
		}
		for _, id := range ids {
			require.True(t, found[id+"a"] && found[id+"b"], id)
		}
		require.Len(t, found, int(log.LastSeq))
		require.Equal(t, log.LastSeq, log.Tokens)
		require.LessOrEqual(t, log.Watermark, log.LastSeq)
	}
	// checkWrites proves that the writes are all there, wholly and exactly once; that one
	// more, which was not acknowledged, is there wholly or not at all; and that nothing
	// has a gap.
	checkWrites := func(t *testing.T, path string, ids []string) {
		s := open(t, path, nil)
		records, version := map[string]store.Record{}, int64(0)
		for cursor, more := "", true; more; {
			set, err := s.Changes(t.Context(), ann, cursor)
			require.NoError(t, err)
			for _, r := range set.Records {
				records[r.ID] = r
			}
			cursor, more, version = set.Cursor, set.More, set.Version
		}
		for _, id := range ids {
			require.Contains(t, records, id+"a")
			require.Contains(t, records, id+"b")
		}
		count := int(records["count"].Metadata["n"].(float64))
		require.Equal(t, 1+2*count, len(records), "no batch is half there, none was applied twice")
		require.Equal(t, int64(1+count), version, "versions have no gaps")
		delete(records, "count")
		versions := map[int64]int{}
		for id, r := range records {
			versions[r.Version]++
			events, err := s.History(t.Context(), ann, id)
			require.NoError(t, err)
			require.Len(t, events, 1, id)
			require.Len(t, r.Vector, 512)
		}
		for version, n := range versions {
			require.Equal(t, 2, n, "version %d", version)
		}
		checkLog(t, s, ids)
		require.NoError(t, s.Close())
		require.Equal(t, "ok", value(t, path, "PRAGMA integrity_check"))
	}

	t.Run("killed 60 times", func(t *testing.T) {
		path := newLog(t)
		next, ids := 0, []string(nil)
		for round := range 60 {
			// The write that the last process did not acknowledge is repeated, as a caller
			// would: it may be there already.
			cmd, acks := child(t, path, "w", next, 1_000_000, 1)
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
					break // truncated
				}
				ids, next = append(ids, fmt.Sprint("w", i)), next+1
			}
			require.Error(t, cmd.Wait(), "it was killed")
			if round%10 == 9 {
				checkWrites(t, path, ids)
			}
		}
		t.Logf("%d writes acknowledged", len(ids))
	})
	t.Run("killed while 32 clients share commits", func(t *testing.T) {
		path := newLog(t)
		var ids []string
		for round := range 20 {
			name := fmt.Sprint("r", round, "-")
			cmd, acks := child(t, path, name, 0, 1_000_000, 32)
			for range rand.IntN(200) {
				require.True(t, acks.Scan(), "the writer ended by itself")
				ids = append(ids, name+acks.Text())
			}
			require.NoError(t, cmd.Process.Kill())
			for acks.Scan() { // acknowledged before the kill
				if _, err := strconv.Atoi(acks.Text()); err == nil {
					ids = append(ids, name+acks.Text())
				}
			}
			require.Error(t, cmd.Wait(), "it was killed")
		}
		checkWrites(t, path, ids)
		t.Logf("%d writes acknowledged", len(ids))
	})
	t.Run("two write to the same file", func(t *testing.T) {
		const each = 100
		path := newLog(t)
		a, acksA := child(t, path, "a", 0, each, 1)
		b, acksB := child(t, path, "b", 0, each, 1)
		var ids []string
		for i := range each {
			require.True(t, acksA.Scan())
			require.True(t, acksB.Scan())
			ids = append(ids, fmt.Sprint("a", i), fmt.Sprint("b", i))
		}
		require.NoError(t, a.Wait())
		require.NoError(t, b.Wait())
		checkWrites(t, path, ids)
	})
}
