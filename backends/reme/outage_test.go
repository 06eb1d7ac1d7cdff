// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

var errAway = fmt.Errorf("it is away: %w", backends.ErrUnavailable)

// outages are the ways in which the calls of a store go wrong from call n, from 1 on.
var outages = map[string]func(n int, c *testkit.StoreCall) bool{
	"fails once":        func(n int, c *testkit.StoreCall) bool { return c.N+1 == n },
	"is away":           func(n int, c *testkit.StoreCall) bool { return c.N+1 >= n },
	"loses a reply":     func(n int, c *testkit.StoreCall) bool { c.Lost = c.N+1 == n; return c.Lost },
	"loses all replies": func(n int, c *testkit.StoreCall) bool { c.Lost = c.N+1 == n; return c.N+1 >= n },
}

// quiet has a verdict, a clock at which calls of tools are still kept, and no background
// work; it tolerates what is reported beside a call.
func quiet(c *reme.Config) {
	c.Clock = func() time.Time { return annual.Add(time.Hour) }
	c.Verdict, c.OnError, c.Tools.NoRefresh = reme.VerdictOf("submit", "passed"), nil, true
}

// lived puts something of each kind into the memory.
func lived(t *testing.T, db store.Store) {
	t.Helper()
	b, _ := newBackend(t, db, quiet)
	ctx := t.Context()
	learnt, err := b.Task().Summarize(ctx, summary(ann, refund(1)))
	require.NoError(t, err)
	require.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: []string{learnt.Memories[0].ID}})))
	require.NoError(t, only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: *saying("FACT ann drinks tea")})))
	require.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(2, "old")})))
	logged(t, db, turn("logged", schema.UserMessage("Sell order 9"), schema.AssistantMessage("LESSON selling an order | ask for the colour", nil)))
}

// state is all that can be seen of the partitions, without ids and times.
func state(t testing.TB, db store.Store) []string {
	t.Helper()
	var out []string
	user, err := ann.Speaker()
	require.NoError(t, err)
	for _, p := range []backends.Partition{user, {Namespace: user.Namespace, Kind: backends.PartitionWorkspace, ID: "lab"}, {Namespace: user.Namespace, Kind: backends.PartitionWorkspace, ID: "copy"}} {
		all, err := db.Changes(t.Context(), p, "")
		require.NoError(t, err)
		for i := range all.Records {
			m := &all.Records[i]
			out = append(out, fmt.Sprintln(p, m.Kind, m.WhenToUse, m.Text, m.Active(), m.Metadata["freq"], m.Metadata["utility"], m.Metadata["corroborated"]))
		}
	}
	session, err := db.Session(t.Context(), user, "s1")
	if errors.Is(err, backends.ErrNotFound) { // forgotten
		session, err = &store.Session{}, nil
	}
	require.NoError(t, err)
	b, _ := newBackend(t, db, quiet)
	for _, name := range []string{"search", "搜索"} {
		if got, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{name}}); !errors.Is(err, backends.ErrNotFound) { // the workspace was deleted
			require.NoError(t, err)
			out = append(out, fmt.Sprintln(name, got.Tools[0].Statistics.Total))
		}
	}
	slices.Sort(out)
	return append(out, fmt.Sprintln("learnt up to", session.Watermark))
}

