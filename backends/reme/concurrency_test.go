// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// onEachStore runs a test on SQLite and on the Redis servers that there are.
func onEachStore(t *testing.T, test func(t *testing.T, db store.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t)) })
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		test(t, testkit.Redis(t, open(t)))
	})
}

// Many users and workspaces learn at once through two backends on one store, under names that
// could be mistaken for each other: a user named as a workspace, separators, paths, patterns,
// letters that look the same. Each sees what is its own and its workspace's, whole, and
// nothing else; everything is counted once.
func TestManyUsersAndWorkspacesAtOnce(t *testing.T) {
	users := []string{"ann", "lab", "ann/lab", "ann:lab", "default/user/ann", "安娜", "аnn", "$(ann)", "ann\u00a0lee", "{ann}", "../ann", "ann%2Flab", strings.Repeat("x", 200), "Ann", "tool/search", "0"}
	spaces := []string{"lab", "实验室", "ann", "lab/?", "default/workspace/lab", "..", "{lab}", "Lab"}
	size := 64
	if testkit.Long() {
		size = 512
	}
	scopes := make([]backends.Scope, size)
	for n := range scopes {
		scopes[n] = backends.Scope{UserID: users[n%len(users)], SessionID: fmt.Sprint("s", n), Workspace: spaces[n%len(spaces)], AgentID: "bot"}
	}
	onEachStore(t, func(t *testing.T, db store.Store) {
		set := func(c *reme.Config) {
			quiet(c)
			c.OnError = func(_ context.Context, err error) { t.Errorf("beside a call: %v", err) }
		}
		one, _ := newBackend(t, db, set)
		two, _ := newBackend(t, db, set)
		var running sync.WaitGroup
		for n, s := range scopes {
			running.Go(func() {
				b, ctx, word := []*reme.Backend{one, two}[n%2], t.Context(), fmt.Sprintf("w%dw", n)
				learnt, err := b.Add(ctx, &backends.AddRequest{Scope: s, IdempotencyKey: "k" + word, Messages: turn("t"+word,
					schema.UserMessage("FACT this is known of "+word),
					schema.AssistantMessage("LESSON doing "+word+" | take care of "+word, []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "submit", Arguments: "{}"}}}),
					&schema.Message{Role: schema.Tool, ToolName: "submit", ToolCallID: "c", Content: `{"passed":true}`})})
				if !assert.NoError(t, err) || !assert.Len(t, learnt.Items, 2) {
					return
				}
				for range 2 { // the second is a repeat
					assert.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: s, IDs: []string{learnt.Items[0].Memory.ID}, AllUseful: true, IdempotencyKey: "u" + word})))
				}
				for i := range 3 {
					assert.NoError(t, b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: s, Calls: []backends.ToolCall{
						{ID: fmt.Sprint(word, i), Tool: "search/搜索", Arguments: fmt.Sprintf(`{"of":%q}`, word), Result: "ok " + word, Time: annual}}}))
				}
				found, err := b.Search(ctx, &backends.SearchRequest{Scope: s, Query: word, TopK: 50})
				assert.NoError(t, err)
				assert.GreaterOrEqual(t, len(found.Hits), 2, "each finds its own at once")
			})
		}
		running.Wait()
		require.NoError(t, errors.Join(one.Flush(t.Context()), two.Flush(t.Context())))

		for n, s := range scopes[:min(size, len(users))] {
			b, want, got, recorded := []*reme.Backend{two, one}[n%2], map[string]int{}, map[string]int{}, 0
			for i, o := range scopes {
				if o.UserID == s.UserID {
					want[fmt.Sprintf("this is known of w%dw", i)]++
				}
				if o.Workspace == s.Workspace {
					want[fmt.Sprintf("take care of w%dw", i)]++
					recorded += 3
				}
			}
			for _, m := range stored(t, b, s) {
				if m.Kind == backends.KindTool {
					continue
				}
				if got[m.Text]++; m.Kind == backends.KindTask {
					require.EqualValues(t, 1, m.Metadata["freq"], m.Text)
					require.EqualValues(t, 1, m.Metadata["utility"], m.Text)
				}
			}
			require.Equal(t, want, got, "%+v", s)
			tools, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: s, Tools: []string{"search/搜索"}, WithCalls: true, Last: 10_000})
			require.NoError(t, err)
			require.EqualValues(t, recorded, tools.Tools[0].Statistics.Total, "no call is lost, none twice: %+v", s)
		}
		for _, stranger := range []backends.Scope{{UserID: "an", Workspace: "la"}, {UserID: "ANN", Workspace: "LAB"}, {UserID: "实验室", Workspace: "安娜"}, {Namespace: "other", UserID: "ann", Workspace: "lab"}} {
			require.Empty(t, stored(t, one, stranger))
			assert.Empty(t, find(t, two, stranger, "this is known of w0w, take care of w0w"))
		}
	})
}

