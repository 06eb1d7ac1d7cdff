// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
)

var (
	ann  = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	noon = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// world is a store with archives on it.
type world struct {
	testing.TB
	*archive.Archives
	store *spied
	fail  func(op string) error
	forge func(seq int64) *schema.Message // what the log holds, if not nil
	n     int
}

// spied is a store that fails when told, and counts what is read.
type spied struct {
	store.Sessions
	w       *world
	entries int
}

func (s *spied) check(op string) error {
	if s.w.fail == nil {
		return nil
	}
	return s.w.fail(op)
}

func (s *spied) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	if err := s.check("Read"); err != nil {
		return nil, err
	}
	if s.w.forge != nil {
		return forged(r, s.w.forge), nil
	}
	out, err := s.Sessions.Read(ctx, p, session, r)
	s.entries += len(out)
	return out, err
}

func (s *spied) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	if err := s.check("PutBlob"); err != nil {
		return err
	}
	return s.Sessions.PutBlob(ctx, p, session, name, data)
}

func (s *spied) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	if err := s.check("GetBlob"); err != nil {
		return nil, err
	}
	return s.Sessions.GetBlob(ctx, p, session, name)
}

func newWorld(t testing.TB, change ...func(*archive.Config)) *world {
	t.Helper()
	return worldOn(t, openSQLite(t), change...)
}

func openSQLite(t testing.TB) store.Sessions {
	t.Helper()
	db, err := sqlitestore.Open(context.Background(), sqlitestore.Memory, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func worldOn(t testing.TB, db store.Sessions, change ...func(*archive.Config)) *world {
	t.Helper()
	w := &world{TB: t}
	w.store = &spied{Sessions: db, w: w}
	cfg := &archive.Config{Sessions: w.store}
	for _, c := range change {
		c(cfg)
	}
	var err error
	w.Archives, err = archive.New(cfg)
	require.NoError(t, err)
	return w
}

func (w *world) of(s backends.Scope) *archive.Archive {
	w.Helper()
	x, err := w.Of(s)
	require.NoError(w, err)
	return x
}

func partition(t testing.TB, s backends.Scope) backends.Partition {
	t.Helper()
	p, err := s.Speaker()
	require.NoError(t, err)
	return p
}

// log appends messages to a session, as one turn. Messages without content end
// it.
func (w *world) log(s backends.Scope, messages ...*schema.Message) {
	w.Helper()
	w.n++
	a := &store.Append{Scope: s}
	for i, m := range messages {
		id, turn := fmt.Sprintf("t%d-%d", w.n, i), fmt.Sprint("t", w.n)
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: id, Turn: turn, Time: noon.Add(time.Duration(i) * time.Minute), Message: m}})
	}
	_, err := w.store.Append(context.Background(), partition(w, s), s.SessionID, a)
	require.NoError(w, err)
}

// text returns the text of an archive that fits one page.
func text(t testing.TB, x *archive.Archive, ref string) string {
	t.Helper()
	page, err := x.Read(context.Background(), &archive.ReadRequest{Ref: ref, Bytes: archive.MaxBytes})
	require.NoError(t, err)
	require.False(t, page.More)
	return page.Text
}

// grep returns the matches as "ref line byte text".
func grep(t testing.TB, x *archive.Archive, pattern string, refs ...string) []string {
	t.Helper()
	found, err := x.Grep(context.Background(), &archive.GrepRequest{Pattern: pattern, Refs: refs})
	require.NoError(t, err)
	require.False(t, found.More)
	out := []string{}
	for _, m := range found.Matches {
		out = append(out, fmt.Sprint(m.Ref, " ", m.Line, " ", m.Byte, " ", m.Text))
	}
	return out
}

// put archives messages.
func (w *world) put(s backends.Scope, messages ...*schema.Message) string {
	w.Helper()
	ref, err := w.of(s).Put(context.Background(), messages)
	require.NoError(w, err)
	return ref
}

// blobs returns the names of a session's blobs.
func (w *world) blobs(s backends.Scope) []string {
	w.Helper()
	page, err := w.store.ListBlobs(context.Background(), partition(w, s), s.SessionID, "", store.Page{Limit: 1000})
	require.NoError(w, err)
	var names []string
	for _, b := range page.Blobs {
		names = append(names, b.Name)
	}
	return names
}
