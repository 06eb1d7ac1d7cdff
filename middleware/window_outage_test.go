// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
)

// patience is what memory may hold up a reply for in these tests.
const patience = 300 * time.Millisecond

// timed is a store that notes the calls by which a reply's context is loaded and
// archived: how many between two calls of the model, and those that may last for
// longer than memory may hold up a reply.
type timed struct {
	store.Sessions

	mu      sync.Mutex
	puts    int
	most    int // puts between two calls of the model
	endless int
}

func (s *timed) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	end, ok := ctx.Deadline()
	s.mu.Lock()
	s.puts++
	if !ok || time.Until(end) > patience {
		s.endless++
	}
	s.mu.Unlock()
	return s.Sessions.PutBlob(ctx, p, id, name, data)
}

// modelCalled notes that the model was called.
func (s *timed) modelCalled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.puts = max(s.most, s.puts), 0
}

// task is an agent that reads pages while the store fails, from one call of its
// model to another.
type task struct {
	t        *testing.T
	db       *timed
	cfg      *middleware.Config
	mem      *middleware.MemoryMiddleware
	told     failures
	shown    [][]*schema.Message
	slowest  time.Duration // from one call of the model to the next
	lastCall time.Time
}

const taskPages, taskWords, taskTokens = 24, 60, 2500

func newTask(t *testing.T, s *site) *task {
	x := &task{t: t, db: &timed{Sessions: s.store()}}
	x.cfg = windowed(taskTokens)
	x.cfg.Sessions, x.cfg.SearchTimeout, x.cfg.OnError = x.db, patience, x.told.tell
	x.cfg.Working = &working.Config{Backoff: time.Millisecond, Idle: time.Millisecond, Sweep: -1}
	x.mem = open(t, x.cfg)
	return x
}

// watched calls during before call n of the model.
func (x *task) watched(script []testkit.Reply, during map[int]func()) []testkit.Reply {
	out := make([]testkit.Reply, len(script))
	for n, reply := range script {
		out[n] = func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			x.db.modelCalled()
			if n > 0 {
				x.slowest = max(x.slowest, time.Since(x.lastCall))
			}
			if f := during[n]; f != nil {
				f()
			}
			x.shown = append(x.shown, in)
			x.lastCall = time.Now()
			return reply(ctx, in, o)
		}
	}
	return out
}

// run has the task; it returns how it failed, or nil.
func (x *task) run(during map[int]func(), wrapped bool) error {
	a, _ := reading(x.t, taskWords, x.watched(readAll(taskPages), during), x.mem.AgentMiddleware())
	run := a.runner.Query
	if wrapped {
		run = x.mem.WrapRunner(a.runner).Query
	}
	return failureOf(run(asAnn(), "Read everything."))
}

func failureOf(events *adk.AsyncIterator[*adk.AgentEvent]) error {
	var failure error
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		failure = errors.Join(failure, e.Err)
	}
	return failure
}

// logHas waits until what was recorded is in the log, which must have want then.
func (x *task) logHas(want []string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	for x.mem.Flush(ctx) != nil {
		require.NoError(x.t, ctx.Err())
	}
	require.Equal(x.t, brief(want), brief(texts(logged(x.t, x.cfg.Sessions))))
}

// interruptions are outages in which what a write came to is not known: each was
// carried out, or some were.
func interruptions(s *site) map[string]outage {
	all := outages(s)
	all["loses replies"] = outage{begin: func(*testing.T) { s.proxy.LoseReplies(1<<30, "evalsha", "eval") }, end: func(*testing.T) { s.proxy.LoseReplies(0) }, reads: true}
	all["cuts connections"] = outage{begin: func(*testing.T) { s.proxy.CutRandomly(7, 6000) }, end: func(*testing.T) { s.proxy.CutRandomly(7, 0) }, reads: true, works: true}
	return all
}

// However Redis fails in the middle of a task, and whether or not it comes back
// before the end: the agent goes on for as long as its context fits, every context is
// valid and fits, and the log has everything when Redis is back.
func TestTheStoreGoesAwayInTheMiddleOfATask(t *testing.T) {
	var names []string
	for name := range interruptions(nil) {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		for _, returns := range []bool{true, false} {
			wrapped := (i%2 == 0) == returns
			t.Run(fmt.Sprintf("%s, returns %v, wrapped %v", name, returns, wrapped), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				x, fault := newTask(t, s), interruptions(s)[name]
				require.Equal(t, "Hello.", newAgent(t, x.mem, testkit.Text("Hello.")).reply(asAnn(), "Hi."))
				during := map[int]func(){2: func() { fault.begin(t) }}
				if returns {
					during[5] = func() { fault.end(t) }
				}
				err := x.run(during, wrapped)
				if !returns {
					require.Equal(t, "Here.", newAgent(t, x.mem, testkit.Text("Here.")).reply(asAnn(), "Are you there?"), "a turn goes on without what was said before")
					readable := fault.reads || name == "forbids scripts" // which reading a log needs none of
					require.True(t, name == "cuts connections" || readable == (len(x.told.at("history")) == 0))
					fault.end(t)
				}
				x.check(fault, returns, err, wrapped)
				t.Logf("%d calls of the model, at most %d writes and %v between two: %v", len(x.shown), x.db.most, x.slowest.Round(time.Millisecond), err)
			})
		}
	}
}

func (x *task) check(fault outage, returns bool, err error, wrapped bool) {
	x.t.Helper()
	if err != nil {
		require.ErrorIs(x.t, err, compaction.ErrOver)
		require.False(x.t, returns, "it fits until then")
	}
	for n, in := range x.shown {
		require.NoError(x.t, transcript.Check(in), "call %d", n)
		require.LessOrEqual(x.t, compaction.Budget{Window: taskTokens, Counter: compaction.Estimate}.Usage(in).Over(), 0, "call %d", n)
	}
	x.db.modelCalled() // the call that the run failed before
	require.Zero(x.t, x.db.endless, "each wait has an end")
	require.LessOrEqual(x.t, x.db.most, 4, "and there are few of them")
	if !fault.works && !returns {
		require.NotEmpty(x.t, x.told.at("compact"))
		requireUnavailable(x.t, x.told.at("compact"))
		if !wrapped { // which writes at the end
			require.NotEmpty(x.t, x.told.at("record"))
		}
	}
	want := []string{"user: Hi.", "assistant: Hello.", "user: Read everything."}
	for n := range len(x.shown) - 1 {
		want = append(want, "assistant: ", "tool: "+pageText(n, taskWords))
	}
	if err == nil {
		want = append(want, "assistant: I have read everything.")
	} else {
		n := len(x.shown) - 1
		want = append(want, "assistant: ", "tool: "+pageText(n, taskWords))
	}
	if !returns {
		want = append(want, "user: Are you there?", "assistant: Here.")
	}
	x.logHas(want)
	a := newAgent(x.t, x.mem, testkit.Text("Fine."))
	require.Equal(x.t, "Fine.", a.reply(asAnn(), "And now?"))
	require.NoError(x.t, transcript.Check(a.model.Calls()[0]))
	x.logHas(append(want, "user: And now?", "assistant: Fine."))
	back, err := x.mem.Window().Restore(context.Background(), ann, a.model.Calls()[0])
	require.NoError(x.t, err)
	require.Len(x.t, withoutOurs(back), len(want)+1, "all of it is shown or archived")
}
