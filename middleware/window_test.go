// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// windowed is a configuration with working memory over the fake backend.
func windowed(tokens int) *middleware.Config {
	return &middleware.Config{Backend: &fake{}, Window: &window.Config{Budget: compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1}}}
}

// shown returns the roles and texts of what the model was shown in its call n,
// without the system prompt.
func (a *agent) shown(n int) []string {
	var out []string
	for _, m := range a.model.Calls()[n] {
		if m.Role != schema.System {
			out = append(out, string(m.Role)+": "+m.Content)
		}
	}
	return out
}

// logged returns the log of ann's session s1.
func logged(t testing.TB, s store.Sessions) []store.Entry {
	t.Helper()
	p, err := ann.Speaker()
	require.NoError(t, err)
	log, err := s.Read(context.Background(), p, ann.SessionID, store.Range{Limit: 10_000})
	require.NoError(t, err)
	return log
}

func texts(log []store.Entry) []string {
	var out []string
	for i := range log {
		if m := log[i].Message.Message; m.Content != "" || len(m.ToolCalls) > 0 {
			out = append(out, string(m.Role)+": "+m.Content)
		}
	}
	return out
}

func TestASessionGoesOnInAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	for turn := range 4 {
		file, err := sqlitestore.Open(context.Background(), path, nil)
		require.NoError(t, err)
		cfg := windowed(8000)
		cfg.Sessions = file
		cfg.Backend.(*fake).memories = []string{"Ann likes tea."}
		mem, err := middleware.New(context.Background(), cfg)
		require.NoError(t, err)
		a := newAgent(t, mem, testkit.Text(fmt.Sprintf("answer %d", turn)))
		a.reply(asAnn(), fmt.Sprintf("question %d", turn))

		var want []string
		for before := range turn {
			want = append(want, fmt.Sprintf("user: question %d", before), fmt.Sprintf("assistant: answer %d", before))
		}
		shown := a.shown(0)
		note := shown[len(shown)-2]
		require.Contains(t, note, "Ann likes tea.", "the note stands in front of what is asked now")
		require.Equal(t, append(want, note, fmt.Sprintf("user: question %d", turn)), shown)
		require.Len(t, texts(logged(t, file)), 2*(turn+1), "each turn once, and no note")

		require.NoError(t, mem.Close(context.Background()))
		require.NoError(t, file.Close())
	}
}

func TestWhoPassesTheHistoryGetsNoOther(t *testing.T) {
	mem := open(t, windowed(8000))
	newAgent(t, mem, testkit.Text("Hello.")).reply(asAnn(), "Hi.")

	a := newAgent(t, mem, testkit.Text("ok"))
	drain(t, a.runner.Run(asAnn(), []adk.Message{schema.UserMessage("Hi!"), schema.AssistantMessage("Hello!", nil), schema.UserMessage("And now?")}))
	require.Equal(t, []string{"user: Hi!", "assistant: Hello!", "user: And now?"}, a.shown(0))
}

func TestSessionsOfOthersAreNotLoaded(t *testing.T) {
	mem := open(t, windowed(8000))
	newAgent(t, mem, testkit.Text("Hello.")).reply(asAnn(), "My secret is 4711.")
	for _, other := range []middleware.Scope{
		{UserID: "bob", SessionID: "s1"}, {UserID: "ann", SessionID: "s2"}, {UserID: "ann"}, {AgentID: "helper", SessionID: "s1"},
		{Namespace: "x", UserID: "ann", SessionID: "s1"}, {UserID: "ann", SessionID: "S1"},
	} {
		a := newAgent(t, mem, testkit.Text("ok"))
		a.reply(middleware.WithScope(context.Background(), other), "What is it?")
		require.Equal(t, []string{"user: What is it?"}, a.shown(0), "%+v", other)
	}
}

// reading is an agent with a tool that returns a long text, number by number.
func reading(t testing.TB, size int, script []testkit.Reply, middlewares ...adk.AgentMiddleware) (*agent, []adk.AgentMiddleware) {
	t.Helper()
	read, err := utils.InferTool("read", "reads", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return pageText(in.N, size), nil
	})
	require.NoError(t, err)
	a := &agent{t: t, model: testkit.New(script...)}
	made, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: "reader", Description: "reads", Instruction: basePrompt, Model: a.model, MaxIterations: 100, Middlewares: middlewares,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{read}}},
	})
	require.NoError(t, err)
	a.runner = adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: made})
	return a, middlewares
}

