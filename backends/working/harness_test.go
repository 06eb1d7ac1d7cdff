// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	runChild()                                               // does not return in a child process of the crash tests
	if err := flag.Set("rapid.checks", checks); err != nil { // the command line overrides it
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is a clock that stands still.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(epoch.UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) Advance(d time.Duration) { c.nanos.Add(int64(d)) }

func ids(prefix string) backends.IDSource {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s-%d", prefix, n.Add(1)) }
}

func openStore(t testing.TB, path string, c backends.Clock) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Config{Clock: c, Synchronous: sqlitestore.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sessions wraps a store's sessions: before and after see every call by name.
type sessions struct {
	store.Sessions
	before, after func(op string, arg any) error
}

func around[T any](s *sessions, op string, arg any, do func() (T, error)) (T, error) {
	var zero T
	if s.before != nil {
		if err := s.before(op, arg); err != nil {
			return zero, err
		}
	}
	out, err := do()
	if err == nil && s.after != nil {
		if err := s.after(op, arg); err != nil {
			return zero, err
		}
	}
	return out, err
}

func (s *sessions) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	return around(s, "append", a, func() (*store.Session, error) { return s.Sessions.Append(ctx, p, id, a) })
}

func (s *sessions) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return around(s, "session", id, func() (*store.Session, error) { return s.Sessions.Session(ctx, p, id) })
}

func (s *sessions) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	return around(s, "read", r, func() ([]store.Entry, error) { return s.Sessions.Read(ctx, p, id, r) })
}

func (s *sessions) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return around(s, "update", u, func() (*store.Session, error) { return s.Sessions.Update(ctx, p, u) })
}

func (s *sessions) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	return around(s, "list", q, func() (*store.SessionPage, error) { return s.Sessions.List(ctx, q) })
}

// learner is a backend that stores what it is offered, message by message, with
// the checkpoint in the same batch, or, with a workspace, in another partition.
type learner struct {
	records   store.Records
	workspace string
	ids       backends.IDSource
	before    func(ctx context.Context, r *backends.AddRequest) error // its error is Add's
	after     func(r *backends.AddRequest) error                      // likewise, after storing

	mu     sync.Mutex
	offers []*backends.AddRequest // those that were stored
}

func (l *learner) partition(s backends.Scope) (backends.Partition, error) {
	if l.workspace != "" {
		s.Workspace = l.workspace
		return s.Partition(backends.PartitionWorkspace)
	}
	return s.Speaker()
}

func (l *learner) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if l.before != nil {
		if err := l.before(ctx, r); err != nil {
			return nil, err
		}
	}
	p, err := l.partition(r.Scope)
	if err != nil {
		return nil, err
	}
	b := &store.Batch{Key: r.IdempotencyKey}
	for _, m := range r.Messages {
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: l.ids(), Text: m.ID}}))
	}
	if l.workspace == "" {
		b.Session = &store.SessionUpdate{Session: r.Checkpoint.Session, Token: r.Checkpoint.Token, Watermark: &r.Checkpoint.Upto}
	}
	applied, err := l.records.Apply(ctx, p, b)
	if err != nil {
		return nil, err
	}
	if l.after != nil {
		if err := l.after(r); err != nil {
			return nil, err
		}
	}
	if !applied.Replayed {
		l.mu.Lock()
		l.offers = append(l.offers, r)
		l.mu.Unlock()
	}
	return &backends.AddResponse{Items: make([]backends.Item, len(b.Mutations)), Checkpointed: l.workspace == "", Replayed: applied.Replayed}, nil
}

func (l *learner) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, nil
}

func (l *learner) Close(context.Context) error { return nil }

// stored returns the ids of offered messages, in order, batch by batch.
func (l *learner) stored() [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out [][]string
	for _, r := range l.offers {
		out = append(out, messageIDs(r.Messages))
	}
	return out
}

func (l *learner) last() *backends.AddRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offers[len(l.offers)-1]
}

func messageIDs(ms []backends.Message) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

// learnt counts how often each message was learnt from, as the store has it.
func learnt(t tb, r store.Records, p backends.Partition) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	for cursor := ""; ; {
		changes, err := r.Changes(context.Background(), p, cursor)
		require.NoError(t, err)
		for _, rec := range changes.Records {
			counts[rec.Text]++
		}
		if cursor = changes.Cursor; !changes.More {
			return counts
		}
	}
}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
}

// world is one process' view: a store, a backend, a Memory, and a clock.
type world struct {
	t     tb
	clock *clock
	db    *sqlitestore.Store
	log   *sessions
	back  *learner
	mem   *working.Memory
	errs  chan error // what OnError heard
	cfg   working.Config
}

// newWorld returns a world in which nothing happens by itself, unless configure
// says so.
func newWorld(t testing.TB, configure ...func(*world)) *world {
	t.Helper()
	c := newClock()
	return joinWorld(t, openStore(t, ":memory:", c.Now), c, configure...)
}

func joinWorld(t testing.TB, db *sqlitestore.Store, c *clock, configure ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, clock: c, db: db, errs: make(chan error, 1000)}
	w.log = &sessions{Sessions: db}
	w.back = &learner{records: db, ids: backends.NewID}
	w.cfg = working.Config{
		Sessions: w.log, Backend: w.back, Clock: c.Now, Sweep: -1, Idle: time.Hour, Jitter: func() float64 { return 1 },
		OnError: func(_ context.Context, stage string, err error) { w.errs <- fmt.Errorf("%s: %w", stage, err) },
	}
	for _, f := range configure {
		f(w)
	}
	var err error
	w.mem, err = working.New(context.Background(), &w.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.mem.Close(context.Background()) })
	return w
}

// say returns a complete turn of a question and an answer.
func say(id string, s backends.Scope) *working.Turn {
	return &working.Turn{Scope: s, ID: id, Done: true, Messages: []*schema.Message{
		schema.UserMessage("question " + id), schema.AssistantMessage("answer "+id, nil),
	}}
}

func (w *world) append(turns ...*working.Turn) {
	w.t.Helper()
	for _, turn := range turns {
		require.NoError(w.t, w.mem.Append(context.Background(), turn))
	}
}

func (w *world) session(s backends.Scope) *store.Session {
	w.t.Helper()
	p, err := s.Speaker()
	require.NoError(w.t, err)
	out, err := w.db.Session(context.Background(), p, s.SessionID)
	require.NoError(w.t, err)
	return out
}

func (w *world) entries(s backends.Scope) []store.Entry {
	w.t.Helper()
	p, err := s.Speaker()
	require.NoError(w.t, err)
	out, err := w.db.Read(context.Background(), p, s.SessionID, store.Range{Limit: 10_000})
	require.NoError(w.t, err)
	return out
}

func (w *world) consolidate(s backends.Scope) *backends.AddResponse {
	w.t.Helper()
	resp, err := w.mem.Consolidate(context.Background(), s)
	require.NoError(w.t, err)
	return resp
}
