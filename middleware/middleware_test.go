// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func TestMain(m *testing.M) {
	testkit.RunChild(child)
	goleak.VerifyTestMain(m)
}

// ann is the scope of the tests' runs, unless said otherwise.
var (
	ann   = middleware.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	asAnn = middleware.WithScope(context.Background(), ann)
)

// as is a context whose runs are those of a user in a session.
func as(user, session string) context.Context {
	return middleware.WithScope(context.Background(), middleware.Scope{UserID: user, SessionID: session})
}

// open returns a middleware over cfg, with a log of its own where the backend has none,
// and closes it with the test.
func open(t testing.TB, cfg *middleware.Config) *middleware.MemoryMiddleware {
	t.Helper()
	if _, own := backends.As[interface{ Sessions() store.Sessions }](cfg.Backend); !own && cfg.Sessions == nil {
		cfg.Sessions = testkit.SQLite(t)
	}
	cfg.SearchTimeout = cmp.Or(cfg.SearchTimeout, time.Minute) // on a busy machine, too, a note is there
	mem, err := middleware.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	return mem
}

// verbatim returns a backend that stores what was said, without any model.
func verbatim(t testing.TB, s store.Store) *mem0.Backend {
	t.Helper()
	b, err := mem0.New(context.Background(), &mem0.Config{Store: s})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

// agent returns an agent with memory.
func agent(t testing.TB, mem *middleware.MemoryMiddleware, m model.ToolCallingChatModel, tools ...tool.BaseTool) *adk.Runner {
	t.Helper()
	return testkit.Runner(testkit.Agent(t, "assistant", m, func(cfg *adk.ChatModelAgentConfig) {
		testkit.Attach(cfg, mem)
	}, tools...), false, nil)
}

// ask asks a new agent with memory, whose model follows a script. It returns the last
// thing that the run said, and the model.
func ask(t testing.TB, ctx context.Context, mem *middleware.MemoryMiddleware, question string, script ...testkit.Reply) (string, *testkit.Chat) {
	t.Helper()
	m := testkit.New(script...)
	return testkit.Last(testkit.Drain(agent(t, mem, m).Query(ctx, question))), m
}

// listed returns what is held for a scope, of all kinds if none is named.
func listed(t testing.TB, b backends.Manager, s middleware.Scope, kinds ...backends.Kind) (all []backends.Memory) {
	t.Helper()
	for r := (&backends.ListRequest{Scope: s, Kinds: kinds, IncludeSuperseded: true}); ; {
		page, err := b.List(context.Background(), r)
		require.NoError(t, err)
		all = append(all, page.Memories...)
		if r.Cursor = page.Next; r.Cursor == "" {
			return all
		}
	}
}

// memories returns the texts of what a user's partition holds.
func memories(t testing.TB, b backends.Manager, user string) []string {
	t.Helper()
	var out []string
	for _, m := range listed(t, b, middleware.Scope{UserID: user}) {
		out = append(out, m.Text)
	}
	return out
}

// names returns the names of the tools that a model was offered last.
func names(m *testkit.Chat) []string {
	var out []string
	for _, info := range m.Offered() {
		out = append(out, info.Name)
	}
	return out
}

// logging is a backend with a log of its own.
type logging struct {
	*testkit.Backend
	own store.Store
}

func (b *logging) Sessions() store.Sessions { return b.own }

// What cannot work is refused, with an error that names the field and the way out.
func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	db := testkit.SQLite(t)
	small := windowed(500, nil, nil).Window
	blocks := &core.Config{Blocks: []core.Block{{Name: "human"}}}
	for _, c := range []struct {
		change func(*middleware.Config)
		names  []string
	}{
		{func(c *middleware.Config) { c.Backend = nil }, []string{"Config.Backend", "mem0.New", "a type of your own"}},
		{func(c *middleware.Config) { c.Mode = "garbage" }, []string{"garbage", "both", "static_control", "agent_control"}},
		{func(c *middleware.Config) { c.Sessions = nil }, []string{"*testkit.Backend", "Config.Sessions", "agent_control"}},
		{func(c *middleware.Config) { c.Sessions, c.Backend = nil, &logging{Backend: &testkit.Backend{}} }, []string{"Config.Sessions"}},
		{func(c *middleware.Config) { c.UpdateTool = true }, []string{"*testkit.Backend", "backends.Manager"}},
		{func(c *middleware.Config) { c.Scope.UserID = "   " }, []string{"user id", "blank"}},
		{func(c *middleware.Config) { c.Scope.UserID = "*" }, []string{"'*'"}},
		{func(c *middleware.Config) { c.Scope.AgentID = "\t" }, []string{"agent id"}},
		{func(c *middleware.Config) { c.Scope.SessionID = "a\x00b" }, []string{"has a control character"}},
		{func(c *middleware.Config) { c.TopK = -1 }, []string{"Config.TopK -1"}},
		{func(c *middleware.Config) { c.TopK = 1001 }, []string{"Config.TopK 1001"}},
		{func(c *middleware.Config) { c.Threshold = math.NaN() }, []string{"Config.Threshold NaN"}},
		{func(c *middleware.Config) { c.Threshold = 1.5 }, []string{"Config.Threshold 1.5"}},
		{func(c *middleware.Config) { c.NoteTokens = -1 }, []string{"Config.NoteTokens -1"}},
		{func(c *middleware.Config) { c.Language = "fr" }, []string{"Language", `"fr"`}},
		{func(c *middleware.Config) { c.Working = &working.Config{MaxTurns: -1} }, []string{"Config.MaxTurns is -1"}},
		{func(c *middleware.Config) { c.Window = &window.Config{} }, []string{"Window is 0"}},
		{func(c *middleware.Config) { c.Mode, c.Sessions, c.Window = modes.AgentControl, nil, small }, []string{"Config.Sessions"}},
		{func(c *middleware.Config) { c.Core = blocks }, []string{"Config.Core", "needs Config.Window"}},
		{func(c *middleware.Config) { c.Reflect = &reflection.Schedule{} }, []string{"reflect", "*testkit.Backend", "mem0.New"}},
		{func(c *middleware.Config) { c.Mode, c.Reflect = modes.AgentControl, &reflection.Schedule{} }, []string{"Config.Reflect", "agent_control"}},
		{func(c *middleware.Config) { c.Core, c.Window = &core.Config{}, small }, []string{"blocks"}},
		{func(c *middleware.Config) { c.Core, c.Window, c.Sessions = blocks, small, struct{ store.Sessions }{db} }, []string{"Config.Core.Records"}},
	} {
		cfg := &middleware.Config{Backend: &testkit.Backend{}, Sessions: db}
		c.change(cfg)
		mem, err := middleware.New(t.Context(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, "%v", c.names)
		require.Nil(t, mem)
		for _, name := range c.names {
			require.ErrorContains(t, err, name)
		}
	}
	_, err := middleware.New(t.Context(), nil)
	require.ErrorContains(t, err, "Config.Backend")
}

func TestABackendAloneIsEnough(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)

	b := &logging{&testkit.Backend{}, testkit.SQLite(t)}
	mem := open(t, &middleware.Config{Backend: b})
	require.Same(t, b, mem.Backend())
	answer, _ := ask(t, asAnn, mem, "any news", testkit.Text("ok"))
	require.Equal(t, "assistant: ok", answer)
	require.NoError(t, mem.Flush(t.Context()))
	require.NoError(t, mem.Close(t.Context()))
	require.Empty(t, logged.String(), "there is nothing to warn of")
	require.Len(t, b.Adds(), 1)
	require.Zero(t, b.Closed(), "the backend stays the caller's")
}

