// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

func TestTheFieldsOfATaskMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		tr := attempted(1, login)
		tr.TaskID, tr.Session, tr.Turn = "t7", "s1", "u3"
		scope := backends.Scope{Workspace: "shop", AgentID: "porter"}
		resp, err := w.Summarize(ctx, &SummaryRequest{Scope: scope, Trajectories: []Trajectory{tr}, Metadata: map[string]any{"run": "r1", "freq": 99, "tags": "mine"}, Author: "qwen3"})
		require.NoError(t, err)
		m := w.find(what(login))
		assert.Equal(t, resp.Memories[0], *m)
		assert.Equal(t, backends.KindTask, m.Kind)
		assert.Equal(t, "When a login is refused", m.WhenToUse)
		assert.Equal(t, 0.8, *m.Quality)
		assert.Equal(t, backends.Origin{Session: "s1", Turn: "u3", Author: "qwen3"}, m.Origin)
		assert.True(t, m.Observed.Equal(start.Add(-time.Hour)), "the time of the trajectory")
		assert.Equal(t, backends.Scope{Namespace: "default", Workspace: "shop", AgentID: "porter"}, m.Scope)
		assert.Equal(t, map[string]any{
			"tags": []any{"kettle"}, "confidence": 0.7, "step_type": "action", "tools_used": []any{"sell"}, "source": "success",
			"task_query": "Selling something.", "task_id": "t7", "outcome": 1.0, "run": "r1",
		}, m.Metadata, "and no counts: it was not used yet")
		events, err := w.keeper.History(ctx, inn, m.ID)
		require.NoError(t, err)
		assert.Equal(t, "qwen3", events[0].Actor)
	})
}

// The response reports what is stored, and nothing that was dropped on the way.
func TestTheResponseReportsWhatIsStored(t *testing.T) {
	w := open(t)
	w.summarize(login)
	resp := w.summarize(pages, login, "When in doubt | Say rubbish.")
	require.Len(t, resp.Memories, 1)
	assert.Equal(t, *w.find(what(pages)), resp.Memories[0])
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageJudge).Dropped)
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageDuplicates).Dropped)
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageStore).Out)
	assert.Equal(t, 2, resp.Report.Usage.ModelCalls)
}

func TestWorkspacesAreIsolated(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		id := w.summarize(login).Memories[0].ID
		before := w.version()
		for _, scope := range []backends.Scope{{Workspace: "inn"}, {Namespace: "tenant", Workspace: "shop"}} {
			resp, err := w.Summarize(ctx, &SummaryRequest{Scope: scope, Trajectories: []Trajectory{attempted(1, login)}})
			require.NoError(t, err)
			require.Len(t, resp.Memories, 1, "known elsewhere is not known here")
			assert.NotEqual(t, id, resp.Memories[0].ID)
			counted, err := w.Record(ctx, &RecordRequest{Scope: scope, IDs: []string{id}})
			require.NoError(t, err)
			assert.Equal(t, []string{id}, counted.Unknown)
			for range 5 {
				_, err = w.Record(ctx, &RecordRequest{Scope: scope, IDs: []string{resp.Memories[0].ID}})
				require.NoError(t, err)
			}
			gone, err := w.Forget(ctx, &ForgetRequest{Scope: scope})
			require.NoError(t, err)
			assert.Len(t, gone.Deleted, 1)
		}
		assert.Equal(t, before, w.version())
		assert.Equal(t, []string{what(login)}, w.active())
	})
}

func TestAKnownKeyIsFree(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		for key, taught := range map[string]string{"turn 7": login, "turn 8": "login | rubbish"} {
			r := SummaryRequest{Trajectories: []Trajectory{attempted(1, taught)}, IdempotencyKey: key}
			first := w.learn(r)
			assert.False(t, first.Replayed)
			calls := len(w.of(""))
			r.Trajectories = []Trajectory{attempted(1, pages)} // the key counts, not what comes with it
			again := w.learn(r)
			assert.True(t, again.Replayed)
			assert.Len(t, again.Items, len(first.Items))
			assert.Empty(t, again.Memories)
			assert.Len(t, w.of(""), calls, "no model was asked")
		}
		m := w.find(what(login))
		require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: m.ID}))
		again := w.learn(SummaryRequest{Trajectories: []Trajectory{attempted(1, login)}, IdempotencyKey: "turn 7"})
		assert.Equal(t, m.ID, again.Items[0].Memory.ID, "a redelivered call brings nothing back that was deleted")
		assert.Empty(t, w.active())
		elsewhere, err := w.Summarize(ctx, &SummaryRequest{Scope: backends.Scope{Workspace: "inn"}, Trajectories: []Trajectory{attempted(1, login)}, IdempotencyKey: "turn 7"})
		require.NoError(t, err)
		assert.False(t, elsewhere.Replayed, "keys are those of a workspace")
	})
}

