// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testmodel"
)

// long asks for the full sizes.
var long = os.Getenv("EINOMEM_LONG") == "1"

// deed is a call of the public API that may fail anywhere.
type deed struct {
	call func(ctx context.Context, b *reme.Backend) error
	// halves says that it is more than one write, each of which may be done without the
	// next: the repeat under the same key does the rest.
	halves bool
	// bears says that some failures are no error of the call: what it came for is done.
	bears bool
}

func calls(n int, id string) []toolmem.Call {
	out := make([]toolmem.Call, n)
	for i := range out {
		out[i] = toolmem.Call{ID: fmt.Sprint(id, i), Tool: []string{"search", "搜索"}[i%2], Input: fmt.Sprint("tea ", i), Output: "ten shops", Time: annual}
	}
	return out
}

func said(text string) []backends.Message { return turn("t7", schema.UserMessage(text)) }

// attempted is a trajectory that teaches a lesson.
func attempted(when, what string, score float64) trajectory.Trajectory {
	return trajectory.Trajectory{TaskID: when, Score: score, Observed: annual, Messages: []*schema.Message{
		schema.UserMessage("do it"), schema.AssistantMessage("LESSON "+when+" | "+what, nil),
	}}
}

func only[T any](_ T, err error) error { return err }

// deeds are the calls of the API, by name.
func deeds() map[string]deed {
	const lines = `{"workspace_id":"lab","memory_id":"m1","memory_type":"task","when_to_use":"packing tea","content":"keep it dry","score":0.5}` + "\n"
	return map[string]deed{
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
		"Add what is said": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("FACT ann lives in Hangzhou"), IdempotencyKey: "k"}))
		}},
		"Add verbatim": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("我对花生过敏"), Verbatim: true, IdempotencyKey: "k"}))
		}},
		"Add experience": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("ask for the colour first"), Verbatim: true, Kind: backends.KindTask}))
		}},
		"RecordOutcome": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: ann, Turn: "logged", Score: 1}))
		}},
		"Task.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []trajectory.Trajectory{
				attempted("selling tea", "weigh it twice", 1), attempted("selling tea", "never guess", 0),
			}}))
		}},
		"Task.Record": {call: func(ctx context.Context, b *reme.Backend) error {
			ids, err := lessons(ctx, b)
			if err != nil {
				return err
			}
			return only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: ids, AllUseful: true, IdempotencyKey: "k"}))
		}},
		"Task.Forget": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, Rule: &task.Rule{MinUses: 1, MaxUtility: 0.5}}))
		}},
		"Task.Retry": {halves: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Task().Retry(ctx, &task.RetryRequest{Scope: ann, Query: "refunding an order", IdempotencyKey: "k",
				Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
					t := attempted("retrying", "try again", float64(min(a.N-1, 1)))
					return &t, nil
				}}))
		}},
		"Personal.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Personal().Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: said("FACT ann lives in Hangzhou")}))
		}},
		"Personal.Verbatim": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Personal().Verbatim(ctx, &personal.SummaryRequest{Scope: ann, Messages: said("我住在杭州")}))
		}},
		"Tools.Record": {bears: true, call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Record(ctx, &toolmem.RecordRequest{Scope: ann, Calls: calls(3, "new")}))
		}},
		"Tools.Summarize": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Tools().Summarize(ctx, &toolmem.SummaryRequest{Scope: ann, Force: true}))
		}},
		"Library.Load": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Load(ctx, &library.LoadRequest{Scope: ann, Mode: library.Merge}, strings.NewReader(lines)))
		}},
		"Library.Copy": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Copy(ctx, &library.CopyRequest{From: ann, To: copied}))
		}},
		"Library.Delete": {call: func(ctx context.Context, b *reme.Backend) error {
			return only(b.Library().Delete(ctx, &library.DeleteRequest{Scope: ann}))
		}},
		"DeleteAll": {call: func(ctx context.Context, b *reme.Backend) error {
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
	}
}

var copied = backends.Scope{Workspace: "copy"}

