// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// people are the users of a crowd and places their workspaces, with names that could
// run into each other: a user named as a workspace, separators, what looks like a path
// or a pattern, Chinese, and letters that look the same.
var (
	people = []string{"ann", "lab", "ann/lab", "ann:lab", "default/user/ann", "安娜", "аnn", "$(ann)", "ann\u00a0lee", "{ann}", "../ann", "ann%2Flab", strings.Repeat("x", 200), "Ann", "tool/search", "0"}
	spaces = []string{"lab", "实验室", "ann", "lab/?", "default/workspace/lab", "..", "{lab}", "Lab"}
)

// member is one of a crowd, with a word of its own that nobody else says.
type member struct {
	n     int
	scope backends.Scope
}

func (m *member) word() string { return fmt.Sprintf("w%dw", m.n) }

// crowd returns members of every user, in workspaces of every kind.
func crowd(size int) []member {
	out := make([]member, size)
	for n := range out {
		out[n] = member{n, backends.Scope{UserID: people[n%len(people)], SessionID: fmt.Sprint("s", n), Workspace: spaces[n%len(spaces)], AgentID: "bot"}}
	}
	return out
}

// lives does a bit of everything.
func (m *member) lives(ctx context.Context, t *testing.T, b *reme.Backend) {
	word := m.word()
	learnt, err := b.Add(ctx, &backends.AddRequest{Scope: m.scope, IdempotencyKey: "k" + word, Messages: turn("t"+word,
		schema.UserMessage("FACT this is known of "+word),
		schema.AssistantMessage("LESSON doing "+word+" | take care of "+word, []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "submit", Arguments: "{}"}}}),
		&schema.Message{Role: schema.Tool, ToolName: "submit", ToolCallID: "c", Content: `{"passed":true}`})})
	if !assert.NoError(t, err) || !assert.Len(t, learnt.Items, 2) {
		return
	}
	for i := range 2 { // the second is a repeat
		_, err = b.Task().Record(ctx, &task.RecordRequest{Scope: m.scope, IDs: []string{learnt.Items[0].Memory.ID}, AllUseful: true, IdempotencyKey: "u" + word})
		assert.NoError(t, err, i)
	}
	for i := range 3 {
		assert.NoError(t, b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: m.scope, Calls: []backends.ToolCall{
			{ID: fmt.Sprint(word, i), Tool: "search/搜索", Arguments: fmt.Sprintf(`{"of":%q}`, word), Result: "ok " + word, Time: annual}}}))
	}
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: m.scope, Query: word, TopK: 50})
	assert.NoError(t, err)
	assert.GreaterOrEqual(t, len(found.Hits), 2, "each finds its own at once")
}

// seesOnly checks that a member sees what belongs to its user and its workspace, whole,
// and nothing else.
func (m *member) seesOnly(t *testing.T, b *reme.Backend, all []member) {
	want := map[string]int{}
	calls := 0
	for i := range all {
		o := &all[i]
		if o.scope.UserID == m.scope.UserID {
			want["this is known of "+o.word()]++
		}
		if o.scope.Workspace == m.scope.Workspace {
			want["take care of "+o.word()]++
			calls += 3
		}
	}
	got := map[string]int{}
	list := backends.ListRequest{Scope: m.scope, Kinds: []backends.Kind{backends.KindTask, backends.KindPersonal}}
	for {
		page, err := b.List(t.Context(), &list)
		require.NoError(t, err)
		for i := range page.Memories {
			memory := &page.Memories[i]
			got[memory.Text]++
			if memory.Kind == backends.KindTask {
				require.EqualValues(t, 1, memory.Metadata[task.MetaFreq], memory.Text)
				require.EqualValues(t, 1, memory.Metadata[task.MetaUtility], memory.Text)
			}
		}
		if list.Cursor = page.Next; list.Cursor == "" {
			break
		}
	}
	require.Equal(t, want, got, "%+v", m.scope)
	tools, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: m.scope, Tools: []string{"search/搜索"}, WithCalls: true, Last: 10_000})
	require.NoError(t, err)
	require.EqualValues(t, calls, tools.Tools[0].Statistics.Total, "no call is lost, none twice: %+v", m.scope)
}

// A crowd of users and workspaces through two backends on one store: nobody sees what
// is another's, and everything is counted once.
func TestACrowdThroughTwoBackends(t *testing.T) {
	testACrowd(t, open(t))
}

func TestACrowdOnRedis(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		db, err := redisstore.New(t.Context(), open(t), &redisstore.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		testACrowd(t, db)
	})
}