// Of two calls with one key at the same time one reports what the other stored.
func TestAKeyThatBecomesKnownMeanwhile(t *testing.T) {
	for _, key := range []string{"k", ""} {
		st := testkit.SQLite(t)
		other := open(t, on(st))
		spy := testkit.Spy(st)
		w := open(t, on(spy))
		beforeTheBatch(spy, func() {
			other.learn(SummaryRequest{Trajectories: []Trajectory{attempted(1, login)}, IdempotencyKey: key})
		})
		resp := w.learn(SummaryRequest{Trajectories: []Trajectory{attempted(1, login)}, IdempotencyKey: key})
		assert.True(t, resp.Replayed)
		assert.Equal(t, "unchanged", outcomes(resp))
		assert.Equal(t, []string{what(login)}, w.active())
	}
}

func TestWhatJSONCannotHoldHasNoKey(t *testing.T) {
	w := open(t)
	tr := attempted(1, login)
	tr.Messages[0].Extra = map[string]any{"f": func() {}}
	for range 2 {
		assert.False(t, w.learn(SummaryRequest{Trajectories: []Trajectory{tr}}).Replayed)
	}
	assert.Len(t, w.active(), 1)
}

func TestSummarizeRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	for name, c := range map[string]struct {
		r    *SummaryRequest
		want error
	}{
		"nothing":       {nil, backends.ErrInvalid},
		"no workspace":  {&SummaryRequest{Scope: backends.Scope{UserID: "ann"}}, backends.ErrNoScope},
		"a bad scope":   {&SummaryRequest{Scope: backends.Scope{Workspace: "*"}}, backends.ErrInvalid},
		"a long key":    {&SummaryRequest{Scope: shop, IdempotencyKey: strings.Repeat("k", 481)}, backends.ErrInvalid},
		"no situation":  {&SummaryRequest{Scope: shop, Candidates: []backends.Memory{{Text: "x"}}}, backends.ErrInvalid},
		"no experience": {&SummaryRequest{Scope: shop, Candidates: []backends.Memory{{WhenToUse: "x", Text: " "}}}, backends.ErrInvalid},
		"no messages":   {&SummaryRequest{Scope: shop, Trajectories: make([]Trajectory, 1)}, backends.ErrInvalid},
		"a nil message": {&SummaryRequest{Scope: shop, Trajectories: []Trajectory{{Messages: []*schema.Message{schema.UserMessage("x"), nil}}}}, backends.ErrInvalid},
		"no score":      {&SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(math.NaN(), login)}}, backends.ErrInvalid},
		"system alone":  {&SummaryRequest{Scope: shop, Trajectories: []Trajectory{{Messages: []*schema.Message{schema.SystemMessage("x")}}}}, backends.ErrInvalid},
	} {
		_, err := w.Summarize(ctx, c.r)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Candidates: []backends.Memory{{WhenToUse: "x", Text: "y"}, {WhenToUse: "x", Text: "\xff"}}})
	require.ErrorContains(t, err, "candidate 1", "an error says what of the request is wrong")
	_, err = open(t, noModel).Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, login)}})
	require.ErrorIs(t, err, backends.ErrInvalid, "without a model nothing is extracted")
	assert.Empty(t, w.learn(SummaryRequest{}).Items, "nothing teaches nothing")
	assert.Empty(t, w.of(""))
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	k := learning(learner.Learner{Keeper: open(t).keeper, Prompt: 12_000})
	for name, change := range map[string]func(*Config){
		"duplicate": func(c *Config) { c.Duplicate = 1.5 }, "words": func(c *Config) { c.DuplicateWords = -1 },
		"quality":   func(c *Config) { c.MinQuality = 1.1 },
		"threshold": func(c *Config) { c.Threshold = math.NaN() }, "simple threshold": func(c *Config) { c.SimpleThreshold = math.NaN() },
	} {
		var c Config
		change(&c)
		_, err := New(c, k)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := New(Config{}, k)
	require.NoError(t, err)
}