// lessons returns the ids of the task memories.
func lessons(ctx context.Context, b *reme.Backend) ([]string, error) {
	found, err := b.List(ctx, &backends.ListRequest{Scope: backends.Scope{Workspace: "lab"}, Kinds: []backends.Kind{backends.KindTask}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range found.Memories {
		ids = append(ids, found.Memories[i].ID)
	}
	return ids, nil
}

// lived puts something of each kind into the memory.
func lived(t *testing.T, db store.Store) {
	t.Helper()
	b, _ := newBackend(t, db, reading)
	ctx := t.Context()
	learnt, err := b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []trajectory.Trajectory{refund(1)}})
	require.NoError(t, err)
	require.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: []string{learnt.Memories[0].ID}})))
	require.NoError(t, only(b.Personal().Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: said("FACT ann drinks tea")})))
	require.NoError(t, only(b.Tools().Record(ctx, &toolmem.RecordRequest{Scope: ann, Calls: calls(2, "old")})))
	logged(t, db, turn("logged", schema.UserMessage("Sell order 9"), schema.AssistantMessage("LESSON selling an order | ask for the colour", nil)))
}

// state is all that can be seen of the partitions, without ids and times.
func state(t testing.TB, db store.Store) []string {
	t.Helper()
	var out []string
	for _, s := range []backends.Scope{{UserID: "ann"}, {Workspace: "lab"}, copied} {
		p, err := s.Partition(map[bool]backends.PartitionKind{true: backends.PartitionUser, false: backends.PartitionWorkspace}[s.UserID != ""])
		require.NoError(t, err)
		all, err := db.Changes(t.Context(), p, "")
		require.NoError(t, err)
		for i := range all.Records {
			m := &all.Records[i]
			out = append(out, fmt.Sprintln(p, m.Kind, m.WhenToUse, m.Text, m.Active(), m.Metadata[task.MetaFreq], m.Metadata[task.MetaUtility], m.Metadata[task.MetaCorroborated]))
		}
	}
	p, err := ann.Speaker()
	require.NoError(t, err)
	session, err := db.Session(t.Context(), p, "s1")
	require.NoError(t, err)
	out = append(out, fmt.Sprintln("learnt up to", session.Watermark))
	for _, tool := range []string{"search", "搜索"} {
		b, _ := newBackend(t, db, reading)
		got, err := b.Tools().Retrieve(t.Context(), &toolmem.RetrieveRequest{Scope: ann, Tools: []string{tool}})
		require.NoError(t, err)
		out = append(out, fmt.Sprintln(tool, got.Tools[0].Statistics.Total))
	}
	slices.Sort(out)
	return out
}

// disasters are the ways in which call n of the store goes wrong.
var disasters = map[string]func(n int) func(i int) (carriedOut, heard bool){
	"fails once":     func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i != n, true } },
	"is away":        func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i < n, true } },
	"loses a reply":  func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return true, i != n } },
	"loses all then": func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i <= n, i < n } },
}

// Whichever call of the store goes wrong, in whichever way: the error says what it
// is, nothing is half stored, and the repeat stores everything once.
func TestTheStoreFailsAtEachCallOfEachFlow(t *testing.T) {
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			want := outcomeOf(t, f)
			for disaster, fails := range disasters {
				if !long && !f.halves && disaster != "fails once" && (raced || disaster != "loses a reply") {
					continue
				}
				for n := 1; ; n++ {
					if !storeFails(t, f, fmt.Sprintf("%s, call %d", disaster, n), n, fails(n), want) {
						break
					}
				}
			}
		})
	}
}

// outcomeOf is the state after a flow of which nothing fails.
func outcomeOf(t *testing.T, f deed) []string {
	db := open(t)
	lived(t, db)
	b, _ := newBackend(t, db, reading)
	require.NoError(t, f.call(t.Context(), b))
	return state(t, db)
}

// reading configures verdicts and a time at which calls of tools are still kept, and
// tolerates what is told beside a call.
func reading(c *reme.Config) {
	c.Clock = func() time.Time { return annual.Add(time.Hour) }
	c.Task.Log = slog.New(slog.DiscardHandler)
	c.Verdict, c.OnError, c.Recorder.NoRefresh = reme.VerdictOf("submit", "passed"), nil, true
}

// storeFails reports whether there was such a call.
func storeFails(t *testing.T, f deed, what string, n int, fails func(int) (bool, bool), want []string) bool {
	db := &faulty{Store: open(t)}
	lived(t, db)
	before := state(t, db)
	b, _ := newBackend(t, db, reading)
	db.arm(fails)
	err := f.call(t.Context(), b)
	if db.disarm() < n {
		require.NoError(t, err, what)
		return false
	}
	after := state(t, db)
	if err == nil {
		require.True(t, f.bears || slices.Equal(after, want), "%s: nobody was told", what)
	} else {
		require.ErrorIs(t, err, backends.ErrUnavailable, what)
		require.NotErrorIs(t, err, backends.ErrNotFound, what)
	}
	if !slices.Equal(after, want) && !f.halves && !f.bears {
		require.Equal(t, before, after, "%s: half stored", what)
	}
	if err != nil {
		require.NoError(t, f.call(t.Context(), b), "%s: the repeat", what)
	}
	require.Equal(t, want, state(t, db), "%s: after the repeat", what)
	return true
}

