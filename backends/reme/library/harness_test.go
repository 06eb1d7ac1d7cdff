// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	shop  = backends.Scope{Workspace: "shop"}
	lab   = backends.Scope{Workspace: "lab"}
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// world is a library and what it stands on.
type world struct {
	*library.Library
	t      testing.TB
	ctx    context.Context
	clock  *clock
	store  store.Store
	ranker *recall.Ranker
	keeper *keeper.Keeper
	config *library.Config
}

// options say how a world differs from the usual one.
type options struct {
	store    store.Store
	wrap     func(store.Store) store.Store
	clock    *clock
	embedder *embedder
	model    string
	config   library.Config
	redact   func(string) string
}

func open(t testing.TB, o options) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), clock: o.clock, store: o.store}
	if w.clock == nil {
		w.clock = &clock{t: start}
	}
	if w.store == nil {
		st, err := sqlitestore.Open(w.ctx, ":memory:", &sqlitestore.Config{Clock: w.clock.Now})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		w.store = st
	}
	if o.wrap != nil {
		w.store = o.wrap(w.store)
	}
	rc := &recall.Config{Records: w.store, Clock: w.clock.Now, Keys: keeper.Keys}
	if o.embedder != nil {
		rc.Embedder, rc.EmbeddingModel = library.Watched(o.embedder), "model"+o.model
	}
	var err error
	w.ranker, err = recall.New(w.ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.ranker.Close() })
	w.keeper, err = keeper.New(&keeper.Config{Name: "test", Store: w.store, Ranker: w.ranker, Embeds: o.embedder != nil, Clock: w.clock.Now, Redact: o.redact})
	require.NoError(t, err)
	c := o.config
	c.Keeper = w.keeper
	w.config = &c
	w.Library, err = library.New(w.config)
	require.NoError(t, err)
	return w
}

// embedder makes vectors of the letters of a text.
type embedder struct {
	mu    sync.Mutex
	texts int
	fail  func(texts int) error // nil: it does not
}

func (e *embedder) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.texts
}

func partition(s backends.Scope) backends.Partition {
	p, err := s.Partition(backends.PartitionWorkspace)
	if err != nil {
		panic(err)
	}
	return p
}

func (w *world) load(s backends.Scope, text string) *library.LoadResponse {
	w.t.Helper()
	out, err := w.Load(w.ctx, &library.LoadRequest{Scope: s}, strings.NewReader(text))
	require.NoError(w.t, err)
	return out
}

func (w *world) dump(r *library.DumpRequest) string {
	w.t.Helper()
	var b bytes.Buffer
	_, err := w.Dump(w.ctx, r, &b)
	require.NoError(w.t, err)
	return b.String()
}

// all returns every memory of a workspace, by id.
func (w *world) all(s backends.Scope) map[string]backends.Memory {
	w.t.Helper()
	list, err := w.keeper.All(w.ctx, partition(s))
	require.NoError(w.t, err)
	out := map[string]backends.Memory{}
	for _, m := range list {
		c := m.Clone()
		c.Version = 0
		out[c.ID] = c
	}
	require.Len(w.t, out, len(list))
	return out
}

func (w *world) ids(s backends.Scope) []string {
	w.t.Helper()
	out := []string{}
	list, err := w.List(w.ctx, &library.ListRequest{Scope: s, Limit: 1000})
	require.NoError(w.t, err)
	for _, m := range list.Memories {
		out = append(out, m.ID)
	}
	return out
}

func (w *world) found(s backends.Scope, query string) []string {
	w.t.Helper()
	resp, err := w.keeper.Search(w.ctx, partition(s), &backends.SearchRequest{Scope: s, Query: query, TopK: 1000})
	require.NoError(w.t, err)
	var out []string
	for _, h := range resp.Hits {
		out = append(out, h.ID)
	}
	return out
}

// put stores memories as a backend does that learns.
func (w *world) put(s backends.Scope, memories ...backends.Memory) {
	w.t.Helper()
	b := &store.Batch{}
	for i := range memories {
		m := memories[i]
		m.Scope.Workspace, m.Scope.Namespace = s.Workspace, partition(s).Namespace
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := w.keeper.Commit(w.ctx, partition(s), b, nil)
	require.NoError(w.t, err)
}

// task returns a line of ReMe.
func task(id, when, content string) string {
	return fmt.Sprintf(`{"workspace_id":"x","memory_id":%q,"memory_type":"task","when_to_use":%q,"content":%q,"score":0.0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}`+"\n", id, when, content)
}

// many returns n lines of ReMe with the ids <prefix>0 and so on.
func many(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(task(fmt.Sprint(prefix, i), fmt.Sprintf("when task %d of %s comes up", i, prefix), fmt.Sprintf("do step %d", i)))
	}
	return b.String()
}

// remeData returns a file of ReMe's libraries, which are not part of this module.
func remeData(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("EINOMEM_REME")
	if dir == "" {
		t.Skip("EINOMEM_REME names no folder with ReMe's libraries (docs/library of ReMe 0.2)")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

var anyPage = store.Page{Limit: 1000}

func openDir(t testing.TB) *library.Dir {
	t.Helper()
	d, err := library.OpenDir(filepath.Join(t.TempDir(), "libraries"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// toolID is the id by which tool memory finds what it knows of a tool.
func toolID(s backends.Scope, tool string) string {
	return keeper.ContentID(partition(s), backends.KindTool, tool)
}
