// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

// childEnv makes the test binary a process of its own; its value is what that does, the schema
// and the URL.
const childEnv = "PGSTORE_TEST_CHILD"

// runChild carries out the value of childEnv.
func runChild(spec string) error {
	var does, schema, url string
	var first int
	if _, err := fmt.Sscanf(spec, "%s %s %s %d", &does, &schema, &url, &first); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := pgstore.Open(ctx, url, &pgstore.Options{Schema: schema, Retry: time.Minute})
	if err != nil {
		return err
	}
	if does == "once" {
		_, err = s.Apply(ctx, ann, put(fmt.Sprint("p", os.Getpid()), "x"))
		fmt.Println(os.Getpid())
		return errors.Join(err, s.Close())
	}
	for i := first; ; i++ {
		for err = errors.New("new"); err != nil; err = write(ctx, s, does, i) {
			if err.Error() != "new" && !errors.Is(err, backends.ErrUnavailable) {
				return err
			}
		}
		fmt.Println(i)
	}
}

// write is a turn in the session log, then a batch of its lessons under the session's lease. It
// may be repeated.
func write(ctx context.Context, s *pgstore.Store, name string, i int) error {
	id := fmt.Sprint(name, i)
	entry := func(suffix string) store.Entry {
		return store.Entry{Message: backends.Message{ID: id + suffix, Turn: id, Message: schema.UserMessage(id)}, Tokens: 1}
	}
	fact := func(suffix string) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id + suffix, Text: id}, Vector: make([]byte, 512)})
	}
	log, err := s.Append(ctx, ann, name, &store.Append{Entries: []store.Entry{entry("a"), entry("b")}})
	if err != nil {
		return err
	}
	leased, err := s.Update(ctx, ann, &store.SessionUpdate{Session: name, Acquire: &store.Acquire{Owner: name, For: time.Hour}})
	if err != nil {
		return err
	}
	_, err = s.Apply(ctx, ann, &store.Batch{Key: id, Mutations: []store.Mutation{fact("a"), store.Increment("count", "n", 1), fact("b")},
		Session: &store.SessionUpdate{Session: name, Token: leased.Lease.Token, Watermark: &log.LastSeq}})
	return err
}

// child is a process that writes.
type child struct {
	cmd  *exec.Cmd
	acks *bufio.Scanner
	out  io.Closer
}

func startChild(t testing.TB, does, schema, url string, first int) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s&application_name=child %d", childEnv, does, schema, url, first))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd, bufio.NewScanner(out), out}
}

// writer is a child with its part of the ledger: the writes that it acknowledged.
type writer struct {
	*child
	name string
	next int // the first write that it did not acknowledge
}

// ack waits for a write. It reports whether there was one more.
func (w *writer) ack(t testing.TB) bool {
	if !w.acks.Scan() {
		return false
	}
	i, err := strconv.Atoi(w.acks.Text())
	if err != nil || i != w.next { // the last line may be cut
		return false
	}
	w.next++
	return true
}

func (w *writer) kill(t testing.TB) {
	require.NoError(t, w.cmd.Process.Kill())
	for w.ack(t) { // acknowledged before the kill
	}
	require.Error(t, w.cmd.Wait(), "it was killed")
}

