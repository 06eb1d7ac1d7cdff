// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit"
)

// managed is a backend whose memories "1" and "2" are ann's and can be changed.
type managed struct {
	testkit.Backend
	backends.Manager // what these tests do not call
	memories         map[string]string
	ended, expires   time.Time // of all
}

func (m *managed) own(s backends.Scope, id string) error {
	if m.memories == nil {
		m.memories = map[string]string{"1": "likes tea", "2": "has a cat"}
	}
	if _, ok := m.memories[id]; !ok || s.UserID != "ann" {
		return backends.ErrNotFound
	}
	return nil
}

func (m *managed) Update(_ context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	if err := m.own(r.Scope, r.ID); err != nil {
		return nil, err
	}
	m.memories[r.ID] = *r.Text
	return &backends.Memory{ID: r.ID, Text: *r.Text}, nil
}

func (m *managed) Delete(_ context.Context, r *backends.DeleteRequest) error {
	if err := m.own(r.Scope, r.ID); err != nil {
		return err
	}
	delete(m.memories, r.ID)
	return nil
}

func (m *managed) Get(_ context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	if err := m.own(r.Scope, r.ID); err != nil {
		return nil, err
	}
	return &backends.Memory{ID: r.ID, Text: m.memories[r.ID], Invalidated: m.ended, Expires: m.expires}, nil
}

func (m *managed) List(_ context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	match, err := r.Filter.Compile()
	out := &backends.ListResponse{}
	for _, id := range slices.Sorted(maps.Keys(m.memories)) {
		if x := (backends.Memory{ID: id}); err == nil && match(&x) && m.own(r.Scope, id) == nil {
			out.Memories = append(out.Memories, x)
		}
	}
	return out, err
}

// finding answers searches by their keyword.
func finding(find func(keyword string) (*backends.SearchResponse, error)) *testkit.Backend {
	return &testkit.Backend{OnSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return find(r.Query)
	}}
}

func TestSearchRunsOneSearchForEachKeyword(t *testing.T) {
	b := finding(func(k string) (*backends.SearchResponse, error) {
		return &backends.SearchResponse{Hits: testkit.Hits(k + " one")}, nil
	})
	k := newKit(t, b)
	require.Equal(t, "- [id-tea one] tea one\n- [id-jazz one] jazz one", k.call("search_memory", `{"keywords":["tea","jazz"],"limit":3}`))
	require.ElementsMatch(t, []string{"tea", "jazz"}, b.Queries())
	for _, s := range b.Searches() {
		require.Equal(t, ann, s.Scope)
		require.Equal(t, 3, s.TopK)
	}
	k.call("search_memory", `{"keywords":["tea"]}`)
	require.Equal(t, 10, b.Searches()[2].TopK)
}

func TestSearchShowsEachMemoryOnceInTheOrderOfTheKeywords(t *testing.T) {
	first := make(chan struct{})
	b := finding(func(k string) (*backends.SearchResponse, error) {
		if k == "a" { // the first keyword answers last
			<-first
			return &backends.SearchResponse{Hits: testkit.Hits("shared", "only a")}, nil
		}
		defer close(first)
		same := testkit.Hits("only b", "shared") // the same text under another id
		same[1].ID = "other"
		return &backends.SearchResponse{Hits: same}, nil
	})
	require.Equal(t, "- [id-shared] shared\n- [id-only a] only a\n- [id-only b] only b", newKit(t, b).call("search_memory", `{"keywords":["a","b"]}`))
}