// What is configured wins over what the backend brings.
func TestTheConfiguredLogWins(t *testing.T) {
	own := testkit.SQLite(t)
	b := &logging{&testkit.Backend{}, testkit.SQLite(t)}
	mem := open(t, &middleware.Config{Backend: b, Sessions: own, AwaitWrite: true})
	ask(t, asAnn, mem, "any news")
	require.Len(t, testkit.Logged(t, own, ann), 2)
	p, err := ann.Speaker()
	require.NoError(t, err)
	_, err = b.own.Session(t.Context(), p, ann.SessionID)
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestTheConfigIsCopied(t *testing.T) {
	no, w, b := false, working.Config{MaxTurns: 3}, testkit.Knowing("likes tea")
	cfg := &middleware.Config{Backend: b, AwaitWrite: true, Scope: ann, ScopeSearchByAgent: &no, Working: &w}
	mem := open(t, cfg)
	require.Zero(t, cfg.TopK, "defaults are not written into it")
	require.Empty(t, cfg.Language)
	require.Equal(t, working.Config{MaxTurns: 3}, w)

	no, w = true, working.Config{Backend: &testkit.Backend{}}
	*cfg = middleware.Config{Backend: &testkit.Backend{}, NoteName: "other", TopK: 1}
	_, m := ask(t, context.Background(), mem, "any news")
	require.Equal(t, []backends.SearchRequest{{Scope: ann, Query: "any news", TopK: 50, Brief: 1000}}, b.Searches())
	require.Len(t, b.Adds(), 1)
	require.Equal(t, "memory", m.Calls()[0][1].Name)
}

// Without a scope there is no memory, rather than one that all share.
func TestWithoutAUserThereIsNoMemory(t *testing.T) {
	b, failures := testkit.Knowing("of another user"), &testkit.Failures{}
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, OnError: failures.Add})
	answer, _ := ask(t, context.Background(), mem, "any news",
		testkit.Call("1", "search_memory", `{"keywords":["x"],"user_id":"ann"}`), testkit.Call("2", "add_memory", `{"content":["x"]}`), testkit.Text("ok"))
	require.Equal(t, "assistant: ok", answer)
	require.Empty(t, b.Searches())
	require.Empty(t, b.Adds())
	for _, stage := range failures.Stages() {
		for _, err := range failures.At(stage) {
			require.ErrorIs(t, err, backends.ErrNoScope, stage)
		}
	}
	require.Error(t, failures.Err())
}