// An outage of the model at any call is an error of a request, which leaves the workspace
// as it was; the repeat of the request does the rest of it, and asks only that.
func TestAnOutageOfTheModelAtEachCall(t *testing.T) {
	calls := 1 // success, failure, comparison; a judge of each answer; a decision
	for n := 0; n <= calls; n++ {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			w := open(t).deciding(merging)
			w.summarize(pages)
			before, from := w.version(), len(w.of(""))
			r := &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, pagesNear, login), attempted(0, "gate | knock")}, Candidates: given("door | push")}
			if n > 0 {
				w.failAt = from + n
				resp, err := w.Summarize(ctx, r)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.ErrorIs(t, err, errDown)
				require.ErrorIs(t, testkit.Failed(resp.Report), backends.ErrUnavailable, "the report names it")
				assert.Empty(t, resp.Memories)
				assert.Equal(t, before, w.version(), "nothing was stored")
				w.failAt, from = 0, len(w.of(""))
			}
			resp, err := w.Summarize(ctx, r)
			require.NoError(t, err)
			switch asked := len(w.of("")) - from; n {
			case 0: // none failed
				calls = asked
			case calls:
				assert.Equal(t, 1, asked, "what was answered is not asked again")
			}
			assert.Len(t, resp.Memories, 4)
			assert.ElementsMatch(t, []string{what(pages) + " Then stop.", what(login), "knock", "push"}, w.active())
		})
	}
	assert.Equal(t, 5, calls)
}

// The same of the store, whichever call it is, once and for good: nothing is deleted
// before its replacement is stored.
func TestAnOutageOfTheStoreAtEachCall(t *testing.T) {
	full := fmt.Errorf("disk full: %w", backends.ErrUnavailable)
	for name, call := range map[string]func(w *world, id string) error{
		"summarize": func(w *world, _ string) error {
			resp, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, pagesNear, login)}, IdempotencyKey: "k"})
			if err != nil && !errors.Is(testkit.Failed(resp.Report), backends.ErrUnavailable) {
				return errors.New("the report does not say so")
			}
			return err
		},
		"record": func(w *world, id string) error {
			_, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{id}})
			return err
		},
		"forget": func(w *world, _ string) error {
			_, err := w.Forget(ctx, &ForgetRequest{Scope: shop, Rule: Rule{MaxUtility: 1}})
			return err
		},
		"retrieve": func(w *world, _ string) error {
			_, err := w.Retrieve(ctx, &RetrieveRequest{Scope: shop, Query: "api"})
			return err
		},
	} {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, for good: %t", name, forGood), func(t *testing.T) {
				var want []string
				for n, reached := -1, true; reached; n++ { // -1: nothing fails
					spy := testkit.Spy(testkit.SQLite(t))
					w := open(t, on(spy), embedded(&testkit.Embedder{Dim: 64}), func(s *setup) { s.Duplicate = 0.8 }).deciding(merging)
					id := w.summarize(pages).Memories[0].ID
					_, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{id}})
					require.NoError(t, err)
					before := w.version()
					failed := false
					spy.Arm(func(c *testkit.StoreCall) error {
						if n < 0 || c.N < n || c.N > n && !forGood {
							return nil
						}
						failed = true
						return full
					})
					err = call(w, id)
					spy.Arm(nil) // before failed is read: an index may still be loading
					reached = failed || n < 0
					if !failed {
						require.NoError(t, err)
						want = w.active()
						continue
					}
					require.ErrorIs(t, err, backends.ErrUnavailable, "call %d", n)
					require.NotErrorIs(t, err, backends.ErrNotFound)
					require.Equal(t, before, w.version(), "call %d: nothing was written", n)
					require.NoError(t, call(w, id))
					require.Equal(t, want, w.active(), "call %d: after the repeat", n)
				}
			})
		}
	}
}

