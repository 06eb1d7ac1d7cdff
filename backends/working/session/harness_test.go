// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testredis"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	runChild()                                               // does not return in a child process of the crash tests
	if err := flag.Set("rapid.checks", checks); err != nil { // the command line overrides it
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// long asks for full sizes.
var long = os.Getenv("EINOMEM_LONG") == "1"

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

// tb is what testing.T and rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
}

// call is one call of a store that a test sees.
type call struct {
	op      string
	session string
	arg     any
}

// spied is a store whose calls a test sees, and may make fail.
type spied struct {
	store.Sessions
	before func(call) error
	after  func(call) error // not called behind an error
	behind func(call)       // called in any case

	mu    sync.Mutex
	calls []call
}

func around[T any](s *spied, c call, do func() (T, error)) (T, error) {
	var zero T
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(c); err != nil {
			return zero, err
		}
	}
	out, err := do()
	if s.behind != nil {
		s.behind(c)
	}
	if err == nil && s.after != nil {
		if err := s.after(c); err != nil {
			return zero, err
		}
	}
	return out, err
}

func (s *spied) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	return around(s, call{"append", id, a}, func() (*store.Session, error) { return s.Sessions.Append(ctx, p, id, a) })
}

func (s *spied) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return around(s, call{"session", id, nil}, func() (*store.Session, error) { return s.Sessions.Session(ctx, p, id) })
}

func (s *spied) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	return around(s, call{"read", id, r}, func() ([]store.Entry, error) { return s.Sessions.Read(ctx, p, id, r) })
}

func (s *spied) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return around(s, call{"update", u.Session, u}, func() (*store.Session, error) { return s.Sessions.Update(ctx, p, u) })
}

func (s *spied) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	return around(s, call{"list", "", q}, func() (*store.SessionPage, error) { return s.Sessions.List(ctx, q) })
}

func (s *spied) Delete(ctx context.Context, p backends.Partition, id string) error {
	_, err := around(s, call{"delete", id, nil}, func() (any, error) { return nil, s.Sessions.Delete(ctx, p, id) })
	return err
}

func (s *spied) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	_, err := around(s, call{"put", id, name}, func() (any, error) { return nil, s.Sessions.PutBlob(ctx, p, id, name, data) })
	return err
}

func (s *spied) GetBlob(ctx context.Context, p backends.Partition, id, name string) ([]byte, error) {
	return around(s, call{"get", id, name}, func() ([]byte, error) { return s.Sessions.GetBlob(ctx, p, id, name) })
}

// seen returns the calls since the last time.
func (s *spied) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// perByte counts one token a byte of text, and nothing else.
var perByte = compaction.Tokenizer(func(s string) int { return len(s) })

// world is a service on a store, and a clock that stands still.
type world struct {
	t     tb
	clock *clock
	db    store.Store
	log   *spied
	ann   backends.Scope // whose session the test is about
	*session.Service
}

func newWorld(t tb, db store.Store, c *clock, change ...func(*session.Config)) *world {
	t.Helper()
	w := &world{t: t, clock: c, db: db, log: &spied{Sessions: db}, ann: ann}
	cfg := &session.Config{Sessions: w.log, Clock: c.Now}
	for _, f := range change {
		f(cfg)
	}
	var err error
	w.Service, err = session.New(cfg)
	require.NoError(t, err)
	return w
}

// onSQLite returns a world on an empty database.
func onSQLite(t testing.TB, change ...func(*session.Config)) *world {
	t.Helper()
	c := newClock()
	return newWorld(t, openSQLite(t, ":memory:", c.Now), c, change...)
}

func openSQLite(t testing.TB, path string, c backends.Clock) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Clock: c, Synchronous: sqlitestore.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openRedis(t testing.TB, c redis.UniversalClient, now backends.Clock) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(context.Background(), c, &redisstore.Config{Clock: now, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// onEvery runs tests on SQLite, on an imitation of Redis, and on each server that
// there is. Each has a user of its own.
func onEvery(t *testing.T, tests map[string]func(t *testing.T, w *world)) {
	t.Helper()
	run := func(t *testing.T, db store.Store, c *clock) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, db, c)
				w.ann.UserID = "ann " + name
				test(t, w)
			})
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		c := newClock()
		run(t, openSQLite(t, ":memory:", c.Now), c)
	})
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c := newClock()
		run(t, openRedis(t, open(t), c.Now), c)
	})
}