func TestSearchIsBounded(t *testing.T) {
	var running, most atomic.Int64
	b := finding(func(string) (*backends.SearchResponse, error) {
		for now := running.Add(1); now > most.Load(); {
			most.Store(now)
		}
		defer running.Add(-1)
		return &backends.SearchResponse{}, nil
	})
	out := newKit(t, b).call("search_memory", `{"keywords":[`+strings.Repeat(`"word",`, 39)+`"word"]}`)
	require.Len(t, b.Searches(), 16)
	require.LessOrEqual(t, most.Load(), int64(4))
	require.Contains(t, out, "(no relevant memories found)\n(24 keywords were left out: at most 16 a call)")

	b = &testkit.Backend{}
	for i := range 50 {
		b.Found = append(b.Found, testkit.Hits(fmt.Sprint(i, strings.Repeat("记", 5000)))...)
	}
	out = newKit(t, b).call("search_memory", `{"keywords":["a"],"limit":50}`)
	require.Less(t, len([]rune(out)), 33_000)
	require.Contains(t, out, "more memories were left out")
	require.Contains(t, out, "记…\n")
}

func TestALimitAndKeywordsInAnyShape(t *testing.T) {
	for limit, want := range map[string]int{
		`3`: 3, `"3"`: 3, `" 7 "`: 7, `3.9`: 3, `"2.5"`: 2, `1e1`: 10, `51`: 50, `9223372036854775808`: 50, `"inf"`: 50,
		`0`: 10, `-4`: 10, `null`: 10,
	} {
		b := &testkit.Backend{}
		newKit(t, b).call("search_memory", `{"keywords":["a"],"limit":`+limit+`}`)
		require.Equal(t, want, b.Searches()[0].TopK, limit)
	}
	for _, limit := range []string{`"many"`, `""`, `true`, `[3]`, `{}`, `"NaN"`, `1e999`} {
		b := &testkit.Backend{}
		out := newKit(t, b).call("search_memory", `{"keywords":["a"],"limit":`+limit+`}`)
		require.Contains(t, out, "limit: expected what its schema says, got "+limit)
		require.Empty(t, b.Searches())
	}
	for keywords, want := range map[string][]string{
		`["a"]`: {"a"}, `"a"`: {"a"}, `" a "`: {"a"}, `["a", " ", null]`: {"a"},
		`"[\"a\", \"b\"]"`: {"a", "b"}, `"[a]"`: {"[a]"}, `"[1"`: {"[1"}, `["猫","\ud800"]`: {"猫", "\uFFFD"},
	} {
		b := &testkit.Backend{}
		newKit(t, b).call("search_memory", `{"keywords":`+keywords+`}`)
		require.ElementsMatch(t, want, b.Queries(), keywords)
	}
}

func TestASearchThatFails(t *testing.T) {
	down := fmt.Errorf("reading: %w: connection refused", backends.ErrUnavailable)
	for name, c := range map[string]struct {
		find  func(keyword string) (*backends.SearchResponse, error)
		begin string
		want  []string
		fails bool
	}{
		"finds nothing": {func(string) (*backends.SearchResponse, error) { return nil, nil }, "(no relevant memories found)", nil, false},
		"all keywords": {func(string) (*backends.SearchResponse, error) { return nil, errors.New("disk on fire") },
			"Error retrieving memory: ", []string{"disk on fire", "Memory is not available now."}, true},
		"a panic": {func(string) (*backends.SearchResponse, error) { panic("boom") }, "Error retrieving memory: ", []string{"boom"}, true},
		"one keyword of two": {func(k string) (*backends.SearchResponse, error) {
			if k == "bad" {
				return nil, down
			}
			return &backends.SearchResponse{Hits: testkit.Hits("likes tea")}, nil
		}, "- [id-likes tea] likes tea\n", []string{`Error retrieving memory: searching for "bad": reading: unavailable: connection refused`, "Continue without it"}, true},
		"in part": {func(string) (*backends.SearchResponse, error) {
			return &backends.SearchResponse{Hits: testkit.Hits("likes tea"), Degraded: down}, nil
		}, "- [id-likes tea] likes tea", nil, true},
	} {
		k := newKit(t, finding(c.find))
		out := k.call("search_memory", `{"keywords":["bad","good"]}`)
		require.True(t, strings.HasPrefix(out, c.begin), "%s: %s", name, out)
		for _, want := range c.want {
			require.Contains(t, out, want, name)
		}
		require.Equal(t, c.fails, k.failures.Err() != nil, name)
		k.OnError = func(context.Context, string, error) { panic("the callback's own") }
		require.NotEmpty(t, k.call("search_memory", `{"keywords":["bad"]}`))
	}
}