// The same experience is learnt, the same memory counted, and calls of the same tool recorded, all
// at once: one memory, exact counts, no call lost.
func TestTheSameIsLearntAtOnce(t *testing.T) {
	const times = 64
	db := open(t)
	one, _ := newBackend(t, db, quiet)
	two, _ := newBackend(t, db, quiet)
	first, err := one.Task().Summarize(t.Context(), summary(ann, attempted("packing", "wrap it twice", 1)))
	require.NoError(t, err)
	id := first.Memories[0].ID
	var running sync.WaitGroup
	for n := range times {
		running.Go(func() {
			b, ctx := []*reme.Backend{one, two}[n%2], t.Context()
			scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint(n), Workspace: "lab"}
			assert.NoError(t, only(b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: worked("same", `{"passed":true}`), IdempotencyKey: fmt.Sprint(n)})))
			assert.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: []string{id}, AllUseful: n%2 == 0})))
			assert.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: scope, Calls: []tool.Call{{ID: fmt.Sprint(n), Tool: "t", Input: "same", Output: "same", Time: annual}, {ID: "of all", Tool: "t", Input: "x", Output: "y", Time: annual}}})))
			assert.NoError(t, only(b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "refunding tea"})))
		})
	}
	running.Wait()
	held := stored(t, one, backends.Scope{Workspace: "lab"})
	require.Len(t, held, 2)
	assert.EqualValues(t, times, held[id].Metadata["freq"])
	assert.EqualValues(t, times/2, held[id].Metadata["utility"])
	assert.Equal(t, []string{"ann sells tea"}, find(t, two, ann, "tea", backends.KindPersonal))
	tools, err := two.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}, Last: 1000})
	require.NoError(t, err)
	assert.EqualValues(t, times+1, tools.Tools[0].Statistics.Total)
}

// A backend is closed while it is called: each call is done or refused, and what was accepted
// of tools is stored.
func TestCloseDuringCalls(t *testing.T) {
	db := open(t)
	closing, _ := newBackend(t, db, quiet)
	var running sync.WaitGroup
	var recorded, learnt atomic.Int64
	for n := range 64 {
		running.Go(func() {
			scope := backends.Scope{UserID: fmt.Sprint("u", n), Workspace: "lab"}
			if err := only(closing.Add(t.Context(), &backends.AddRequest{Scope: scope, Messages: said("FACT tea is sold")})); err == nil {
				learnt.Add(1)
			} else {
				assert.ErrorIs(t, err, backends.ErrUnavailable)
			}
			if err := closing.RecordCalls(t.Context(), &backends.RecordCallsRequest{Scope: scope, Calls: []backends.ToolCall{{ID: fmt.Sprint(n), Tool: "t", Arguments: "{}", Result: "ok", Time: annual}}}); err == nil {
				recorded.Add(1)
			} else {
				assert.ErrorIs(t, err, backends.ErrUnavailable)
			}
		})
		if n == 32 {
			running.Go(func() { assert.NoError(t, closing.Close(t.Context())) })
		}
	}
	running.Wait()
	b, _ := newBackend(t, db, quiet)
	found := 0
	for n := range 64 {
		found += len(find(t, b, backends.Scope{UserID: fmt.Sprint("u", n)}, "tea is sold"))
	}
	assert.EqualValues(t, learnt.Load(), found)
	if recorded.Load() > 0 {
		tools, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}, Last: 1000})
		require.NoError(t, err)
		assert.EqualValues(t, recorded.Load(), tools.Tools[0].Statistics.Total)
	}
}

