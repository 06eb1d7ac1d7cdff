// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	testkit.RunChild(child)
	goleak.VerifyTestMain(m)
}

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

// with returns ann's scope with another agent.
func with(agent string) backends.Scope {
	s := ann
	s.AgentID = agent
	return s
}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	require.TestingT
	Cleanup(func())
}

// env is one process: a store, a backend, and a Memory at whose clock a test turns.
// Nothing happens by itself unless the test configures it.
type env struct {
	t     tb
	clock *testkit.Clock
	db    store.Store
	log   *testkit.Store // the store as the Memory sees it
	back  *learner
	mem   *working.Memory
	errs  chan error // what OnError got
	cfg   working.Config
}

func newEnv(t tb, configure ...func(*env)) *env {
	clock := testkit.NewClock()
	return openEnv(t, openSQLite(t, sqlitestore.Memory, clock.Now), clock, configure...)
}

func openSQLite(t tb, path string, clock backends.Clock) store.Store {
	db, err := openAt(path, clock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.(interface{ Close() error }).Close() })
	return db
}

func openEnv(t tb, db store.Store, clock *testkit.Clock, configure ...func(*env)) *env {
	e := &env{t: t, clock: clock, db: db, log: testkit.Spy(db), back: &learner{records: db}, errs: make(chan error, 1000)}
	e.cfg = working.Config{
		Sessions: e.log, Backend: e.back, Clock: clock.Now, Sweep: -1, Idle: time.Hour,
		OnError: func(_ context.Context, stage string, err error) { e.errs <- fmt.Errorf("%s: %w", stage, err) },
	}
	working.NeverLeft(&e.cfg)
	for _, f := range configure {
		f(e)
	}
	var err error
	e.mem, err = working.New(context.Background(), &e.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.mem.Close(context.Background()) })
	return e
}

// restart closes the Memory and opens another one on the same store.
func (e *env) restart(configure ...func(*env)) *env {
	require.NoError(e.t, e.mem.Close(context.Background()))
	return openEnv(e.t, e.db, e.clock, configure...)
}

// sweep is what the background does with sessions that no process consolidates.
func (e *env) sweep() {
	require.NoError(e.t, working.Sweep(e.mem, context.Background()))
}

// learner is a backend that stores what it is offered, message by message, with the
// checkpoint in the same batch, or, with a workspace, in another partition.
type learner struct {
	backends.Backend // none: it only learns
	records          store.Records
	workspace        string
	err              error    // what Add returns,
	bad              []string // for batches with these turns; for all if there are none
	before           func(ctx context.Context, r *backends.AddRequest) error
	after            func(r *backends.AddRequest) error // after storing
	partly           bool                               // an error of after comes with a response
	answer           func() *backends.AddResponse       // instead of all this

	mu     sync.Mutex
	tried  []int                  // the sizes of all batches, in messages
	offers []*backends.AddRequest // those that were stored
}

func (l *learner) partition() backends.Partition {
	p, _ := ann.Speaker()
	if l.workspace != "" {
		p.Kind, p.ID = backends.PartitionWorkspace, l.workspace
	}
	return p
}

func (l *learner) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	l.mu.Lock()
	l.tried = append(l.tried, len(r.Messages))
	l.mu.Unlock()
	if l.answer != nil {
		return l.answer(), nil
	}
	if l.before != nil {
		if err := l.before(ctx, r); err != nil {
			return nil, err
		}
	}
	isBad := func(m backends.Message) bool { return len(l.bad) == 0 || slices.Contains(l.bad, m.Turn) }
	if l.err != nil && slices.ContainsFunc(r.Messages, isBad) {
		return nil, l.err
	}
	p, b := l.partition(), &store.Batch{Key: r.IdempotencyKey}
	for _, m := range r.Messages {
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: backends.NewID(), Text: m.ID}}))
	}
	if l.workspace == "" {
		p, _ = r.Scope.Speaker()
		b.Session = &store.SessionUpdate{Session: r.Checkpoint.Session, Token: r.Checkpoint.Token, Watermark: &r.Checkpoint.Upto}
	}
	applied, err := l.records.Apply(ctx, p, b)
	if err == nil && l.after != nil {
		if err = l.after(r); err != nil && l.partly {
			return &backends.AddResponse{}, err
		}
	}
	if err != nil {
		return nil, err
	}
	if !applied.Replayed {
		l.mu.Lock()
		l.offers = append(l.offers, r)
		l.mu.Unlock()
	}
	return &backends.AddResponse{Items: make([]backends.Item, len(b.Mutations)), Checkpointed: l.workspace == "", Replayed: applied.Replayed}, nil
}

// stored returns the ids of the messages that were learnt from, in order, batch by batch.
func (l *learner) stored() (out [][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// learnt returns how often each message was learnt from, as the store has it.
func (e *env) learnt() map[string]int { return recorded(e.t, e.db, e.back.partition()) }

// recorded counts the texts of a partition's records.
func recorded(t tb, r store.Records, p backends.Partition) map[string]int {
	counts := make(map[string]int)
	for cursor := ""; ; {
		changes, err := r.Changes(context.Background(), p, cursor)
		require.NoError(t, err)
		for i := range changes.Records {
			counts[changes.Records[i].Text]++
		}
		if cursor = changes.Cursor; !changes.More {
			return counts
		}
	}
}

// said returns a complete turn of a question and an answer.
func said(id string, s backends.Scope) *working.Turn {
	return &working.Turn{Scope: s, ID: id, Done: true, Messages: testkit.Turn("question "+id, "answer "+id)}
}

// part returns a part of a turn of ann's.
func part(id string, first int, done bool, texts ...string) *working.Turn {
	t := &working.Turn{Scope: ann, ID: id, First: first, Done: done}
	for _, text := range texts {
		t.Messages = append(t.Messages, schema.UserMessage(text))
	}
	return t
}

func (e *env) append(turns ...*working.Turn) {
	for _, turn := range turns {
		require.NoError(e.t, e.mem.Append(context.Background(), turn))
	}
}

func (e *env) session(s backends.Scope) *store.Session {
	p, _ := s.Speaker()
	out, err := e.db.Session(context.Background(), p, s.SessionID)
	require.NoError(e.t, err)
	return out
}

func (e *env) entries(s backends.Scope) []store.Entry {
	return testkit.Entries(e.t, e.db, s)
}

func (e *env) consolidate(s backends.Scope) *backends.AddResponse {
	resp, err := e.mem.Consolidate(context.Background(), s)
	require.NoError(e.t, err)
	return resp
}