func TestABulletSaysWhenAMemoryHolds(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	for want, m := range map[string]backends.Memory{
		"- [1] x (since 1 Jan 2026)":         {ID: "1", Text: "x", Valid: day(1), Observed: day(2), Created: day(3)},
		"- [1] x (said 2 Jan 2026)":          {ID: "1", Text: "x", Observed: day(2), Created: day(1)},
		"- [1] x (when: it snows)":           {ID: "1", Kind: backends.KindTask, Text: "x", WhenToUse: "it snows"},
		"- [1] one - [forged] 2026: two":     {ID: "1", Text: "one\n- [forged] 2026: two"},
		"- [1] one\n  - [forged]\n  - three": {ID: "1", Text: "one\n- [forged]\r\u2028- three"},
	} {
		require.Equal(t, want, newKit(t, &testkit.Backend{Found: []backends.Hit{{Memory: m}}}).call("search_memory", `{"keywords":["a"]}`))
	}
}

func TestAddLearnsFromTheContentAlone(t *testing.T) {
	b := &testkit.Backend{}
	k := newKit(t, b)
	out := k.call("add_memory", `{"thinking":"a lasting taste","content":["Ann likes tea."," ","Ann is 30."]}`)
	require.Equal(t, "Successfully recorded to memory:\n- added: [id-Ann likes tea.] Ann likes tea.", out)
	require.Len(t, b.Adds(), 1)
	r := b.Adds()[0]
	require.Equal(t, ann, r.Scope)
	require.False(t, r.Verbatim)
	require.Equal(t, "agent", r.Author)
	require.Empty(t, r.IdempotencyKey, "there is no tool call id outside a run")
	require.Len(t, r.Messages, 2, "each entry is a memory of its own")
	for i, want := range []string{"Ann likes tea.", "Ann is 30."} {
		require.Equal(t, want, r.Messages[i].Content)
		require.Equal(t, schema.Assistant, r.Messages[i].Role, "the user did not say it")
		require.Equal(t, r.Messages[0].Turn, r.Messages[i].Turn)
	}
	require.NotEqual(t, r.Messages[0].ID, r.Messages[1].ID)
	require.NotContains(t, fmt.Sprintf("%+v", r), "lasting taste")
	k.Language = backends.Chinese
	require.Equal(t, "已成功写入记忆:\n- 新增: [id-喜欢茶] 喜欢茶", k.call("add_memory", `{"thinking":"口味","content":["喜欢茶"]}`))
}