func TestTheTextsAreInTheConfiguredLanguage(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: testkit.Knowing("喜欢茶"), Language: backends.Chinese})
	_, m := ask(t, asAnn, mem, "我喜欢什么？")
	in := m.Calls()[0]
	require.Contains(t, in[0].Content, "## 长期记忆")
	require.NotContains(t, in[0].Content, "{", "Eino formats instructions")
	require.Contains(t, noteIn(in), "以下来自记忆")
	require.Contains(t, m.Offered()[0].Desc, "长期记忆")
}

// Two memories on one agent have names of their own, in all that the agent reads.
func TestTwoMemoriesOnOneAgentWithNamesOfTheirOwn(t *testing.T) {
	calls := []testkit.Reply{testkit.Call("1", "recall", `{"keywords":["tea"]}`), testkit.Call("2", "search_memory", `{"keywords":["tea"]}`), testkit.Text("ok")}
	for _, named := range []bool{true, false} {
		one, two := testkit.Knowing("of one"), testkit.Knowing("of two")
		cfg := windowed(8000, two, testkit.SQLite(t))
		cfg.Core = &core.Config{Blocks: []core.Block{{Name: "human"}}}
		if named {
			cfg.NoteName = "second"
			cfg.ToolNames = map[string]string{"search_memory": "recall", "add_memory": "note_down"}
		}
		first, second := open(t, &middleware.Config{Backend: one}), open(t, cfg)
		m := testkit.New(calls...)
		a := testkit.Agent(t, "assistant", m, func(c *adk.ChatModelAgentConfig) {
			testkit.Attach(c, first, second)
		})
		said := testkit.Drain(testkit.Runner(a, false, nil).Query(asAnn, "What tea?"))
		if !named {
			require.Len(t, said, 1)
			for _, way := range []string{"search_memory", "backends.Join", "Config.ToolNames", "Config.NoteName"} {
				require.Contains(t, said[0], way)
			}
			require.Empty(t, m.Calls())
			continue
		}
		require.Equal(t, "assistant: ok", testkit.Last(said))
		require.Equal(t, []string{"search_memory", "add_memory", "recall", "note_down", "grep_working_memory", "read_working_memory", "core_memory_append", "core_memory_replace"}, names(m))
		require.Contains(t, one.Queries(), "tea")
		require.Contains(t, two.Queries(), "tea")
		shown := strings.Join(testkit.Lines(m.Calls()[0]), "\n")
		for _, name := range []string{"Call recall when", "Call note_down when"} {
			require.Contains(t, shown, name)
		}
	}
}

// These tests check what AgentScope's tests check of its mem0 middleware. Where a comment
// says "upstream", theirs differs, for the reason that it gives.

var errDown = errors.New("disk on fire")

