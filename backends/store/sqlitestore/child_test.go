// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// childEnv makes the test binary a process that writes to a store, as writer
// says: "path name first count".
const childEnv = "SQLITESTORE_TEST_WRITER"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := writer(spec, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writer carries out count writes from first on, and acknowledges each on out
// once it is durable. A write is a turn in the session log, then a batch that
// holds what was learnt with the new watermark.
func writer(spec string, out io.Writer) error {
	f := strings.Split(spec, "|")
	path, name := f[0], f[1]
	first, _ := strconv.Atoi(f[2])
	count, _ := strconv.Atoi(f[3])
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := first; i < first+count; i++ {
		if err := write(ctx, s, fmt.Sprintf("%s%d", name, i)); err != nil {
			return err
		}
		fmt.Fprintln(out, i)
	}
	return nil
}

func write(ctx context.Context, s *sqlitestore.Store, id string) error {
	entry := func(suffix string) store.Entry {
		return store.Entry{Message: backends.Message{ID: id + suffix, Turn: id, Message: schema.UserMessage(id)}, Tokens: 1}
	}
	log, err := s.Append(ctx, ann, "log", &store.Append{Entries: []store.Entry{entry("a"), entry("b")}})
	if err != nil {
		return err
	}
	fact := func(suffix string) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id + suffix, Text: id}, Vector: make([]byte, 512)})
	}
	_, err = s.Apply(ctx, ann, &store.Batch{
		Key: id, Mutations: []store.Mutation{fact("a"), store.Increment("count", "n", 1), fact("b")},
		Session: &store.SessionUpdate{Session: "log", Watermark: &log.LastSeq},
	})
	return err
}

// child starts a process that runs writer.
func child(t *testing.T, path, name string, first, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d|%d", childEnv, path, name, first, count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// checkWrites proves that the writes of ids are all there, wholly and exactly
// once; that one more, which was not acknowledged, is there wholly or not at all;
// and that nothing has a gap.
func checkWrites(t *testing.T, path string, ids []string) {
	t.Helper()
	ctx := context.Background()
	s := open(t, path, nil)
	set, err := s.Changes(ctx, ann, "")
	require.NoError(t, err)
	records := map[string]store.Record{}
	for more := true; more; {
		for _, r := range set.Records {
			records[r.ID] = r
		}
		if more = set.More; more {
			set, err = s.Changes(ctx, ann, set.Cursor)
			require.NoError(t, err)
		}
	}
	for _, id := range ids {
		require.Contains(t, records, id+"a")
		require.Contains(t, records, id+"b")
	}
	count := int(records["count"].Metadata["n"].(float64))
	require.Equal(t, 1+2*count, len(records), "no batch is half there, none was applied twice")
	require.Equal(t, int64(1+count), set.Version, "versions have no gaps")
	versions := map[int64]int{}
	for id, r := range records {
		if id == "count" {
			continue
		}
		versions[r.Version]++
		events, err := s.History(ctx, ann, id)
		require.NoError(t, err)
		require.Len(t, events, 1, id)
		require.Len(t, r.Vector, 512)
	}
	for version, n := range versions {
		require.Equal(t, 2, n, "version %d", version)
	}
	checkLog(t, s, ids)
	require.NoError(t, s.Close())
	var verdict string
	require.NoError(t, raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
}

func checkLog(t *testing.T, s *sqlitestore.Store, ids []string) {
	t.Helper()
	log, err := s.Session(context.Background(), ann, "log")
	require.NoError(t, err)
	met := map[string]bool{}
	for after := int64(0); after < log.LastSeq; {
		entries, err := s.Read(context.Background(), ann, "log", store.Range{After: after})
		require.NoError(t, err)
		for i, e := range entries {
			require.Equal(t, after+int64(i)+1, e.Seq)
			require.False(t, met[e.ID])
			met[e.ID] = true
			if e.Seq%2 == 0 {
				require.True(t, met[e.Turn+"a"] && met[e.Turn+"b"], "a turn is there wholly")
			}
		}
		after += int64(len(entries))
	}
	for _, id := range ids {
		require.True(t, met[id+"a"] && met[id+"b"], id)
	}
	require.Len(t, met, int(log.LastSeq))
	require.Equal(t, log.LastSeq, log.Tokens)
	require.LessOrEqual(t, log.Watermark, log.LastSeq)
}