// While agents learn, count, record and search, libraries are loaded over the workspace, and it
// is copied, dumped and pruned: each call succeeds or returns a conflict, each dump is of one
// moment, and in the end the workspace holds one library whole.
func TestAWorkspaceIsLoadedWhileAgentsLearn(t *testing.T) {
	const memories = 40
	db := open(t)
	one, _ := newBackend(t, db, quiet)
	two, _ := newBackend(t, db, quiet)
	load(t, one, ann, lines("first", memories))
	library := regexp.MustCompile(`do step \d+ of (\w+)`)
	libraries := func(dump string) map[string]int { // how many memories of each the dump has
		out := map[string]int{}
		for _, m := range library.FindAllStringSubmatch(dump, -1) {
			out[m[1]]++
		}
		return out
	}
	fine := func(what string, err error) {
		if !errors.Is(err, backends.ErrConflict) || errors.Is(err, backends.ErrUnavailable) {
			assert.NoError(t, err, what)
		}
	}
	var running sync.WaitGroup
	for n := range 64 {
		running.Go(func() {
			b, ctx := []*reme.Backend{one, two}[n%2], t.Context()
			switch n % 8 {
			case 0:
				fine("load", only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann}, strings.NewReader(lines(fmt.Sprint("s", n), memories)))))
			case 1:
				var dump bytes.Buffer
				fine("dump", only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &dump)))
				for name, held := range libraries(dump.String()) {
					assert.Equal(t, memories, held, "a part of %s", name)
				}
			case 2:
				fine("copy", only(b.Library().Copy(ctx, &reme.CopyRequest{From: ann, To: backends.Scope{Workspace: fmt.Sprint("copy", n)}})))
			case 3:
				fine("forget", only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann})))
			case 4:
				fine("search", only(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "task 7 of first"})))
			case 5:
				assert.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: []tool.Call{{ID: fmt.Sprint(n), Tool: "t", Input: "x", Output: "y", Time: annual}}})))
			default:
				fine("learn", only(b.Task().Summarize(ctx, summary(ann, attempted(fmt.Sprint("task", n), fmt.Sprint("advice", n), 1)))))
			}
		})
	}
	running.Wait()
	tools, err := one.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}})
	require.NoError(t, err)
	assert.EqualValues(t, 8, tools.Tools[0].Statistics.Total, "loads leave the calls of tools alone")
	last := libraries(dump(t, two, &reme.DumpRequest{Scope: ann}))
	require.Len(t, last, 1, "a load replaces")
	for _, held := range last {
		require.Equal(t, memories, held)
	}
}

// A workspace that lives through the same on every store is the same, to the last score.
func TestAWorkspaceIsTheSameOnEveryStore(t *testing.T) {
	want := ""
	onEachStore(t, func(t *testing.T, db store.Store) {
		set := func(c *reme.Config) { c.Clock, c.Tools.NoRefresh = func() time.Time { return annual }, true }
		one, _ := newBackend(t, db, set)
		two, _ := newBackend(t, db, set)
		ctx := t.Context()
		for i, experience := range []string{"refunding an order | check the payment first", "退款 | 先核对付款", "shipping tea abroad | fill in form 7"} {
			when, what, _ := strings.Cut(experience, " | ")
			require.NoError(t, only(one.Task().Summarize(ctx, summary(ann, attempted(when, what, float64(i%2))))))
		}
		found, err := two.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "refunding an order of tea 退款", TopK: 10})
		require.NoError(t, err)
		require.Len(t, found.Hits, 3)
		var running sync.WaitGroup
		for i := range 100 {
			running.Go(func() {
				b := []*reme.Backend{one, two}[i%2]
				assert.NoError(t, only(b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: found.IDs()[:1], AllUseful: i%4 == 0, IdempotencyKey: fmt.Sprint("use ", i)})))
				assert.NoError(t, b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: ann, Calls: []backends.ToolCall{{ID: fmt.Sprint("call ", i), Tool: "ship/海运", Arguments: `{"to":"x"}`, Result: "ok", Time: annual.Add(time.Duration(i) * time.Second)}}}))
			})
		}
		running.Wait()
		require.NoError(t, errors.Join(one.Flush(ctx), two.Flush(ctx)))
		require.NoError(t, only(one.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Tools: []string{"ship/海运"}, Force: true})))
		forgotten, err := two.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, DryRun: true})
		require.NoError(t, err)
		require.Len(t, forgotten.Deleted, 1)

		got := fmt.Sprintln(forgotten.Deleted[0].ID, forgotten.Deleted[0].Metadata)
		copied := backends.Scope{Workspace: "copy"}
		require.NoError(t, only(one.Library().Copy(ctx, &reme.CopyRequest{From: ann, To: copied})))
		for _, s := range []backends.Scope{ann, copied} {
			resp, err := two.Search(ctx, &backends.SearchRequest{Scope: s, Query: "order, tea, 退款, ship", TopK: 10})
			require.NoError(t, err)
			require.Len(t, resp.Hits, 4)
			for i := range resp.Hits {
				h := &resp.Hits[i]
				got += fmt.Sprintf("%s %.9f %q %v %v\n", h.ID, h.Score, h.Text, h.Metadata["freq"], h.Metadata["utility"])
			}
		}
		if want == "" {
			want = got
		}
		assert.Equal(t, want, got)
	})
}

