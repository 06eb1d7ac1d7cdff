// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// aWrite is a write whose half may be in the file of a server, on a partition that was filled.
type aWrite struct {
	name string
	do   func(ctx context.Context, s *redisstore.Store, p backends.Partition) error
}

var (
	appends = func(session string, a *store.Append) func(context.Context, *redisstore.Store, backends.Partition) error {
		return func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			_, err := s.Append(ctx, p, session, a)
			return err
		}
	}
	applies = func(b *store.Batch) func(context.Context, *redisstore.Store, backends.Partition) error {
		return func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			_, err := s.Apply(ctx, p, b)
			return err
		}
	}
	updates = func(u store.SessionUpdate) func(context.Context, *redisstore.Store, backends.Partition) error {
		return func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			_, err := s.Update(ctx, p, &u)
			return err
		}
	}
	puts = func(session, name string, data []byte) func(context.Context, *redisstore.Store, backends.Partition) error {
		return func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			return s.PutBlob(ctx, p, session, name, data)
		}
	}
)

// allWrites has one of each kind. They can be repeated: a batch has a key.
func allWrites() []aWrite {
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	vector := &store.Record{Memory: backends.Memory{ID: "new", Text: "new"}, Vector: []byte("vector")}
	return []aWrite{
		{"a session begins", appends("new", messages("n1", "n2"))},
		{"a turn", appends("s", messages("m4", "m5"))},
		{"a turn of a session that ends", appends("ttl", &store.Append{Entries: messages("t2", "t3").Entries, TTL: time.Hour})},
		{"messages to learn nothing from", appends("", &store.Append{Entries: messages("l2", "l3").Entries, Learnt: true})},
		{"facts with their session", applies(&store.Batch{Key: "k", Session: &store.SessionUpdate{Session: "s", Watermark: pointer(int64(3))},
			Mutations: []store.Mutation{store.Put(vector), store.Supersede("b", &store.Record{Memory: backends.Memory{ID: "b2", Text: "b2"}}), store.Delete("c")}})},
		{"an increment", applies(&store.Batch{Key: "k", Mutations: []store.Mutation{store.Increment("b", "n", 1)}})},
		{"a fact is erased", applies(&store.Batch{Key: "k", Mutations: []store.Mutation{store.Erase("c"), put("d", "d")}})},
		{"a blob", puts("other", "new", []byte("new"))},
		{"a blob of a session", puts("s", "blob", []byte("other bytes"))},
		{"the last blob goes", puts("s", "blob", nil)},
		{"the last blob of no session goes", puts("no_session", "blob", nil)},
		{"a lease", updates(store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w", For: time.Hour}})},
		{"a summary", updates(store.SessionUpdate{Session: "s", Summary: pointer("talk"), SummaryUpto: pointer(int64(2))})},
		{"an end", updates(store.SessionUpdate{Session: "s", Expires: &end})},
		{"no end", updates(store.SessionUpdate{Session: "ttl", Expires: &time.Time{}})},
		{"messages are erased", func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			_, err := s.EraseMessages(ctx, p, "s", 1, 3)
			return err
		}},
		{"a session is deleted", func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			return s.Delete(ctx, p, "s")
		}},
		{"the partition is dropped", func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			_, err := s.Drop(ctx, p)
			return err
		}},
		{"a fence", func(ctx context.Context, s *redisstore.Store, p backends.Partition) error {
			return s.Fence(ctx, p, user("dropped"))
		}},
	}
}