// said is a message of the log, in short: who, of which turn at which place, what.
type said struct {
	turn   string
	index  int
	msg    *schema.Message
	tokens int
	done   bool
	id     string // instead of the turn and the index
	at     time.Time
}

func user(turn string, index int, text string) said {
	return said{turn: turn, index: index, msg: schema.UserMessage(text), tokens: 10}
}

func reply(turn string, index int, text string) said {
	return said{turn: turn, index: index, msg: schema.AssistantMessage(text, nil), tokens: 10}
}

func calls(turn string, index int, ids ...string) said {
	var list []schema.ToolCall
	for _, id := range ids {
		list = append(list, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "find", Arguments: "{}"}})
	}
	return said{turn: turn, index: index, msg: schema.AssistantMessage("", list), tokens: 10}
}

func result(turn string, index int, id string) said {
	return said{turn: turn, index: index, msg: schema.ToolMessage("result of "+id, id, schema.WithToolName("find")), tokens: 10}
}

// mark only says that the turn is done.
func mark(turn string) said {
	return said{turn: turn, id: turn + "-done", msg: schema.AssistantMessage("", nil), done: true}
}

func (s said) end() said { s.done = true; return s }

func (s said) sized(tokens int) said { s.tokens = tokens; return s }

func (s said) entry() store.Entry {
	id := s.id
	if id == "" {
		id = fmt.Sprintf("%s-%d", s.turn, s.index)
	}
	return store.Entry{Message: backends.Message{ID: id, Turn: s.turn, Message: s.msg, Time: s.at}, Tokens: s.tokens, Done: s.done, AgentID: "bot"}
}

// say appends to the log of a session.
func (w *world) say(s backends.Scope, messages ...said) {
	w.t.Helper()
	var entries []store.Entry
	for _, m := range messages {
		if m.at.IsZero() {
			m.at = w.clock.Now()
		}
		entries = append(entries, m.entry())
	}
	_, err := w.db.Append(context.Background(), partition(w.t, s), s.SessionID, &store.Append{Entries: entries, Scope: s})
	require.NoError(w.t, err)
}

// turns appends complete turns of a question and an answer.
func (w *world) turns(s backends.Scope, from, to int) {
	w.t.Helper()
	for i := from; i <= to; i++ {
		id := fmt.Sprint("t", i)
		w.say(s, user(id, 0, "question "+id), reply(id, 1, "answer "+id).end())
	}
}

func partition(t tb, s backends.Scope) backends.Partition {
	t.Helper()
	p, err := s.Speaker()
	require.NoError(t, err)
	return p
}

func (w *world) load(r *session.LoadRequest) *session.History {
	w.t.Helper()
	h, err := w.Load(context.Background(), r)
	require.NoError(w.t, err)
	return h
}

func (w *world) state(s backends.Scope) *store.Session {
	w.t.Helper()
	st, err := w.db.Session(context.Background(), partition(w.t, s), s.SessionID)
	require.NoError(w.t, err)
	return st
}

func (w *world) entries(s backends.Scope) []store.Entry {
	w.t.Helper()
	out, err := w.db.Read(context.Background(), partition(w.t, s), s.SessionID, store.Range{Limit: 10_000})
	require.NoError(w.t, err)
	return out
}

func (w *world) commit(s backends.Scope, from, upto int64, text string) bool {
	w.t.Helper()
	ok, err := w.CommitSummary(context.Background(), s, &session.Summary{From: from, Upto: upto, Text: text})
	require.NoError(w.t, err)
	return ok
}

// brief shows messages as lines: where they come from, and what they say.
func brief(messages []*schema.Message) []string {
	out := []string{}
	for _, m := range messages {
		where := fmt.Sprint(einox.SeqOf(m))
		if ref := einox.RefOf(m); ref != "" {
			where = ref
		}
		text := m.Content
		for _, c := range m.ToolCalls {
			text += "call " + c.ID
		}
		out = append(out, fmt.Sprintf("%s %s: %s", where, m.Role, text))
	}
	return out
}