// In one user's partition mem0 and reme learn the same things, each for itself: neither takes
// what the other knows for its own, shows it to its model, replaces or deletes it. Neither
// does so with core blocks.
func TestMem0AndCoreBlocksLiveBesideReMe(t *testing.T) {
	db := open(t)
	user, workspace := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "lab"}
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, facts.Close(context.Background())) })
	remember := func(text, author string) { // with an author as a fact, else as what was said
		require.NoError(t, only(facts.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: author, Messages: turn("m/"+text, schema.UserMessage(text))})))
	}
	remember("ann drinks tea", "agent")
	remember("ann sells tea in Suzhou", "")
	blocks, err := core.New(&core.Config{Records: db, Blocks: []core.Block{{Name: "human"}, {Name: "desk", Owner: backends.PartitionWorkspace}}})
	require.NoError(t, err)
	for _, block := range []string{"human", "desk"} {
		require.NoError(t, only(blocks.Set(t.Context(), &core.Edit{Scope: ann, Block: block, Text: "Ann's password is swordfish."})))
	}
	others := func() (out []string) { // all that is not reme's, to the last version
		for _, p := range []backends.Partition{user, workspace} {
			all, err := db.Changes(t.Context(), p, "")
			require.NoError(t, err)
			for i := range all.Records {
				if m := &all.Records[i].Memory; m.Kind == backends.KindFact || m.Kind == backends.KindEpisode || m.Kind == backends.KindCore {
					out = append(out, fmt.Sprint(p, m.Kind, m.ID, m.Version, m.Text, m.Active()))
				}
			}
		}
		return out
	}
	before := others()
	require.Len(t, before, 4)
	b, learner := newBackend(t, db, quiet)
	ctx := t.Context()

	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: turn("t1",
		schema.UserMessage("FACT ann drinks tea"), schema.UserMessage("FACT ann sells tea in Suzhou no more"),
		schema.AssistantMessage("LESSON selling tea | ask for the colour", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "submit", Arguments: "{}"}}}),
		&schema.Message{Role: schema.Tool, ToolName: "submit", ToolCallID: "c", Content: `{"passed":true}`})})
	require.NoError(t, err)
	for _, item := range resp.Items {
		assert.Equal(t, backends.OutcomeAdded, item.Outcome, item.Memory.Text)
	}
	require.Len(t, resp.Items, 3)
	require.NoError(t, only(b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Verbatim: true, Messages: said("ann drinks tea")}})))
	require.NoError(t, only(b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: calls(4, "c")})))
	require.NoError(t, only(b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Force: true})))
	require.NoError(t, only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, Rule: task.Rule{MaxUtility: 1}})))
	var file bytes.Buffer
	require.NoError(t, only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &file)))
	require.NoError(t, only(b.Library().Load(ctx, &reme.LoadRequest{Scope: backends.Scope{Workspace: ann.Workspace}}, &file)))
	personal := strings.NewReader(`{"memory_id":"p","memory_type":"personal","content":"ann collects stamps"}`)
	require.NoError(t, only(b.Library().Load(ctx, &reme.LoadRequest{Scope: backends.Scope{UserID: "ann"}, Merge: true}, personal)))

	for _, s := range []backends.Scope{{UserID: "ann"}, {Workspace: "lab"}} { // reme does not know the limits of core blocks
		listed, err := b.List(ctx, &backends.ListRequest{Scope: s, Kinds: []backends.Kind{backends.KindCore}})
		require.NoError(t, err)
		require.Len(t, listed.Memories, 1)
		id, text := listed.Memories[0].ID, "mine"
		require.ErrorIs(t, only(b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: id, Text: &text})), backends.ErrInvalid)
		require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: s, ID: id}), backends.ErrInvalid)
	}

	assert.Equal(t, before, others())
	assert.NotContains(t, fmt.Sprint(learner.Calls()), "swordfish")
	for _, q := range []string{"what does ann drink and sell: tea", "ann's password swordfish"} {
		found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: q, TopK: 50})
		require.NoError(t, err)
		for i := range found.Hits {
			assert.Contains(t, []backends.Kind{backends.KindPersonal, backends.KindTask, backends.KindTool}, found.Hits[i].Kind)
		}
	}

	mine := find(t, b, ann, "what does ann drink: tea", backends.KindPersonal)
	remember("ann drinks tea", "agent")
	remember("ann drinks coffee", "agent")
	found, err := facts.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "ann drinks", Kinds: []backends.Kind{backends.KindFact, backends.KindEpisode}, TopK: 50})
	require.NoError(t, err)
	assert.Len(t, found.Hits, 3, "tea once, coffee, and what was said")
	assert.Equal(t, mine, find(t, b, ann, "what does ann drink: tea", backends.KindPersonal))
}