// Whatever goes wrong, at whichever call of the store, the model or the embedder, or between
// the backend and its Redis: the error says what it is, nothing is half stored, and a repeat
// stores everything once.
func TestEveryFlowSurvivesOutages(t *testing.T) {
	testkit.SlowUnderRace(t)
	const line = `{"workspace_id":"lab","memory_id":"m1","memory_type":"task","when_to_use":"packing tea","content":"keep it dry","score":0.5}` + "\n"
	flows := map[string]struct {
		call   func(ctx context.Context, b *reme.Backend) error
		halves bool // it is two writes: a repeat under the same key does the one that is missing
		bears  bool // some failures are no error: what it was called for is done
		keeps  bool // the words, where the model's answers cannot be used
	}{
		"Add": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k"}))
		}},
		"Add from the log": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k", Checkpoint: &backends.Checkpoint{Session: "s1", Upto: 2}})
			if err == nil && !resp.Checkpointed {
				return errors.New("the log does not know that it was learnt from")
			}
			return err
		}},
		"Add what is said": {keeps: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, saying("FACT ann lives in Hangzhou")))
		}},
		"Add verbatim": {call: func(ctx context.Context, b *reme.Backend) error {
			r := saying("我对花生过敏")
			r.Verbatim = true
			return only(b.Add(ctx, r))
		}},
		"Add experience": {call: func(ctx context.Context, b *reme.Backend) error {
			r := saying("ask for the colour first")
			r.Verbatim, r.Kind = true, backends.KindTask
			return only(b.Add(ctx, r))
		}},
		"RecordOutcome": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: ann, Turn: "logged", Score: 1}))
		}},
		"Task.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Summarize(ctx, summary(ann, attempted("selling tea", "weigh it twice", 1), attempted("selling tea", "never guess", 0))))
		}},
		"Task.Record": {call: func(ctx context.Context, b *reme.Backend) error {
			held, err := b.List(ctx, &backends.ListRequest{Scope: backends.Scope{Workspace: "lab"}, Kinds: []backends.Kind{backends.KindTask}})
			if err != nil {
				return err
			}
			return only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: []string{held.Memories[0].ID}, AllUseful: true, IdempotencyKey: "k"}))
		}},
		"Task.Forget": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, Rule: task.Rule{MinUses: 1, MaxUtility: 0.5}}))
		}},
		"Task.Retry": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Retry(ctx, &task.RetryRequest{Scope: ann, Query: "refunding an order", IdempotencyKey: "k",
				Run: func(_ context.Context, a *task.Attempt) (*task.Trajectory, error) {
					t := attempted("retrying", "try again", float64(min(a.N-1, 1)))
					return &t, nil
				}}))
		}},
		"Personal.Summarize": {keeps: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: *saying("FACT ann lives in Hangzhou")}))
		}},
		"Tools.Record": {bears: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(3, "new")}))
		}},
		"Tools.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Tools: []string{"search"}, Force: true}))
		}},
		"Library.Load": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann, Merge: true}, strings.NewReader(line)))
		}},
		"Library.Copy": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Copy(ctx, &reme.CopyRequest{From: ann, To: backends.Scope{Workspace: "copy"}}))
		}},
		"Library.Delete": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Delete(ctx, backends.Scope{Workspace: ann.Workspace}))
		}},
		"DeleteAll": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann}))
		}},
		"Search": {call: func(ctx context.Context, b *reme.Backend) error {
			resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refunding tea"})
			if err == nil && resp.Degraded == nil && len(resp.Hits) == 0 {
				return errors.New("it found nothing, and did not say why")
			}
			return err
		}},
		"Task.Retrieve": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "refunding tea"}))
		}},
		"Library.Dump": {call: func(ctx context.Context, b *reme.Backend) error {
			var out bytes.Buffer
			err := only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &out))
			if err == nil && strings.Count(out.String(), "\n") != 1 {
				return fmt.Errorf("the dump is not of one memory: %s", out.String())
			}
			return err
		}},
	}
	outcome := map[string][]string{} // the states after the flows of which nothing fails
	for name, f := range flows {
		db := open(t)
		lived(t, db)
		b, _ := newBackend(t, db, quiet)
		require.NoError(t, f.call(t.Context(), b), name)
		outcome[name] = state(t, db)
	}
	// check checks what a call left behind, repeats it after an error, and checks again.
	check := func(t *testing.T, name string, db store.Store, b *reme.Backend, before []string, err, want error, what string) {
		t.Helper()
		f, after := flows[name], state(t, db)
		if err == nil && f.keeps && errors.Is(want, backends.ErrModel) && !slices.Equal(after, outcome[name]) {
			require.Equal(t, 1, strings.Count(strings.Join(after, ""), "FACT ann lives in Hangzhou"), what)
			return
		}
		if err == nil {
			require.True(t, f.bears || slices.Equal(after, outcome[name]), "%s: no error, and not done", what)
		} else {
			require.ErrorIs(t, err, want, what)
			require.NotErrorIs(t, err, backends.ErrNotFound, what)
			if !f.halves && !f.bears && !slices.Equal(after, outcome[name]) {
				require.Equal(t, before, after, "%s: half stored", what)
			}
			require.NoError(t, f.call(t.Context(), b), "%s: the repeat", what)
		}
		require.Equal(t, outcome[name], state(t, db), "%s: in the end", what)
	}

	for name, f := range flows {
		t.Run("store/"+name, func(t *testing.T) {
			for outage, hits := range outages {
				if !testkit.Long() && !f.halves && outage != "fails once" && outage != "loses a reply" {
					continue
				}
				for n, more := 1, true; more; n++ {
					spy := testkit.Spy(open(t))
					lived(t, spy)
					before := state(t, spy)
					b, _ := newBackend(t, spy, quiet)
					spy.Arm(func(c *testkit.StoreCall) error {
						if hits(n, c) {
							return errAway
						}
						return nil
					})
					err := f.call(t.Context(), b)
					more = len(spy.Calls()) >= n
					spy.Arm(nil)
					check(t, name, spy, b, before, err, backends.ErrUnavailable, fmt.Sprintf("%s, call %d", outage, n))
				}
			}
		})
		t.Run("caller/"+name, func(t *testing.T) { // who gives up before a call of the store
			for n, more := 1, true; more; n++ {
				spy := testkit.Spy(open(t))
				lived(t, spy)
				before := state(t, spy)
				b, _ := newBackend(t, spy, quiet)
				ctx, cancel := context.WithCancel(t.Context())
				spy.Arm(func(c *testkit.StoreCall) error {
					if c.N+1 == n {
						cancel()
					}
					return nil
				})
				err := f.call(ctx, b)
				cancel()
				more = len(spy.Calls()) >= n
				check(t, name, spy, b, before, err, context.Canceled, fmt.Sprint("before call ", n))
			}
		})
		t.Run("model/"+name, func(t *testing.T) {
			for mood, instead := range map[string]struct {
				answer    *schema.Message
				err, want error
			}{
				"is away":    {nil, errors.New("503"), backends.ErrUnavailable},
				"says hello": {schema.AssistantMessage("Hello!", nil), nil, backends.ErrModel},
				"is silent":  {schema.AssistantMessage("", nil), nil, backends.ErrModel},
				"is broken":  {nil, nil, backends.ErrUnavailable},
			} {
				for n, more := 1, true; more; n++ {
					db, asked, works := open(t), 0, false
					lived(t, db)
					before := state(t, db)
					b, _ := newBackend(t, db, func(c *reme.Config) {
						quiet(c)
						c.Limits.Concurrency = 1
						c.Model = testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
							if asked++; asked >= n && !works {
								return instead.answer, instead.err
							}
							return testkit.Learn(ctx, in, opts)
						})
					})
					err := f.call(t.Context(), b)
					more, works = asked >= n, true
					check(t, name, db, b, before, err, instead.want, fmt.Sprintf("%s from call %d on", mood, n))
				}
			}
		})
		t.Run("embedder/"+name, func(t *testing.T) {
			e, db := &testkit.Embedder{Dim: 32}, open(t)
			lived(t, db)
			b, _ := newBackend(t, db, func(c *reme.Config) { quiet(c); c.Embedder, c.EmbeddingModel = e, "hash" })
			require.NoError(t, only(b.ReembedAll(t.Context(), ann.Namespace, nil)))
			before := state(t, db)
			e.Err = errors.New("429")
			err := f.call(t.Context(), b)
			e.Err = nil
			check(t, name, db, b, before, err, backends.ErrUnavailable, "embedder")
		})
	}
	t.Run("redis", func(t *testing.T) {
		server := testredis.Need(t).Start(t)
		var network testredis.Network
		admin, seen := server.Client(t), 0
		// The network resets connections: no fault waits for a timeout of the client.
		faults := map[string]func(){
			"loses a reply":     func() { network.LoseReplies(1, "evalsha", "eval") },
			"loses all replies": func() { network.LoseReplies(1<<30, "evalsha", "eval") },
			"refuses":           func() { network.Refuse(true) },
			"cuts":              func() { network.CutRandomly(11, 4000) },
		}
		for name, f := range flows {
			if !testkit.Long() && !slices.Contains([]string{"Add", "RecordOutcome", "Task.Summarize", "Task.Record", "Personal.Summarize", "Tools.Record", "Library.Load"}, name) {
				continue
			}
			for fault, begin := range faults {
				require.NoError(t, admin.FlushAll(t.Context()).Err())
				c := network.Client(t, server)
				db, err := redisstore.New(t.Context(), c, &redisstore.Config{Retry: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				lived(t, db)
				before := state(t, db)
				b, _ := newBackend(t, db, quiet)
				begin()
				err = f.call(t.Context(), b)
				network.LoseReplies(0)
				network.Refuse(false)
				network.CutRandomly(11, 0)
				if err != nil {
					seen++
				}
				check(t, name, db, b, before, err, backends.ErrUnavailable, name+", it "+fault)
				require.NoError(t, errors.Join(b.Close(t.Context()), db.Close(), c.Close()))
			}
		}
		assert.Greater(t, seen, 7, "there were outages")
	})
}