// pageText is a text of its own for every n, of that many words.
func pageText(n, words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "page%dword%d ", n, i)
	}
	return strings.TrimSpace(b.String())
}

// readAll is a script that reads so many pages and then says so.
func readAll(pages int) []testkit.Reply {
	var script []testkit.Reply
	for n := range pages {
		script = append(script, testkit.Call(fmt.Sprintf("c%d", n), "read", fmt.Sprintf(`{"n":%d}`, n)))
	}
	return append(script, testkit.Text("I have read everything."))
}

// Whatever brings memory in, an agent that reads many times its window has a
// context that fits at every call, that a provider takes, and a log of originals.
func TestATaskOutgrowsTheWindow(t *testing.T) {
	const pages, words, tokens = 30, 300, 4000
	ways := map[string]func(*middleware.MemoryMiddleware) (adk.AgentMiddleware, bool){
		"middleware": func(m *middleware.MemoryMiddleware) (adk.AgentMiddleware, bool) { return m.AgentMiddleware(), false },
		"both":       func(m *middleware.MemoryMiddleware) (adk.AgentMiddleware, bool) { return m.AgentMiddleware(), true },
	}
	for way, attach := range ways {
		t.Run(way, func(t *testing.T) {
			cfg := windowed(tokens)
			mem := open(t, cfg)
			m, wrapped := attach(mem)
			a, _ := reading(t, words, readAll(pages), m)
			if wrapped {
				drain(t, mem.WrapRunner(a.runner).Query(asAnn(), "Read everything."))
			} else {
				a.reply(asAnn(), "Read everything.")
			}
			calls := a.model.Calls()
			require.Len(t, calls, pages+1)
			for n, in := range calls {
				require.LessOrEqual(t, compaction.Budget{Window: tokens, Counter: compaction.Estimate}.Usage(in).Over(), 0, "call %d", n)
				require.NoError(t, transcript.Check(in), "call %d", n)
				require.Equal(t, basePrompt, strings.TrimSpace(in[0].Content[:len(basePrompt)]))
			}
			log := logged(t, cfg.Sessions)
			require.Len(t, texts(log), 2+2*pages)
			for n := range pages {
				require.Equal(t, "tool: "+pageText(n, words), texts(log)[2+2*n], "the log has the original")
			}
		})
	}
}

func TestTheAgentFindsWhatLeftItsContext(t *testing.T) {
	cfg := windowed(4000)
	mem := open(t, cfg)
	script := append(readAll(30)[:30],
		testkit.Call("g", "grep_working_memory", `{"pattern":"page3word7 "}`), testkit.Text("found"))
	a, _ := reading(t, 300, script, mem.AgentMiddleware())
	a.reply(asAnn(), "Read everything.")
	calls := a.model.Calls()
	last := calls[len(calls)-1]
	require.Contains(t, last[len(last)-1].Content, "page3word7 page3word8")

	// Another user's agent finds nothing of it.
	b, _ := reading(t, 1, []testkit.Reply{testkit.Call("g", "grep_working_memory", `{"pattern":"page3word7"}`), testkit.Text("none")}, mem.AgentMiddleware())
	b.reply(middleware.WithScope(context.Background(), middleware.Scope{UserID: "bob", AgentID: "helper", SessionID: "s1"}), "Find page3word7 for me.")
	calls = b.model.Calls()
	last = calls[len(calls)-1]
	require.NotContains(t, last[len(last)-1].Content, "page3word8")
}

func TestWhatNeverFitsIsAnErrorThatSaysByHowMuch(t *testing.T) {
	cfg := windowed(500)
	mem := open(t, cfg)
	a := newAgent(t, mem, testkit.Text("never"))
	for name, run := range map[string]func() *adk.AsyncIterator[*adk.AgentEvent]{
		"middleware": func() *adk.AsyncIterator[*adk.AgentEvent] {
			return a.runner.Query(asAnn(), pageText(1, 400))
		},
		"runner": func() *adk.AsyncIterator[*adk.AgentEvent] {
			return mem.WrapRunner(a.runner).Query(asAnn(), pageText(2, 400))
		},
	} {
		var failure error
		events := run()
		for e, ok := events.Next(); ok; e, ok = events.Next() {
			if e.Err != nil {
				failure = e.Err
			}
		}
		require.ErrorIs(t, failure, compaction.ErrOver, name)
		var over *compaction.OverError
		require.ErrorAs(t, failure, &over, name)
		require.Greater(t, over.Tokens-over.Limit, 400, name)
	}
	require.Empty(t, a.model.Calls(), "nothing was sent")
	require.Len(t, texts(logged(t, cfg.Sessions)), 2, "what was said is in the log")

	fine := newAgent(t, mem, testkit.Text("ok"))
	fine.reply(asAnn(), "Hello?")
	require.Equal(t, "user: Hello?", fine.shown(0)[len(fine.shown(0))-1], "and the session goes on")
}