// everythingIn describes all that a partition has. With versions false it leaves out those of
// sessions, which a repeated update raises.
func everythingIn(t testing.TB, s *redisstore.Store, p backends.Partition, versions bool) []string {
	t.Helper()
	ctx, require := t.Context(), require.New(t)
	out := []string{}
	for id, record := range follow(t, s, p, &reader{}).records {
		events, err := s.History(ctx, p, id)
		require.NoError(err)
		out = append(out, record)
		for _, e := range events {
			out = append(out, fmt.Sprint(id, " ", e.Version, " ", e.Type, " ", e.Old, " ", e.New))
		}
	}
	sessions := func(pending bool) (ids []string) {
		page, err := s.List(ctx, store.SessionQuery{Partition: &p, Pending: pending})
		require.NoError(err)
		for _, session := range page.Sessions {
			ids = append(ids, session.ID)
			if pending {
				continue
			}
			entries, err := s.Read(ctx, p, session.ID, store.Range{})
			require.NoError(err)
			require.Len(entries, int(session.LastSeq))
			for i, e := range entries {
				out = append(out, fmt.Sprintf("%q %d %s %s %v", session.ID, e.Seq, e.ID, e.Content, e.Erased))
				require.EqualValues(i+1, e.Seq)
			}
			if !versions {
				session.Version, session.Lease.Token = 0, 0
			}
			out = append(out, fmt.Sprintf("%+v", session))
		}
		return ids
	}
	out = append(out, fmt.Sprint(sessions(false)), fmt.Sprint("pending ", sessions(true)))
	withBlobs, err := s.BlobSessions(ctx, p, store.Page{})
	require.NoError(err)
	for _, session := range withBlobs.IDs {
		blobs, err := s.ListBlobs(ctx, p, session, "", store.Page{})
		require.NoError(err)
		for _, b := range blobs.Blobs {
			data, err := s.GetBlob(ctx, p, session, b.Name)
			require.NoError(err)
			out = append(out, fmt.Sprintf("%q %s %q", session, b.Name, data))
		}
	}
	slices.Sort(out)
	return out
}

// A server dies while it writes a transaction to its file. It starts and cuts off no more than
// the command that is incomplete (valkey-io/valkey#4342). The client repeats its write, perhaps
// after that of another client, and the server starts once more: it carries out the half of the
// transaction with the next whole one. All is then as it was before the second start. The file
// is cut behind every command; EINOMEM_EVERY_BYTE=1 also cuts it at each byte, which takes an hour.
func TestAFileThatEndsInHalfAWrite(t *testing.T) {
	testkit.SlowUnderRace(t)
	testredis.Need(t)
	for _, f := range testredis.Flavours()[:testkit.Several(1, len(testredis.Flavours()))] {
		t.Run(f.Name, func(t *testing.T) {
			args := []string{"--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "yes", "--auto-aof-rewrite-percentage", "0"}
			if !strings.HasPrefix(f.Name, "redis6") {
				args = append(args, "--enable-debug-command", "yes")
			}
			server := f.Start(t, args...)
			now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			s := newStore(t, server.Client(t), &redisstore.Config{Clock: func() time.Time { return now }, Retry: time.Minute})
			fill(t, s, user("dropped"))
			_, err := s.Drop(t.Context(), user("dropped"))
			require.NoError(t, err)
			for i, w := range allWrites() {
				p := user(fmt.Sprint("p", i))
				fill(t, s, p)
				c := &cutting{server: server, s: s, p: p, write: w.do, file: server.AppendOnlyFile()}
				c.before = c.read(t)
				t.Run(w.name, c.run)
				c.set(t, c.before)
			}
		})
	}
}

// cutting is a write on which the file of a server is cut.
type cutting struct {
	server *testredis.Server
	s      *redisstore.Store
	p      backends.Partition
	write  func(context.Context, *redisstore.Store, backends.Partition) error
	file   string

	before, after []byte   // the file before and after the write
	want          []string // what the partition has then
}

func (c *cutting) read(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(c.file)
	require.NoError(t, err)
	return content
}

// set makes the server load a file.
func (c *cutting) set(t *testing.T, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(c.file, content, 0o600))
	c.server.Reload()
}

func (c *cutting) run(t *testing.T) {
	require.NoError(t, c.write(t.Context(), c.s, c.p))
	c.after, c.want = c.read(t), everythingIn(t, c.s, c.p, false)
	halves := c.halves()
	require.NotEmpty(t, halves, "a write is more than one command")
	t.Logf("%d commands, %d bytes", len(halves)+1, len(c.after)-len(c.before))
	others := []func(context.Context, *redisstore.Store, backends.Partition) error{
		func(context.Context, *redisstore.Store, backends.Partition) error { return nil },
		appends("s", messages("other")), applies(&store.Batch{Key: "other", Mutations: []store.Mutation{put("other", "x"), store.Delete("a")}}),
	}
	for i, other := range others {
		for h, half := range halves {
			if i > 0 && h%testkit.Several(3, 1) > 0 {
				continue
			}
			c.set(t, c.before) // what the server has in memory after its first start
			c.repeat(t, other, i == 0)
			c.reload(t, half, slices.Concat(half, c.read(t)[len(c.before):]), i > 0)
		}
	}
	for h, half := range halves {
		if h%testkit.Several(3, 1) == 0 {
			c.unrepeated(t, half, others[1:])
		}
	}
	for n := len(c.before) + 1; n <= len(c.after); n++ {
		last := n == len(c.after) || slices.ContainsFunc(halves[len(halves)/2:len(halves)/2+1], func(half []byte) bool { return n == len(half)+3 })
		if last || os.Getenv("EINOMEM_EVERY_BYTE") == "1" {
			require.NoError(t, os.WriteFile(c.file, c.after[:n], 0o600))
			c.server.Restart()
			c.repeat(t, others[0], true)
			c.reload(t, c.after[:n], c.read(t), false)
		}
	}
}