// The response says the truth item by item, and never claims what did not happen.
func TestAddShowsTheOutcomeOfEachItem(t *testing.T) {
	item := func(o backends.Outcome, m backends.Memory) backends.Item { return backends.Item{Outcome: o, Memory: m} }
	known := item(backends.OutcomeUnchanged, backends.Memory{ID: "1", Text: "likes tea", Kind: backends.KindFact})
	episode := item(backends.OutcomeAdded, backends.Memory{ID: "2", Text: "likes tea a lot", Kind: backends.KindEpisode})
	moved := item(backends.OutcomeSuperseded, backends.Memory{ID: "2", Text: "lives in Rome"})
	moved.Previous = &backends.Memory{ID: "1", Text: "lives in Oslo"}
	failed := item(backends.OutcomeFailed, backends.Memory{Text: "has a dog"})
	full := failed
	full.Err = errors.New("disk full")
	skipped := item(backends.OutcomeSkipped, backends.Memory{ID: "4", Text: "has a boat"})
	skipped.Err = errors.New("confirm it")
	for name, c := range map[string]struct {
		items []backends.Item
		err   error
		want  string
		fails bool
	}{
		"known":                  {items: []backends.Item{known}, want: "Successfully recorded to memory:\n- known already: [1] likes tea"},
		"the content is no echo": {items: []backends.Item{known, episode}, want: "Successfully recorded to memory:\n- known already: [1] likes tea"},
		"the content alone":      {items: []backends.Item{episode}, want: "Successfully recorded to memory:\n- added: [2] likes tea a lot"},
		"several": {items: []backends.Item{moved, item(backends.OutcomeRetracted, backends.Memory{ID: "3", Text: "has a cat"}), full}, fails: true,
			want: "Successfully recorded to memory:\n- replaced an older memory: [2] lives in Rome (before: lives in Oslo)\n- marked as no longer true: [3] has a cat\n- not recorded: has a dog (disk full)"},
		"all failed": {items: []backends.Item{failed}, fails: true, want: "Error recording memory: not stored: \"has a dog\"\nMemory is not available now. Continue without it, and do not claim to have remembered or recorded anything."},
		"skipped":    {items: []backends.Item{known, skipped}, fails: true, want: "Successfully recorded to memory:\n- known already: [1] likes tea\n- skipped: [4] has a boat (confirm it)"},
		"an error": {err: fmt.Errorf("%w: garbled", backends.ErrModel), fails: true,
			want: "Error recording memory: model output not understood: garbled\nMemory could not make sense of it. Try once more with shorter and simpler content."},
	} {
		b := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
			return &backends.AddResponse{Items: c.items}, c.err
		}}
		k := newKit(t, b)
		require.Equal(t, c.want, k.call("add_memory", `{"content":["x"]}`), name)
		require.Len(t, b.Adds(), 1, "what is known is not stored word for word")
		require.Equal(t, c.fails, k.failures.Err() != nil, name)
	}
}

func TestAddThatNothingComesOfSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		resp *backends.AddResponse
		err  error
		want string
	}{
		"empty": {&backends.AddResponse{}, nil, "Nothing was recorded"},
		"later": {&backends.AddResponse{Queued: true}, nil, "Accepted: memory will learn from it soon."},
		"partly": {&backends.AddResponse{Queued: true, Items: []backends.Item{{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "1", Text: "blue"}}}}, nil,
			"Successfully recorded to memory:\n- added: [1] blue\nAccepted: memory will learn"},
		"nil":   {nil, nil, "Nothing was recorded"},
		"fails": {nil, errors.New("disk full"), "Error recording memory: disk full"},
	} {
		b := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { return c.resp, c.err }}
		require.True(t, strings.HasPrefix(newKit(t, b).call("add_memory", `{"content":["blue"]}`), c.want), name)
		require.Len(t, b.Adds(), 1, name)
	}
}

func TestAddTakesASmallText(t *testing.T) {
	b := &testkit.Backend{}
	k := newKit(t, b)
	for entries, added := range map[string]bool{
		`"` + strings.Repeat("a", 64<<10) + `"`:                                        true,
		`"` + strings.Repeat("a", 64<<10) + `","b"`:                                    false,
		strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("茶", 5)+`",`, 5000), ","): false,
	} {
		before := len(b.Adds())
		out := k.call("add_memory", `{"content":[`+entries+`]}`)
		require.Equal(t, added, len(b.Adds()) > before)
		require.Equal(t, !added, strings.Contains(out, "at most 65536 are taken"))
		require.Less(t, len(out), 3000+len(entries)*map[bool]int{true: 1}[added])
	}
	require.Empty(t, k.failures.Stages(), "that is the model's mistake")
}