// The messages of the user in a turn, joined by newlines, are what is searched for. In
// Eino an approval by a person resumes a run instead of starting one: what reaches memory
// then ends with an answer or a tool's result, and asks nothing new. Unlike upstream, the
// turn that it completes is recorded.
func TestWhatIsSearchedForAndRecorded(t *testing.T) {
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "pay", Arguments: "{}"}}})
	approval := schema.ToolMessage("approved", "1")
	for name, c := range map[string]struct {
		messages []*schema.Message
		queries  []string
		recorded int
	}{
		"nothing":                    {},
		"no input":                   {messages: []*schema.Message{schema.SystemMessage("be kind"), nil}},
		"an input without text":      {messages: testkit.Say(" ")},
		"one message":                {testkit.Say("where do I live?"), []string{"where do I live?"}, 1},
		"two, after an earlier turn": {append(testkit.Turn("before", "yes"), testkit.Say("hello", "where do I live?")...), []string{"hello\nwhere do I live?"}, 1},
		"an approval alone":          {messages: []*schema.Message{call, approval}},
		"an approval in a turn":      {messages: []*schema.Message{schema.UserMessage("pay"), call, approval, schema.AssistantMessage("paid", nil)}, recorded: 1},
		"what another agent said":    {messages: testkit.Say("For context: [planner] said: pay the bill")},
		"what another agent called":  {messages: testkit.Say("For context: [planner] called tool: `pay` with arguments: {}.")},
	} {
		b := &testkit.Backend{}
		mem := open(t, &middleware.Config{Backend: b, Mode: modes.StaticControl, AwaitWrite: true})
		prepared, err := mem.Prepare(asAnn, c.messages)
		require.NoError(t, err)
		require.NoError(t, mem.Finish(asAnn, prepared))
		require.Equal(t, c.queries, b.Queries(), name)
		require.Len(t, b.Adds(), c.recorded, name)
	}
}

// The texts of memories are shown unchanged, in the order of the answer. Upstream takes
// three shapes of answer, of which one has no ids; the contract has one, and a memory
// needs nothing but its text.
func TestWhatOfAnAnswerIsShown(t *testing.T) {
	const odd = `安 likes "green" tea {hot} 100% — 茶 🍵`
	for name, c := range map[string]struct {
		answer *backends.SearchResponse
		want   []string
	}{
		"in order":         {&backends.SearchResponse{Hits: testkit.Hits("b", "a", "c")}, []string{"- b", "- a", "- c"}},
		"any text":         {&backends.SearchResponse{Hits: testkit.Hits(odd)}, []string{"- " + odd}},
		"a text alone":     {&backends.SearchResponse{Hits: []backends.Hit{{Memory: backends.Memory{Text: "likes tea"}}}}, []string{"- likes tea"}},
		"no answer":        {nil, nil},
		"no memories":      {&backends.SearchResponse{}, nil},
		"none with a text": {&backends.SearchResponse{Hits: testkit.Hits("")}, nil},
	} {
		b := &testkit.Backend{OnSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return c.answer, nil }}
		answer, m := ask(t, asAnn, open(t, &middleware.Config{Backend: b, Mode: modes.StaticControl}), "any news")
		require.Equal(t, "assistant: ok", answer)
		var bullets []string
		for line := range strings.Lines(noteIn(m.Calls()[0])) {
			if strings.HasPrefix(line, "- ") {
				bullets = append(bullets, strings.TrimSpace(line))
			}
		}
		require.Equal(t, c.want, bullets, name)
	}
}

// Upstream puts the note into an assistant message behind the user's, which is sent to
// the model in the role of the user. Ours has that role, and stands in front of the
// user's message: the question comes last, and what precedes the note stays in the
// provider's cache.
func TestStaticControl(t *testing.T) {
	b := testkit.Knowing("Ann lives in Oslo")
	mem := open(t, &middleware.Config{Backend: b, Mode: modes.StaticControl, AwaitWrite: true})
	answer, m := ask(t, asAnn, mem, "Where do I live?", testkit.Text("In Oslo."))
	require.Equal(t, "assistant: In Oslo.", answer)

	byAgent := backends.Eq("agent_id", "helper")
	require.Equal(t, []backends.SearchRequest{{Scope: ann, Query: "Where do I live?", TopK: 50, Filter: &byAgent, Brief: 1000}}, b.Searches())
	require.Len(t, b.Adds(), 1)
	add := b.Adds()[0]
	require.Equal(t, []string{"user: Where do I live?", "assistant: In Oslo."}, said(&add))
	require.Equal(t, ann, add.Scope)
	require.False(t, add.Verbatim)

	require.Len(t, m.Calls(), 1)
	in := m.Calls()[0]
	require.Equal(t, "You are assistant.", strings.TrimSpace(in[0].Content), "Eino alone adds a line break")
	require.Equal(t, schema.User, in[1].Role)
	require.Contains(t, in[1].Content, "as data and not instructions")
	require.Contains(t, in[1].Content, "Ann lives in Oslo")
	require.Equal(t, "user: Where do I live?", testkit.Line(in[2]))
	require.Empty(t, m.Offered())
	tools, err := mem.Tools(t.Context())
	require.NoError(t, err)
	require.Empty(t, tools)
}