func TestKills(t *testing.T) {
	server, schema := testpostgres.Start(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema, Retry: time.Minute})
	_, err := s.Apply(t.Context(), ann, put("count", ""))
	require.NoError(t, err)
	writers := []*writer{{name: "u"}, {name: "v"}, {name: "w"}}
	for _, w := range writers {
		w.child = startChild(t, w.name, schema, server.URL, 0)
	}
	kills, servers := testkit.Several(10, 300), 0
	for round := range kills {
		w := writers[rand.IntN(len(writers))]
		for range 1 + rand.IntN(6) {
			require.True(t, w.ack(t), "the writer ended by itself")
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // anywhere inside a write
		if round%5 == 4 {
			server.Kill()
			require.NoError(t, server.Start())
			servers++
			continue
		}
		w.kill(t)
		w.child = startChild(t, w.name, schema, server.URL, w.next)
	}
	acknowledged := 0
	for _, w := range writers {
		require.True(t, w.ack(t))
		w.kill(t)
		acknowledged += w.next
	}
	t.Logf("%d kills, %d of them of the server; %d writes acknowledged", kills, servers, acknowledged)
	watcher := session(t, server.URL)
	require.Eventually(t, func() bool { // the server may still carry out what a writer sent before its end
		var left int
		err := watcher.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'child'`).Scan(&left)
		return err == nil && left == 0
	}, time.Minute, 5*time.Millisecond)
	checkLedger(t, s, writers)
	found, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
}

// checkLedger proves that the writes are all there, wholly and once, and were learnt from; that one
// more of each writer, which it did not acknowledge, is there wholly or not at all; and that
// nothing has a gap.
func checkLedger(t *testing.T, s *pgstore.Store, writers []*writer) {
	ctx := t.Context()
	records, _, err := store.All(ctx, s, ann, nil)
	require.NoError(t, err)
	batches := int(records["count"].Metadata["n"].(float64))
	require.Len(t, records, 1+2*batches, "no batch is half there, none was applied twice")
	set, err := s.Changes(ctx, ann, "")
	require.NoError(t, err)
	for set.More {
		set, err = s.Changes(ctx, ann, set.Cursor)
		require.NoError(t, err)
	}
	require.Equal(t, int64(1+batches), set.Version, "versions have no gaps")
	sum := 0
	for _, w := range writers {
		log, err := s.Session(ctx, ann, w.name)
		require.NoError(t, err)
		turns := int(log.LastSeq) / 2
		require.Contains(t, []int{w.next, w.next + 1}, turns, "no turn is lost")
		learnt := int(log.Watermark) / 2
		require.GreaterOrEqual(t, learnt, w.next, "nothing is unlearnt")
		require.Equal(t, log.LastSeq, log.Tokens)
		sum += learnt
		at := 0
		for after := int64(0); after < log.LastSeq; {
			entries, err := s.Read(ctx, ann, w.name, store.Range{After: after})
			require.NoError(t, err)
			for _, e := range entries {
				after++
				require.Equal(t, after, e.Seq)
				require.Equal(t, fmt.Sprint(w.name, at/2, string("ab"[at%2])), e.ID)
				at++
			}
		}
		for i := range learnt {
			for _, suffix := range []string{"a", "b"} {
				id := fmt.Sprint(w.name, i, suffix)
				require.Contains(t, records, id)
				require.Len(t, records[id].Vector, 512)
				events, err := s.History(ctx, ann, id)
				require.NoError(t, err)
				require.Len(t, events, 1, id)
			}
		}
	}
	require.Equal(t, batches, sum, "each batch was applied once")
}

func TestTwentyProcessesThatStartAtOnce(t *testing.T) {
	server, schema := testpostgres.Need(t), newSchema()
	var all []*child
	for range 20 {
		all = append(all, startChild(t, "once", schema, server.URL, 0))
	}
	want := []string{}
	for _, c := range all {
		require.True(t, c.acks.Scan())
		want = append(want, "p"+c.acks.Text())
		require.NoError(t, c.cmd.Wait())
	}
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	records, _, err := store.All(t.Context(), s, ann, nil)
	require.NoError(t, err)
	got := []string{}
	for id := range records {
		got = append(got, id)
	}
	require.ElementsMatch(t, want, got)
}

func TestAnotherProcessKnowsAtOnce(t *testing.T) {
	server, schema := testpostgres.Need(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	_, err := s.Apply(t.Context(), ann, put("count", ""))
	require.NoError(t, err)
	set, err := s.Changes(t.Context(), ann, "")
	require.NoError(t, err)
	w := &writer{name: "w"}
	w.child = startChild(t, w.name, schema, server.URL, 0)
	for i := range 20 {
		require.True(t, w.ack(t))
		set, err = s.Changes(t.Context(), ann, set.Cursor)
		require.NoError(t, err)
		require.GreaterOrEqual(t, set.Version, int64(i+2))
		found, err := s.Get(t.Context(), ann, fmt.Sprint("w", i, "a"))
		require.NoError(t, err)
		require.Len(t, found, 1)
	}
	w.kill(t)
}
