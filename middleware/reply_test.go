// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

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
		"an input without text":      {messages: testkit.Say(" "), recorded: 1},
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
		"in order":         {&backends.SearchResponse{Hits: testkit.Hits("b", "a", "c")}, []string{"- [id-b] b", "- [id-a] a", "- [id-c] c"}},
		"any text":         {&backends.SearchResponse{Hits: testkit.Hits(odd)}, []string{"- [id-" + odd + "] " + odd}},
		"a text alone":     {&backends.SearchResponse{Hits: []backends.Hit{{Memory: backends.Memory{Text: "likes tea"}}}}, []string{"- likes tea"}},
		"no answer":        {nil, nil},
		"no memories":      {&backends.SearchResponse{}, nil},
		"none with a text": {&backends.SearchResponse{Hits: testkit.Hits("")}, nil},
	} {
		b := &testkit.Backend{OnSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return c.answer, nil }}
		answer, m := ask(t, asAnn, open(t, &middleware.Config{Backend: b, Mode: modes.StaticControl}), "hi")
		require.Equal(t, "assistant: ok", answer)
		var bullets []string
		for line := range strings.Lines(testkit.Note(m.Calls()[0])) {
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
	require.Equal(t, []backends.SearchRequest{{Scope: ann, Query: "Where do I live?", TopK: 5, Filter: &byAgent}}, b.Searches())
	require.Len(t, b.Adds(), 1)
	add := b.Adds()[0]
	require.Equal(t, []string{"user: Where do I live?", "assistant: In Oslo."}, said(&add))
	require.Equal(t, ann, add.Scope)
	require.False(t, add.Verbatim)

	require.Len(t, m.Calls(), 1)
	in := m.Calls()[0]
	require.Equal(t, "You are assistant.", strings.TrimSpace(in[0].Content), "Eino alone adds a line break")
	require.Equal(t, schema.User, in[1].Role)
	require.Contains(t, in[1].Content, "## Relevant memories from past conversations")
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
	ask(t, asAnn, mem, "hi", testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Text("ok"))
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
		answer, m := ask(t, ctx, mem, "hi")
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
	testkit.Drain(testkit.Runner(testkit.Agent(t, "other", m, nil), false, nil).Query(asAnn, "hi"))
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

func TestBothIsTheDefault(t *testing.T) {
	b := testkit.Knowing("Ann lives in Oslo")
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: b, AwaitWrite: true}), "Where do I live?", testkit.Text("In Oslo."))
	require.Len(t, b.Searches(), 1)
	require.Len(t, b.Adds(), 1)
	in := m.Calls()[0]
	require.Contains(t, in[0].Content, "## Long-term memory")
	require.Contains(t, testkit.Note(in), "Ann lives in Oslo")
	require.Equal(t, []string{"search_memory", "add_memory"}, names(m))
}

func TestAWrappedBackendIsAccepted(t *testing.T) {
	b := testkit.Knowing("likes tea")
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: backends.Traced("Fake", b), AwaitWrite: true}), "hi")
	require.Contains(t, testkit.Note(m.Calls()[0]), "likes tea")
	require.Len(t, b.Adds(), 1)
}

// manager is a backend whose memories can be changed.
type manager struct {
	*testkit.Backend
	backends.Manager
}

func TestUpdateAndDeleteAreOfferedWhenConfigured(t *testing.T) {
	_, m := ask(t, asAnn, open(t, &middleware.Config{Backend: manager{Backend: &testkit.Backend{}}, UpdateTool: true, DeleteTool: true}), "hi")
	require.Equal(t, []string{"search_memory", "add_memory", "update_memory", "delete_memory"}, names(m))
}

// learner is a backend that learns from everything, as reme's does.
type learner struct{ *testkit.Backend }

func (learner) AlwaysLearns() bool { return true }

func TestABackendThatAlwaysLearnsGetsEveryTurn(t *testing.T) {
	b := learner{&testkit.Backend{}}
	ask(t, asAnn, open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, AwaitWrite: true}), "hi")
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
	require.Len(t, prepared, 2)
	require.NoError(t, mem.Finish(asAnn, append(prepared, schema.AssistantMessage("Tea.", nil))))
	add := b.Adds()[0]
	require.Equal(t, []string{"user: What do I like?", "assistant: Tea."}, said(&add))
	require.Len(t, mem.MessageModifier(nil)(asAnn, question), 2)
	require.Len(t, mem.MessageRewriter(nil)(asAnn, question), 2)
	docs, err := mem.AsRetriever().Retrieve(asAnn, "What do I like?")
	require.NoError(t, err)
	require.Equal(t, "likes tea", docs[0].Content)
	require.Len(t, question, 1)
	require.Empty(t, question[0].Extra)
}