func TestAnOutageOfTheEmbedderStoresNothing(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	w := open(t, embedded(e), func(s *setup) { s.Duplicate = 0.8 }).deciding(merging)
	w.summarize(pages)
	before := w.version()
	e.Err = errDown
	resp, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, pagesNear)}})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Error(t, testkit.Failed(resp.Report))
	assert.Equal(t, before, w.version())
	found := w.retrieve(RetrieveRequest{Query: "paginated results"})
	assert.Len(t, found.Hits, 1, "words alone still find it")
	require.ErrorIs(t, found.Degraded, errDown)
	e.Err = nil
	assert.Equal(t, "superseded", outcomes(w.summarize(pagesNear)))
}

// What the model answered is not thrown away with a request that fails at its end.
func TestAnEmbedderThatFailsAtTheEndCostsNoCallTwice(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	w := open(t, embedded(e))
	w.says["Success"] = func(q asked) string {
		e.Err = errDown
		return w.answer(asked{user: q.user})
	}
	ts := []Trajectory{doing("a", 1, "TEACHES "+pages), doing("b", 1, "TEACHES "+login)}
	_, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: ts})
	require.ErrorIs(t, err, errDown)
	require.Len(t, w.of(""), 3)
	_, err = w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: ts})
	require.ErrorIs(t, err, errDown)
	assert.Len(t, w.of(""), 3, "the embedder is tried before the model is asked")

	e.Err = nil
	delete(w.says, "Success")
	resp, err := w.Summarize(ctx, &SummaryRequest{Scope: backends.Scope{Workspace: "inn"}, Trajectories: ts})
	require.NoError(t, err)
	assert.Equal(t, 3, resp.Report.Usage.ModelCalls, "another workspace is another request")
	first := w.learn(SummaryRequest{Trajectories: ts})
	assert.Zero(t, first.Report.Usage.ModelCalls)
	assert.Equal(t, []string{what(pages), what(login)}, textsOf(first.Memories))
	assert.Equal(t, "a", first.Memories[0].Metadata[metaTaskID])
	w.learn(SummaryRequest{Trajectories: ts, Metadata: map[string]any{"run": "2"}})
	assert.Len(t, w.of(""), 9, "what is stored is not kept besides")
}

func TestLimitsEndARequest(t *testing.T) {
	w := open(t, func(s *setup) { s.Limits = ask.Limits{Calls: 1} })
	resp, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, login)}})
	require.ErrorIs(t, err, ask.ErrLimit)
	assert.Equal(t, 1, resp.Report.Usage.ModelCalls)
	assert.Empty(t, w.active())
	require.ErrorIs(t, testkit.Stage(resp.Report, stageJudge).Err, ask.ErrLimit)
}

// A failure stops what a request spends: no judge is asked about what will not be stored,
// and no question is begun.
func TestAFailureEndsTheOtherQuestions(t *testing.T) {
	var calls atomic.Int32
	w := open(t, func(s *setup) {
		s.model = testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
			if calls.Add(1) == 1 {
				return nil, errDown
			}
			<-ctx.Done() // until the failure ends the question
			return nil, ctx.Err()
		})
	})
	var many []Trajectory
	for i := range 200 {
		many = append(many, doing(fmt.Sprint(i), 1, "key"))
	}
	resp, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: many})
	require.ErrorIs(t, err, errDown)
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageSuccess).Failed, "those that were cut off did not fail")
	assert.LessOrEqual(t, calls.Load(), int32(16), "no further question was asked")
}