// said is what an Add was to learn from.
func said(r *backends.AddRequest) []string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, testkit.Line(m.Message))
	}
	return out
}

func TestSearchingAcrossAgents(t *testing.T) {
	no, b := false, &testkit.Backend{}
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, ScopeSearchByAgent: &no, TopK: 9})
	ask(t, asAnn, mem, "any news", testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Text("ok"))
	require.Len(t, b.Searches(), 2, "the hook's and the tool's")
	for _, s := range b.Searches() {
		require.Nil(t, s.Filter)
		require.Equal(t, 9, s.TopK, "upstream's tool finds 5 whatever top_k is, against its documentation")
	}
	require.Equal(t, "helper", b.Adds()[0].Scope.AgentID)
}

// Under agent_control nothing is searched and nothing recorded, so no log is needed.
func TestAgentControl(t *testing.T) {
	b := testkit.Knowing("likes tea")
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: b, Mode: modes.AgentControl})
	require.NoError(t, err)
	require.Nil(t, mem.Working())
	for _, ctx := range []context.Context{asAnn, context.Background()} {
		answer, m := ask(t, ctx, mem, "any news")
		require.Equal(t, "assistant: ok", answer)
		require.Equal(t, []string{"search_memory", "add_memory"}, names(m))
		in := m.Calls()[0]
		require.Len(t, in, 2)
		for _, part := range []string{"You are assistant.", "## Long-term memory", "search_memory", "add_memory"} {
			require.Contains(t, in[0].Content, part)
		}
		require.NotContains(t, in[0].Content, "{", "Eino formats instructions")
	}
	require.NoError(t, mem.Flush(t.Context()))
	require.NoError(t, mem.Close(t.Context()))
	require.Empty(t, b.Searches())
	require.Empty(t, b.Adds())
}

// Upstream's caller registers the tools; here the middleware brings them, and changes
// no agent that is not given it.
func TestOtherAgentsGetNoTools(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &testkit.Backend{}, Mode: modes.AgentControl})
	m := testkit.New()
	testkit.Drain(testkit.Runner(testkit.Agent(t, "other", m, nil), false, nil).Query(asAnn, "any news"))
	require.Empty(t, m.Offered())
	require.Equal(t, "You are other.", strings.TrimSpace(m.Calls()[0][0].Content))

	tools, err := mem.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 2)
	tools[0] = nil
	again, err := mem.Tools(t.Context())
	require.NoError(t, err)
	require.NotNil(t, again[0], "the slice is the caller's own")
}

// An agent's memory is tidied while nobody talks to it, and what became of it can be taken back.
func TestMemoryIsTidiedInTheBackground(t *testing.T) {
	db, plans := testkit.SQLite(t), make(chan *reflection.Plan, 10)
	b := verbatim(t, db)
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, Reflect: &reflection.Schedule{
		Turns: 2, Idle: time.Millisecond, OnApplied: func(_ context.Context, p *reflection.Plan, _ *reflection.Applied) { plans <- p },
	}})
	for _, fact := range []string{"The user works for Initech.", "The user now works for Globex."} {
		_, err := b.Remember(t.Context(), ann, fact)
		require.NoError(t, err)
	}
	for range 2 {
		ask(t, asAnn, mem, "Hello there, how are you?", testkit.Text("Fine."))
	}
	plan := <-plans
	require.Len(t, plan.Operations, 1)
	facts := func() (texts []string) {
		page, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindFact}})
		require.NoError(t, err)
		for _, m := range page.Memories {
			texts = append(texts, m.Text)
		}
		return texts
	}
	require.Equal(t, []string{"The user now works for Globex."}, facts())
	_, m := ask(t, asAnn, mem, "Where do I work?", testkit.Text("At Globex."))
	require.NotContains(t, testkit.Lines(m.Calls()[0]), "Initech.\n")
	_, err := mem.Reflection().(*reflection.Background).Undo(t.Context(), ann, plan.ID, false)
	require.NoError(t, err)
	require.Len(t, facts(), 2)
}