// repeat writes after the first start.
func (c *cutting) repeat(t *testing.T, other func(context.Context, *redisstore.Store, backends.Partition) error, alone bool) {
	t.Helper()
	require.NoError(t, other(t.Context(), c.s, c.p))
	require.NoError(t, c.write(t.Context(), c.s, c.p))
	if alone {
		require.Equal(t, c.want, everythingIn(t, c.s, c.p, false))
	}
}

// reload is the second start, with what the file holds then. Where another client wrote in
// between, the list of pending sessions may lack one: see [Store.checkRestarted].
func (c *cutting) reload(t *testing.T, half, file []byte, other bool) {
	t.Helper()
	whole, epoch := everythingIn(t, c.s, c.p, true), epochOf(t, c.s, c.p)
	c.set(t, file)
	found, err := c.s.Check(t.Context(), c.p)
	require.NoError(t, err)
	if other && len(found) > 0 {
		require.Equal(t, []string{fmt.Sprintf("%s \"s\": the session is missing, or is at another place", keyOf(c.p, "pend"))}, found)
		_, err = c.s.Reindex(t.Context(), c.p)
		require.NoError(t, err)
		found = nil
	}
	require.Empty(t, found)
	require.Equal(t, whole, everythingIn(t, c.s, c.p, true), "after %q", half[len(c.before):])
	require.Equal(t, epoch, epochOf(t, c.s, c.p))
	c.requireWritable(t)
}

func (c *cutting) requireWritable(t *testing.T) {
	t.Helper()
	_, err := c.s.Append(t.Context(), c.p, "s", messages("later"))
	require.NoError(t, err)
	_, err = c.s.Apply(t.Context(), c.p, &store.Batch{Key: "later", Mutations: []store.Mutation{put("later", "x")}})
	require.NoError(t, err)
}

// unrepeated is the half of a write whose client died, too: all that others wrote before and
// after it is there, and they go on. Half a deletion is damage until it is repeated.
func (c *cutting) unrepeated(t *testing.T, half []byte, others []func(context.Context, *redisstore.Store, backends.Partition) error) {
	t.Helper()
	c.set(t, c.before)
	acknowledged := c.acknowledged(t)
	for _, other := range others {
		require.NoError(t, other(t.Context(), c.s, c.p))
	}
	c.set(t, slices.Concat(half, c.read(t)[len(c.before):]))
	_, err := c.s.Reindex(t.Context(), c.p)
	require.NoError(t, err)
	if strings.Contains(t.Name(), "deleted") || strings.Contains(t.Name(), "dropped") {
		require.NoError(t, c.write(t.Context(), c.s, c.p))
		c.requireWritable(t)
		return
	}
	require.Subset(t, c.acknowledged(t), append(acknowledged, "s other", "other"), "after %q", half[len(c.before):])
	c.requireWritable(t)
}

// acknowledged names messages and memories that no write of allWrites removes.
func (c *cutting) acknowledged(t *testing.T) (out []string) {
	t.Helper()
	for id := range follow(t, c.s, c.p, &reader{}).records {
		if id == "b" || id == "other" {
			out = append(out, id)
		}
	}
	for _, session := range []string{"s", "ttl", ""} {
		entries, err := c.s.Read(t.Context(), c.p, session, store.Range{})
		require.NoError(t, err)
		for _, e := range entries {
			out = append(out, session+" "+e.ID)
		}
	}
	return out
}

// halves returns the file with each beginning of the write that has whole commands, but not
// all.
func (c *cutting) halves() (out [][]byte) {
	for n := len(c.before) + 1; n < len(c.after); n++ {
		if bytes.HasPrefix(c.after[n:], []byte("*")) && bytes.HasSuffix(c.after[:n], []byte("\r\n")) {
			out = append(out, c.after[:n:n])
		}
	}
	return out
}

func epochOf(t testing.TB, s *redisstore.Store, p backends.Partition) string {
	t.Helper()
	epoch, err := s.Epoch(t.Context(), p)
	require.NoError(t, err)
	return epoch
}