// What learning from sixteen attempts at eight tasks costs: -v shows it.
func TestWhatASummaryCosts(t *testing.T) {
	var ts []Trajectory
	for i := range 16 {
		tr := doing(fmt.Sprint("task ", i/2), float64(i%2), fmt.Sprintf("attempt %d begins", i))
		for k := range 8 {
			tr.Messages = append(tr.Messages, schema.ToolMessage(fmt.Sprintf("shelf %d of attempt %d: ", k, i)+strings.Repeat("a blue kettle, a red one, and a lid; ", 25), ""))
		}
		tr.Messages = append(tr.Messages, schema.AssistantMessage(fmt.Sprintf("TEACHES When buyer %d%d asks for kettle %d | Ask for colour c%d before price p%d is named.", i*7, i*13, i, i*31, i*17), nil))
		ts = append(ts, tr)
	}
	for how, c := range map[string]struct{ calls, tokens, again int }{ // how soon the others stop is up to the scheduler
		"all is well": {30, 90_000, 0}, "the embedder is down": {0, 0, 0},
		"the model fails": {24, 62_000, 24}, "the model answers garbage": {32, 84_000, 32}, "the judge answers garbage": {32, 110_000, 8},
	} {
		e := &testkit.Embedder{Dim: 64}
		w := open(t, embedded(e))
		if how == "the embedder is down" {
			e.Err = errDown
		}
		var calls, tokens atomic.Int64
		m, err := ask.New(&ask.Config{Name: "test", Concurrency: 4, Model: testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			calls.Add(1)
			tokens.Add(int64(text.Tokens(in[0].Content) + text.Tokens(in[1].Content)))
			switch {
			case how == "the model fails":
				return nil, errDown
			case how == "the model answers garbage", how == "the judge answers garbage" && (len(o.Tools) == 0 || o.Tools[0].Name == "judge_experiences"): // asked again it has no tool
				return schema.AssistantMessage("I have no idea", nil), nil
			}
			return w.reply(ctx, in, o)
		})})
		require.NoError(t, err)
		w.model = m
		for run, most := range []int{c.calls, c.again} {
			calls.Store(0)
			tokens.Store(0)
			_, err = w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: ts})
			t.Logf("%s, run %d: %d requests, %d tokens of prompts: %v", how, run+1, calls.Load(), tokens.Load(), err)
			assert.Equal(t, how == "all is well", err == nil, how)
			assert.LessOrEqual(t, calls.Load(), int64(most), how)
			assert.LessOrEqual(t, tokens.Load(), int64(c.tokens), how)
		}
	}
}

func TestAPanicBesideTheCallerIsAnError(t *testing.T) {
	w := open(t)
	w.summarize(pages)
	w.says["Success"] = func(asked) string { panic("wild") }
	_, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, login)}})
	require.ErrorContains(t, err, "wild")
	assert.Equal(t, []string{what(pages)}, w.active())
}

// Learning, counting, forgetting and asking at the same time: nothing is stored twice,
// nothing fails, and what is asked for is there.
func TestAllAtTheSameTime(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		worlds := []*world{open(t, on(st)).deciding(merging), open(t, on(st)).deciding(merging)}
		var all sync.WaitGroup
		for i := range 4 {
			w := worlds[i%2]
			all.Go(func() {
				for j := range 4 {
					_, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, fmt.Sprintf("sorting %d | Put %d apart.", j, j), login)}})
					assert.NoError(t, err)
				}
			})
			all.Go(func() {
				for range 4 {
					found, err := w.Retrieve(ctx, &RetrieveRequest{Scope: shop, Query: "sorting after a login is refused", TopK: 3})
					if !assert.NoError(t, err) {
						return
					}
					_, err = w.Record(ctx, &RecordRequest{Scope: shop, IDs: found.IDs(), AllUseful: true})
					assert.NoError(t, err)
					_, err = w.Forget(ctx, &ForgetRequest{Scope: shop})
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		texts := worlds[0].active()
		assert.Contains(t, texts, what(login))
		seen := map[string]bool{}
		for _, s := range texts {
			assert.False(t, seen[s], s)
			seen[s] = true
		}
	})
}

func TestWaitingToStoreEndsWithTheContext(t *testing.T) {
	spy := testkit.Spy(testkit.SQLite(t))
	w := open(t, on(spy))
	c, cancel := context.WithCancel(ctx)
	unlock, err := w.storing.Lock(ctx, inn)
	require.NoError(t, err)
	w.says["Judge"] = func(q asked) string {
		cancel()
		return `{"judgements":[{"candidate":1,"is_valid":true,"score":1}]}`
	}
	_, err = w.Summarize(c, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, login)}})
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	assert.Equal(t, "added", outcomes(w.summarize(login)))
	_, err = w.Summarize(c, &SummaryRequest{Scope: shop, Candidates: given(pages)})
	require.ErrorIs(t, err, context.Canceled)
}

const secret = "hunter2"