func TestBothIsTheDefault(t *testing.T) {
	b := testkit.Knowing("Ann lives in Oslo")
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: b, AwaitWrite: true}), "Where do I live?", testkit.Text("In Oslo."))
	require.Len(t, b.Searches(), 1)
	require.Len(t, b.Adds(), 1)
	in := m.Calls()[0]
	require.Contains(t, in[0].Content, "## Long-term memory")
	require.Contains(t, noteIn(in), "Ann lives in Oslo")
	require.Equal(t, []string{"search_memory", "add_memory"}, names(m))
}

func TestAWrappedBackendIsAccepted(t *testing.T) {
	b := testkit.Knowing("likes tea")
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: backends.Traced("Fake", b), AwaitWrite: true}), "any news")
	require.Contains(t, noteIn(m.Calls()[0]), "likes tea")
	require.Len(t, b.Adds(), 1)
}

// manager is a backend whose memories can be changed.
type manager struct {
	*testkit.Backend
	backends.Manager
}

func TestUpdateAndDeleteAreOfferedWhenConfigured(t *testing.T) {
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: manager{Backend: &testkit.Backend{}}, UpdateTool: true, DeleteTool: true}), "any news")
	require.Equal(t, []string{"search_memory", "add_memory", "update_memory", "delete_memory"}, names(m))
}

// learner is a backend that learns from everything, as reme's does.
type learner struct{ *testkit.Backend }

func (learner) AlwaysLearns() bool { return true }

func TestABackendThatAlwaysLearnsGetsEveryTurn(t *testing.T) {
	b := learner{&testkit.Backend{}}
	ask(t, asAnn, open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, AwaitWrite: true}), "any news")
	require.Empty(t, b.Searches())
	require.Len(t, b.Adds(), 1)
}

// Upstream asks for permission before a tool; Eino's tools interrupt the run to ask, by
// an error. Ours never do.
func TestTheToolsAskForNoPermission(t *testing.T) {
	tools, err := open(t, &middleware.Config{Backend: &testkit.Backend{}, Mode: modes.AgentControl}).Tools(t.Context())
	require.NoError(t, err)
	for i, arguments := range []string{`{"keywords":["a"]}`, `{"thinking":"t","content":["a"]}`} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(asAnn, arguments)
		require.NoError(t, err)
		require.NotEmpty(t, out)
	}
}

// A backend's own model call must not become an answer of the agent, whether a hook or a
// tool made it: see trap T3 in package einox.
func TestTheBackendsModelDoesNotAnswer(t *testing.T) {
	inner := testkit.New(testkit.Text("INNER"))
	b := &testkit.Backend{
		OnSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			_, err := inner.Generate(ctx, testkit.Say("rank"))
			return &backends.SearchResponse{Hits: testkit.Hits("likes tea")}, err
		},
		OnAdd: func(ctx context.Context, _ *backends.AddRequest) (*backends.AddResponse, error) {
			_, err := inner.Generate(ctx, testkit.Say("extract"))
			return &backends.AddResponse{}, err
		},
	}
	m := testkit.New(testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Call("2", "add_memory", `{"content":["x"]}`), testkit.Text("done"))
	lines := testkit.Drain(agent(t, open(t, &middleware.Config{Backend: b, AwaitWrite: true}), m).Query(asAnn, "go"))
	require.NotContains(t, strings.Join(lines, "\n"), "INNER")
	require.Equal(t, "assistant: done", testkit.Last(lines))
	require.NotEmpty(t, inner.Calls())
}

// The other ways in leave the caller's messages as they are.
func TestTheOtherWaysIn(t *testing.T) {
	b := testkit.Knowing("likes tea")
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true})
	question := testkit.Say("What do I like?")
	prepared, err := mem.Prepare(asAnn, question)
	require.NoError(t, err)
	require.Len(t, prepared, 1)
	require.Contains(t, noteIn(prepared), "likes tea")
	require.NoError(t, mem.Finish(asAnn, append(prepared, schema.AssistantMessage("Tea.", nil))))
	add := b.Adds()[0]
	require.Equal(t, []string{"user: What do I like?", "assistant: Tea."}, said(&add))
	require.Contains(t, noteIn(mem.MessageModifier(nil)(asAnn, question)), "likes tea")
	require.Contains(t, noteIn(mem.MessageRewriter(nil)(asAnn, question)), "likes tea")
	docs, err := mem.AsRetriever().Retrieve(asAnn, "What do I like?")
	require.NoError(t, err)
	require.Equal(t, "likes tea", docs[0].Content)
	require.Len(t, question, 1)
	require.Empty(t, question[0].Extra)
}