// moody is a model whose call n fails, or is answered by nothing of use.
type moody struct {
	*testmodel.Learner
	count *int
	at    int
	say   func() (*schema.Message, error)
}

func (m *moody) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := m.Learner.WithTools(tools)
	return &moodyTool{inner, m}, err
}

type moodyTool struct {
	model.ToolCallingChatModel
	mood *moody
}

func (m *moodyTool) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if *m.mood.count++; m.mood.at > 0 && *m.mood.count >= m.mood.at {
		return m.mood.say()
	}
	return m.ToolCallingChatModel.Generate(ctx, in, opts...)
}

// Whichever call of the model fails, from then on: nothing is stored, and the repeat
// stores everything once.
func TestTheModelFailsAtEachCallOfEachFlow(t *testing.T) {
	moods := map[string]struct {
		say  func() (*schema.Message, error)
		want error
	}{
		"is away":     {func() (*schema.Message, error) { return nil, errors.New("503") }, backends.ErrUnavailable},
		"says hello":  {func() (*schema.Message, error) { return schema.AssistantMessage("Hello!", nil), nil }, backends.ErrModel},
		"is silent":   {func() (*schema.Message, error) { return schema.AssistantMessage("", nil), nil }, backends.ErrModel},
		"is no model": {func() (*schema.Message, error) { return nil, nil }, backends.ErrUnavailable},
	}
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			want := outcomeOf(t, f)
			for mood, say := range moods {
				if raced && !long && mood != "is away" {
					continue
				}
				for n := 1; ; n++ {
					what := fmt.Sprintf("%s from call %d on", mood, n)
					db := open(t)
					lived(t, db)
					before, count := state(t, db), 0
					m := &moody{Learner: &testmodel.Learner{}, count: &count, at: n, say: say.say}
					b, _ := newBackend(t, db, func(c *reme.Config) {
						reading(c)
						c.Model, c.Limits.Concurrency = m, 1
					})
					err := f.call(t.Context(), b)
					if count < n {
						require.NoError(t, err, what)
						break
					}
					if err == nil {
						require.True(t, f.bears, "%s: nobody was told", what)
						continue
					}
					require.ErrorIs(t, err, say.want, what)
					if !f.halves || strings.HasPrefix(name, "Add") {
						require.Equal(t, before, state(t, db), "%s: half stored", what)
					}
					m.at = 0
					require.NoError(t, f.call(t.Context(), b), what)
					require.Equal(t, want, state(t, db), "%s: after the repeat", what)
				}
			}
		})
	}
}

// An embedder that fails stores nothing, and takes nothing away: words still find
// what is there, and the answer says what was missing.
func TestTheEmbedderFailsInEachFlow(t *testing.T) {
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			e := &testmodel.Embedder{Dim: 32}
			with := func(c *reme.Config) { reading(c); c.Embedder, c.EmbeddingModel = e, "hash" }
			db := open(t)
			lived(t, db)
			b, _ := newBackend(t, db, with)
			require.NoError(t, only(b.Reembed(t.Context(), ann)))
			before := state(t, db)
			e.Err = errors.New("429")
			err := f.call(t.Context(), b)
			if err == nil { // it embedded nothing, or does without
				e.Err = nil
				require.Equal(t, outcomeOf(t, f), state(t, db))
				return
			}
			require.ErrorIs(t, err, backends.ErrUnavailable)
			if !f.halves {
				require.Equal(t, before, state(t, db), "half stored")
			}
			e.Err = nil
			require.NoError(t, f.call(t.Context(), b))
			require.Equal(t, outcomeOf(t, f), state(t, db))
		})
	}
}

// What a dump says is whole: one that cannot be read, or written, is an error.
func TestADumpIsWholeOrAnError(t *testing.T) {
	db := &faulty{Store: open(t)}
	lived(t, db)
	for n := 1; ; n++ {
		b, _ := newBackend(t, db, reading)
		db.arm(disasters["is away"](n))
		var out bytes.Buffer
		_, err := b.Library().Dump(t.Context(), &library.DumpRequest{Scope: ann, Format: library.ReMe}, &out)
		if db.disarm() < n {
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(out.String(), "\n"), "the lesson: nobody asked for guidelines")
			return
		}
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
}