// A secret is redacted from everything that is stored and everything that a model is
// shown, whichever way it came.
func TestASecretIsNowhere(t *testing.T) {
	taught := func(n int) string {
		return fmt.Sprintf("When %s is asked for the %d. time | Say %s %d times, then wait.", secret, n, secret, n)
	}
	trajectory := func(score float64, taught ...string) Trajectory {
		tr := attempted(score, taught...)
		tr.TaskID, tr.Query, tr.Metadata = "log in as "+secret, "enter "+secret, map[string]any{NoteKey: "thanks to " + secret}
		tr.Messages[0].Name = secret
		tr.Messages = append(tr.Messages, schema.ToolMessage("the password is "+secret, "c1"))
		return tr
	}
	w := open(t, func(s *setup) {
		s.redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	}).deciding(func(fresh, known string) (string, string, string) {
		return "merge", "login", known + " And " + secret + " " + fresh
	})
	w.says["Query"], w.says["Rewrite"], w.says["Rerank"] = says("asking for "+secret), says("advice"), says(`{"ranked_indices":[0]}`)
	w.learn(SummaryRequest{Trajectories: []Trajectory{trajectory(1, taught(1)), trajectory(0, taught(2))}})
	w.learn(SummaryRequest{Trajectories: []Trajectory{trajectory(1, taught(3))}, Simple: true})
	w.learn(SummaryRequest{Candidates: []backends.Memory{{
		WhenToUse: "login " + secret, Text: "say " + secret,
		Metadata: object{metaTags: []string{secret}, metaTaskID: secret, secret: []any{object{"why": secret}}, "run": "the candidate's"},
	}}, Metadata: map[string]any{"note": secret, "list": []string{secret}, "typed": map[string]string{"k": secret}, "run": "the caller's"}, Author: secret})
	assert.Equal(t, "the caller's", w.find("say ***").Metadata["run"])
	_, err := w.Retry(ctx, &RetryRequest{
		Scope: shop, TaskID: secret, Query: "ask for " + secret,
		Run: func(_ context.Context, a *Attempt) (*Trajectory, error) {
			tr := trajectory(float64(a.N-1), taught(3+a.N))
			return &tr, nil
		},
	})
	require.NoError(t, err)
	w.put(backends.Memory{ID: "old", WhenToUse: "asking for *** in ***", Text: strings.Repeat("x", 1990) + secret + strings.Repeat("y", 2000)}) // from before there was redaction
	found := w.retrieve(RetrieveRequest{Rerank: true, Rewrite: true, TopK: 1, Query: "asking for a login with " + secret})
	assert.NotContains(t, found.Query, secret)
	require.NotEmpty(t, w.of("Rerank"))
	require.Contains(t, w.of("Rerank")[0].user, "xxx***", "what is shortened is redacted first")
	require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: "old"}))

	for _, step := range []string{"Success", "Failure", "Comparative", "Simple", "Judge", "Duplicates", "Rerank", "Rewrite"} {
		require.NotEmpty(t, w.of(step), step)
	}
	for _, q := range w.of("") {
		assert.NotContains(t, q.user, secret, q.step)
	}
	all, err := w.keeper.All(ctx, inn)
	require.NoError(t, err)
	for _, m := range all {
		events, err := w.keeper.History(ctx, inn, m.ID)
		require.NoError(t, err)
		assert.NotContains(t, encoded(events)+encoded(m), secret)
	}
}

func TestAnEmbedderIsShownNoSecret(t *testing.T) {
	var shown []string
	e := &testkit.Embedder{Vector: func(s string) []float64 {
		shown = append(shown, s)
		return []float64{1, float64(len(s))}
	}}
	w := open(t, embedded(e), func(s *setup) { s.redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") } })
	w.learn(SummaryRequest{Candidates: given("login with " + secret + " | say " + secret)})
	w.retrieve(RetrieveRequest{Query: "login with " + secret})
	require.NotEmpty(t, shown)
	assert.NotContains(t, strings.Join(shown, "\n"), secret)
}

func TestWhatRedactionLeavesNothingOfIsNotStored(t *testing.T) {
	w := open(t, func(s *setup) { s.redact = func(text string) string { return strings.ReplaceAll(text, "hush", "") } })
	resp := w.learn(SummaryRequest{Candidates: given("hush | say it", "say it | hush", pages)})
	assert.Len(t, resp.Items, 1)
	w.decide = func(string, string) (string, string, string) { return "merge", "when", "hush" }
	w.summarize(pagesNear)
	assert.Equal(t, []string{what(pages), what(pagesNear)}, w.active(), "a merge of which nothing is left is none")
}