// A backend that gets an embedder, or another one: nothing is lost, words answer, learning
// goes on, and ReembedAll is the way out.
func TestAnEmbedderComesLaterAndAnotherAfterIt(t *testing.T) {
	db := open(t)
	lived(t, db)
	with := func(name string, dim int) *reme.Backend {
		b, _ := newBackend(t, db, func(c *reme.Config) {
			quiet(c)
			c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: dim}, name
		})
		return b
	}
	const query = "refunding an order of tea"
	works := func(b *reme.Backend) {
		t.Helper()
		found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.NoError(t, err)
		require.NoError(t, found.Degraded)
		require.GreaterOrEqual(t, len(found.Hits), 2)
		for i := range found.Hits {
			assert.NotZero(t, found.Hits[i].Parts.Vector, found.Hits[i].Text)
		}
	}
	first := with("hash", 32)
	found, err := first.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
	require.NoError(t, err)
	require.Len(t, found.Hits, 2, "words find what has no vectors")
	require.NoError(t, only(first.ReembedAll(t.Context(), ann.Namespace, nil)))
	works(first)

	writes := map[string]func(*reme.Backend) error{
		"Add": func(b *reme.Backend) error { return only(b.Add(t.Context(), saying("FACT ann lives in Hangzhou"))) },
		"Task": func(b *reme.Backend) error {
			return only(b.Task().Summarize(t.Context(), summary(ann, attempted("selling tea", "weigh it", 1))))
		},
	}
	merge := func(b *reme.Backend) error {
		return only(b.Library().Load(t.Context(), &reme.LoadRequest{Scope: ann, Merge: true}, strings.NewReader(lines("a", 1))))
	}
	for name, second := range map[string]*reme.Backend{"another name": with("hash2", 32), "another size": with("hash", 16)} {
		before := state(t, db)
		err := merge(second)
		require.ErrorIs(t, err, backends.ErrDimension, name)
		require.ErrorContains(t, err, "Reembed", name)
		require.Equal(t, before, state(t, db), name)
		for write, f := range writes {
			require.NoError(t, f(second), "%s, %s: it is found by words", name, write)
		}
		found, err := second.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.NoError(t, err)
		require.ErrorIs(t, found.Degraded, backends.ErrDimension, name)
		require.NotEmpty(t, found.Hits)
		require.NoError(t, only(second.ReembedAll(t.Context(), ann.Namespace, nil)))
		works(second)
		found, err = first.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.NoError(t, err)
		require.ErrorIs(t, found.Degraded, backends.ErrDimension, "the old one reports it, too")
		require.NoError(t, only(first.ReembedAll(t.Context(), ann.Namespace, nil)))
		works(first)
	}
	require.NoError(t, merge(first))
	for write, f := range writes {
		require.NoError(t, f(first), write)
	}
	works(first)
}

// What the workspace learnt from a stretch of the log is not learnt again from parts
// of it, because what was said cannot be stored: the error says that a part may be stored.
func TestAHalfThatCannotBeStoredLeavesTheStretchInDoubt(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	e := &testkit.Embedder{Vector: func(text string) []float64 {
		if strings.Contains(text, "sells tea") && refuses.Load() {
			return []float64{0, 0} // no direction: it cannot be stored
		}
		return []float64{1, 2}
	}}
	b, _ := newBackend(t, open(t), func(c *reme.Config) { quiet(c); c.Embedder, c.EmbeddingModel = e, "m" })
	r := &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed":true}`), IdempotencyKey: "k"}
	_, err := b.Add(t.Context(), r)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorIs(t, err, backends.ErrUnavailable, "it may be repeated as it is, and not in parts")
	require.Equal(t, []string{"check the payment first"}, find(t, b, backends.Scope{Workspace: "lab"}, "refunding"))
	refuses.Store(false)
	require.NoError(t, only(b.Add(t.Context(), r)))
	assert.ElementsMatch(t, []string{"check the payment first", "ann sells tea"}, find(t, b, ann, "refunding tea"))
}