func TestUnderAgentControlTheSessionIsKeptAndNotLearntFrom(t *testing.T) {
	cfg := windowed(8000)
	cfg.Mode = modes.AgentControl
	cfg.Working = &working.Config{Backend: cfg.Backend} // where the mode learns it would learn
	mem := open(t, cfg)
	newAgent(t, mem, testkit.Text("Hello.")).reply(asAnn(), "Hi.")
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "And now?")
	require.Equal(t, []string{"user: Hi.", "assistant: Hello.", "user: And now?"}, a.shown(0))
	require.NoError(t, mem.Flush(context.Background()))
	_, adds := cfg.Backend.(*fake).seen()
	require.Empty(t, adds)
	p, err := ann.Speaker()
	require.NoError(t, err)
	state, err := cfg.Sessions.Session(context.Background(), p, "s1")
	require.NoError(t, err)
	require.False(t, state.Pending(), "no other process learns from it either")
}

func TestEverythingThatWasSaidComesBack(t *testing.T) {
	cfg := windowed(20_000)
	mem := open(t, cfg)
	picture := "https://example.com/cat.png"
	said := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "What is this?"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}},
	}}
	answer := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		m := schema.AssistantMessage("A cat. 一只猫。", nil)
		m.ReasoningContent = "It has whiskers."
		return m, nil
	}
	a, _ := reading(t, 5, []testkit.Reply{testkit.Call("c1", "read", `{"n":1}`), answer}, mem.AgentMiddleware())
	drain(t, a.runner.Run(asAnn(), []adk.Message{said}))

	next := newAgent(t, mem, testkit.Text("ok"))
	next.reply(asAnn(), "Sure?")
	in := next.model.Calls()[0]
	require.Len(t, in, 6)
	require.Equal(t, said.UserInputMultiContent, in[1].UserInputMultiContent)
	require.Equal(t, `{"n":1}`, in[2].ToolCalls[0].Function.Arguments)
	require.Equal(t, "c1", in[3].ToolCallID)
	require.Equal(t, pageText(1, 5), in[3].Content)
	require.Equal(t, "A cat. 一只猫。", in[4].Content)
	require.Equal(t, "It has whiskers.", in[4].ReasoningContent)
}

// away is a store of sessions that nobody can reach.
type away struct{ store.Sessions }

func (away) Append(context.Context, backends.Partition, string, *store.Append) (*store.Session, error) {
	return nil, backends.ErrUnavailable
}

func (away) Session(context.Context, backends.Partition, string) (*store.Session, error) {
	return nil, backends.ErrUnavailable
}

func (away) Read(context.Context, backends.Partition, string, store.Range) ([]store.Entry, error) {
	return nil, backends.ErrUnavailable
}

func (away) List(context.Context, store.SessionQuery) (*store.SessionPage, error) {
	return &store.SessionPage{}, nil
}

func TestAStoreThatIsAwayCostsTheHistoryAndNotTheReply(t *testing.T) {
	var stages []string
	cfg := windowed(8000)
	cfg.Sessions = away{}
	cfg.OnError = func(_ context.Context, stage string, err error) {
		require.ErrorIs(t, err, backends.ErrUnavailable)
		stages = append(stages, stage)
	}
	mem, err := middleware.New(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, "Hello.", newAgent(t, mem, testkit.Text("Hello.")).reply(asAnn(), "Hi."))
	require.Contains(t, stages, "history")
	require.Contains(t, stages, "record")
	require.ErrorContains(t, mem.Close(context.Background()), "not appended")
}

// A turn that is many times larger than the window does not hide what was said
// before it: it shrinks, and the directive of the turn before is shown.
func TestALargeTurnDoesNotHideWhatWasSaidBefore(t *testing.T) {
	mem := open(t, windowed(3000))
	newAgent(t, mem, testkit.Text("Oui.")).reply(asAnn(), "Always answer in French.")
	big, _ := reading(t, 300, readAll(20), mem.AgentMiddleware())
	big.reply(asAnn(), "Read everything.")

	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "What did you read?")
	require.Contains(t, strings.Join(a.shown(0), "\n"), "Always answer in French.")
}