// A run that is resumed may repeat a call under its id; another run may use the id again.
func TestARepeatedCallHasTheKeyOfTheFirst(t *testing.T) {
	b := &testkit.Backend{OnAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { return nil, nil }}
	k := newKit(t, b)
	for _, call := range []struct{ session, id, content string }{
		{"s1", "call_1", "tea"}, {"s1", "call_1", "tea"}, {"s1", "call_2", "tea"}, {"s2", "call_1", "tea"}, {"s1", "call_1", "jazz"},
	} {
		k.Scope = func(context.Context) (backends.Scope, error) {
			return backends.Scope{UserID: "ann", SessionID: call.session}, nil
		}
		k.inRun(call.id, "add_memory", fmt.Sprintf(`{"content":[%q]}`, call.content))
	}
	keys := map[string]int{}
	for _, a := range b.Adds() {
		keys[a.IdempotencyKey]++
	}
	require.Len(t, b.Adds(), 5)
	require.Equal(t, b.Adds()[0].IdempotencyKey, b.Adds()[1].IdempotencyKey)
	require.Len(t, keys, 4)
	require.NotContains(t, keys, "")
}

// inRun calls a tool the way that an agent does, under the id of the model's call.
func (k *kit) inRun(id, name, arguments string) string {
	k.t.Helper()
	node, err := compose.NewToolNode(k.t.Context(), &compose.ToolsNodeConfig{Tools: []tool.BaseTool{k.tools()[name]}})
	require.NoError(k.t, err)
	out, err := node.Invoke(k.t.Context(), schema.AssistantMessage("", []schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}}))
	require.NoError(k.t, err)
	return out[0].Content
}

func TestUpdateAndDelete(t *testing.T) {
	b := &managed{}
	k := newKit(t, b)
	for _, c := range []struct{ name, arguments, want string }{
		{"update_memory", `{"id":" [1] ","content":"likes coffee"}`, "Updated memory [1]: likes coffee"},
		{"update_memory", `{"id":"9","content":"x"}`, "Error updating memory: memory \"9\": not found\nNo memory has this id. Use an id that search_memory shows."},
		{"delete_memory", `{"id":"[2]"}`, "Deleted memory [2]."},
		{"delete_memory", `{"id":"2"}`, "Error deleting memory: memory \"2\": not found\nNo memory has this id. Use an id that search_memory shows."},
	} {
		require.Equal(t, c.want, k.call(c.name, c.arguments))
	}
	k.Scope = func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "bob"}, nil }
	require.Contains(t, k.call("update_memory", `{"id":"1","content":"x","user_id":"ann"}`), "not found")
	require.Contains(t, k.call("delete_memory", `{"id":"1","scope":{"user_id":"ann"}}`), "not found")
	require.Equal(t, map[string]string{"1": "likes coffee"}, b.memories)
	require.Empty(t, k.failures.Stages(), "an id that does not exist is no failure of memory")
}

// Bullets show the end of a long id: see package note.
func TestAMemoryIsNamedByTheIDThatIsShown(t *testing.T) {
	const first, second, third = "0198c2d4-5b1a-7c3e-9f00-1a2b6c5d4e00", "0198c2d4-5b1a-7c3e-9f00-1a2b6c5d4e01", "0198c2d4-5b1a-7c3e-9f00-1a2c6c5d4e01"
	long := strings.Repeat("The whole of a long text. ", 200)
	b := &managed{memories: map[string]string{first: long, second: "two", third: "three"}}
	k := newKit(t, b)
	whole := k.call("search_memory", `{"keywords":["[5d4e00]"]}`)
	require.Equal(t, "- [5d4e00] "+strings.TrimSpace(long), whole)
	b.ended = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	require.Contains(t, k.call("search_memory", `{"keywords":["[5d4e00]"]}`), "(ended 1 Mar 2026)")
	b.expires = b.ended
	require.Equal(t, "(no relevant memories found)", k.call("search_memory", `{"keywords":["[5d4e00]"]}`))
	require.Equal(t, "Updated memory [5d4e00]: short", k.call("update_memory", `{"id":"[5d4e00]","content":"short"}`))
	require.Equal(t, "short", b.memories[first])
	for _, ambiguous := range []string{"5d4e01", "6c5d4e01"} {
		require.Contains(t, k.call("delete_memory", `{"id":"`+ambiguous+`"}`), "several memories are shown so, such as "+second+" and "+third)
	}
	require.Equal(t, "Deleted memory [c6c5d4e01].", k.call("delete_memory", `{"id":"c6c5d4e01"}`))
	require.Equal(t, "Deleted memory ["+second+"].", k.call("delete_memory", `{"id":"`+second+`"}`))
	require.Equal(t, map[string]string{first: "short"}, b.memories)
	require.Equal(t, "(no relevant memories found)", k.call("search_memory", `{"keywords":["[5d4e77]"]}`))
	k.Scope = func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "bob"}, nil }
	require.Contains(t, k.call("delete_memory", `{"id":"5d4e00"}`), "not found")
}