func testACrowd(t *testing.T, db store.Store) {
	size := 64
	if long {
		size = 512
	}
	set := func(c *reme.Config) { settled(c); c.OnError = told(t) }
	one, _ := newBackend(t, db, set)
	two, _ := newBackend(t, db, set)
	all := crowd(size)
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() { all[i].lives(t.Context(), t, []*reme.Backend{one, two}[i%2]) })
	}
	running.Wait()
	require.NoError(t, one.Flush(t.Context()))
	require.NoError(t, two.Flush(t.Context()))
	for i := range min(size, len(people)) {
		all[i].seesOnly(t, []*reme.Backend{two, one}[i%2], all)
	}
	for _, stranger := range []backends.Scope{{UserID: "an", Workspace: "la"}, {UserID: "ANN", Workspace: "LAB"}, {UserID: "实验室", Workspace: "安娜"}, {Namespace: "other", UserID: "ann", Workspace: "lab"}} {
		none, err := one.List(t.Context(), &backends.ListRequest{Scope: stranger})
		require.NoError(t, err)
		require.Empty(t, none.Memories)
		assert.Empty(t, find(t, two, stranger, "this is known of w0w, take care of w0w"))
	}
}

// told fails the test with what is told beside a call.
func told(t *testing.T) func(context.Context, error) {
	return func(_ context.Context, err error) { t.Errorf("beside a call: %v", err) }
}

// Everybody at once learns the same, counts the same memory, and records calls of the
// same tool, while a reader asks: one memory, exact counts, no call lost.
func TestEverybodyDoesTheSameAtOnce(t *testing.T) {
	const everybody = 64
	db := open(t)
	one, _ := newBackend(t, db, settled)
	two, _ := newBackend(t, db, settled)
	first, err := one.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("packing", "wrap it twice", 1)}})
	require.NoError(t, err)
	id := first.Memories[0].ID
	var running sync.WaitGroup
	for n := range everybody {
		b := []*reme.Backend{one, two}[n%2]
		running.Go(func() {
			ctx := t.Context()
			scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint(n), Workspace: "lab"}
			_, err := b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: worked("same", `{"passed":true}`), IdempotencyKey: fmt.Sprint(n)})
			assert.NoError(t, err)
			_, err = b.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: []string{id}, AllUseful: n%2 == 0})
			assert.NoError(t, err)
			_, err = b.Tools().Record(ctx, &tool.RecordRequest{Scope: scope, Calls: []tool.Call{{ID: fmt.Sprint(n), Tool: "t", Input: "same", Output: "same", Time: annual}, {ID: "of all", Tool: "t", Input: "x", Output: "y", Time: annual}}})
			assert.NoError(t, err)
			_, err = b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "refunding tea"})
			assert.NoError(t, err)
		})
	}
	running.Wait()
	listed, err := one.List(t.Context(), &backends.ListRequest{Scope: backends.Scope{Workspace: "lab"}, Kinds: []backends.Kind{backends.KindTask}})
	require.NoError(t, err)
	require.Len(t, listed.Memories, 2)
	for i := range listed.Memories {
		if m := &listed.Memories[i]; m.ID == id {
			assert.EqualValues(t, everybody, m.Metadata[task.MetaFreq])
			assert.EqualValues(t, everybody/2, m.Metadata[task.MetaUtility])
		}
	}
	assert.Equal(t, []string{"ann sells tea"}, find(t, two, ann, "tea", backends.KindPersonal))
	tools, err := two.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}, Last: 1000})
	require.NoError(t, err)
	assert.EqualValues(t, everybody+1, tools.Tools[0].Statistics.Total)
}

// A backend that is closed while everybody calls it: each call is done or refused, and
// what was taken of tools is stored.
func TestACrowdMeetsAClosedDoor(t *testing.T) {
	db := open(t)
	closing, _ := newBackend(t, db, settled)
	var running sync.WaitGroup
	var mu sync.Mutex
	taken, learnt := 0, 0
	for n := range 64 {
		running.Go(func() {
			scope := backends.Scope{UserID: fmt.Sprint("u", n), Workspace: "lab"}
			_, added := closing.Add(t.Context(), &backends.AddRequest{Scope: scope, Messages: said("FACT tea is sold")})
			recorded := closing.RecordCalls(t.Context(), &backends.RecordCallsRequest{Scope: scope, Calls: []backends.ToolCall{{ID: fmt.Sprint(n), Tool: "t", Arguments: "{}", Result: "ok", Time: annual}}})
			for _, err := range []error{added, recorded} {
				if err != nil {
					assert.ErrorIs(t, err, backends.ErrUnavailable)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if added == nil {
				learnt++
			}
			if recorded == nil {
				taken++
			}
		})
		if n == 32 {
			running.Go(func() { assert.NoError(t, closing.Close(t.Context())) })
		}
	}
	running.Wait()
	b, _ := newBackend(t, db, settled)
	found := 0
	for n := range 64 {
		found += len(find(t, b, backends.Scope{UserID: fmt.Sprint("u", n)}, "tea is sold"))
	}
	assert.Equal(t, learnt, found)
	if taken > 0 {
		tools, err := b.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}, Last: 1000})
		require.NoError(t, err)
		assert.EqualValues(t, taken, tools.Tools[0].Statistics.Total)
	}
}