func TestTheToolsAreSafeForGoroutines(t *testing.T) {
	k := newKit(t, &testkit.Backend{OnSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return &backends.SearchResponse{Hits: testkit.Hits(r.Scope.UserID + "'s")}, nil
	}})
	k.Scope = func(ctx context.Context) (backends.Scope, error) {
		s, _ := backends.ScopeFrom(ctx)
		return s, nil
	}
	tools := k.tools()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			user := fmt.Sprint("user", i)
			ctx := backends.WithScope(context.Background(), backends.Scope{UserID: user})
			out, err := tools["search_memory"].InvokableRun(ctx, `{"keywords":["a","b","c"]}`)
			if err != nil || !strings.HasSuffix(out, user+"'s") || strings.Contains(out, "\n") {
				t.Errorf("%s got %q, %v", user, out, err)
			}
			if _, err := tools["add_memory"].InvokableRun(ctx, `{"content":["x"]}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A tool is called as a model would, with JSON. Whose memory it is comes from the
// context.
func ExampleNew() {
	backend := &testkit.Backend{OnSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return &backends.SearchResponse{Hits: testkit.Hits(r.Scope.UserID + " likes green tea")}, nil
	}} // any backends.Backend
	tools, err := toolkit.New(context.Background(), &toolkit.Config{
		Backend: backend,
		ToolSetup: backends.ToolSetup{Scope: func(ctx context.Context) (backends.Scope, error) {
			s, ok := backends.ScopeFrom(ctx)
			if !ok {
				return s, backends.ErrNoScope
			}
			return s, nil
		}},
	})
	if err != nil {
		panic(err)
	}
	ctx := backends.WithScope(context.Background(), backends.Scope{UserID: "ann"})
	for i, arguments := range []string{`{"keywords":["drinks"],"user_id":"bob"}`, `{"thinking":"she asked for it","content":["ann moved to Rome"]}`} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(ctx, arguments)
		fmt.Println(out, err)
	}
	// Output:
	// - [id-ann likes green tea] ann likes green tea <nil>
	// Successfully recorded to memory:
	// - added: [id-ann moved to Rome] ann moved to Rome <nil>
}

func TestAMemoryIsMarkedByTheTool(t *testing.T) {
	b, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t)})
	require.NoError(t, err)
	ann := backends.Scope{UserID: "ann"}
	item, err := b.Remember(t.Context(), ann, "The user works nights.")
	require.NoError(t, err)
	id := item.Memory.ID
	k := newKit(t, b)
	for _, c := range []struct {
		arguments          string
		text               string
		standing, delicate bool
	}{
		{`{"id":"` + id + `","standing":true}`, "The user works nights.", true, false},
		{`{"id":"` + id + `","delicate":"true","content":" "}`, "The user works nights.", true, true},
		{`{"id":"` + id + `","standing":"false","delicate":false,"content":"The user works days."}`, "The user works days.", false, false},
	} {
		require.Contains(t, k.call("update_memory", c.arguments), "Updated memory")
		m, err := b.Get(t.Context(), &backends.GetRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		require.Equal(t, []any{c.text, c.standing, c.delicate}, []any{m.Text, m.Standing, m.Delicate}, c.arguments)
	}
	require.Contains(t, k.call("update_memory", `{"id":"`+id+`"}`), "`content` is missing")
	require.Contains(t, k.call("update_memory", `{"id":"`+id+`","standing":"perhaps"}`), "standing")
}
