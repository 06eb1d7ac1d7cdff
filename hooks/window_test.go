// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// everything lets the window put into contexts all that memory has: core blocks,
// placeholders, summaries. It returns the model that summarises.
func everything(t testing.TB, s *setup) *testkit.Chat {
	t.Helper()
	chat := testkit.New(testkit.Call("k", "keep_summary", `{"goal":"read page0word0","directives":[],"facts":["page0word1 page0word2"],"failed":[],"open":[],"next":[]}`))
	if s.db == nil {
		s.db = testkit.SQLite(t)
	}
	blocks, err := core.New(&core.Config{Records: s.db, Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
	require.NoError(t, err)
	s.window = func(c *window.Config) {
		c.Core, c.Model = blocks, chat
		c.Steps = []compaction.Step{compaction.DropDerived{}, compaction.OffloadTools{Over: 100}, compaction.OffloadMessages{Over: 100},
			compaction.SummarizeRounds{Model: chat}, compaction.SummarizeCurrent{Model: chat}, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{}}
	}
	return chat
}

// cores counts the messages of core blocks.
func cores(messages []*schema.Message) (n int) {
	for _, m := range messages {
		if einox.MarkOf(m).Kind == einox.Core {
			n++
		}
	}
	return n
}

// A session of any turns: through any door, streaming or not, long or short; some are
// interrupted, and resumed in this process or another, some fail. Every context of a model
// is valid, fits, has one note, one message of core blocks and the question; the log has
// every word once, and nothing of memory's own; it is learnt from as it was said; and what
// the next run sees shows or names all of it.
func TestASessionOfAnyTurns(t *testing.T) {
	testkit.SlowUnderRace(t)
	const words, tokens = 110, 3000
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			open := map[bool]func(testing.TB) store.Store{true: redisStore, false: sqliteStore}[seed%4 == 3]
			shape := windowed(tokens, on(open(t)), func(s *setup) { everything(t, s) })
			m, points := newMemory(t, shape), testkit.Checkpoints(t.TempDir())
			var want []string
			done, learnt := 0, 0
			for turn := range 5 {
				name := slices.Sorted(func(yield func(string) bool) {
					for n := range doors {
						if !yield(n) {
							return
						}
					}
				})[rng.IntN(3)]
				by, streaming, pages := doors[name], rng.IntN(2) == 0, rng.IntN(12)
				question, id := fmt.Sprint("question ", turn, " ", testkit.Page(1000+turn, rng.IntN(80))), fmt.Sprint("cp", turn)
				script, said := testkit.ReadPages(turn*100, turn*100+pages, words)
				want = append(append(want, "user: "+question), said...)
				ending := []string{"answer", "interrupt", "other process", "failure"}[rng.IntN(4)]
				switch ending {
				case "failure":
					script = append(script, testkit.Fail(errors.New("down")))
				case "answer":
					script = append(script, testkit.Text(fmt.Sprint("answer ", turn)))
					want = append(want, fmt.Sprint("assistant: answer ", turn))
				default:
					script = append(script, testkit.Call("ask", "ask", "{}"))
					want = append(want, "assistant:  calls ask")
				}
				chat := testkit.New(script...)
				tools := []tool.BaseTool{testkit.Reader(t, words), testkit.Approval(t)}
				r := m.enter(by, chat, points, streaming, tools...)
				testkit.Drain(r.Query(t.Context(), question, adk.WithCheckPointID(id)))
				m.hasLogged(want, "%s %s", name, ending)
				chats := []*testkit.Chat{chat}
				if ending == "interrupt" || ending == "other process" {
					if ending == "other process" {
						m.fine()
						m = newMemory(t, shape)
					}
					script, said := testkit.ReadPages(turn*100+50, turn*100+50+pages, words, testkit.Text(fmt.Sprint("answer ", turn)))
					rest := testkit.New(script...)
					chats = append(chats, rest)
					testkit.Resume(t, t.Context(), m.enter(by, rest, points, streaming, tools...), id)
					want = append(append(append(want, "tool: approved"), said...), fmt.Sprint("assistant: answer ", turn))
				}
				if ending != "failure" {
					done++
				}
				m.hasLogged(want, "%s %s", name, ending)
				require.Equal(t, [2]int{turn + 1, done}, m.turns())
				m.sane(chats...)
				for _, chat := range chats {
					for n, call := range chat.Calls() {
						require.Equal(t, 1, testkit.Notes(call), "call %d", n)
						require.Equal(t, 1, cores(call))
						require.Contains(t, text(call), question)
						require.Equal(t, "You are a.", call[0].Content[:10])
					}
				}
				learnt += len(m.backend.Adds())
			}
			history, err := m.window.History(t.Context(), ann)
			require.NoError(t, err)
			fitted, err := m.window.Fit(t.Context(), ann, append(history, testkit.Say("next?")...))
			require.NoError(t, err)
			back, err := m.window.Restore(t.Context(), ann, fitted.Messages)
			require.NoError(t, err)
			got := testkit.Lines(testkit.Conversation(back))
			require.Equal(t, testkit.Brief(append(want, "user: next?")), testkit.Brief(got))
			m.fine()
		})
	}
}

// graphOf is an agent without an agent: a model and tools in a loop, Prepare before every
// call of the model, Finish at the end.
func graphOf(t *testing.T, m *memory, chat model.ToolCallingChatModel, tools ...tool.BaseTool) compose.Runnable[[]*schema.Message, *schema.Message] {
	t.Helper()
	type state struct{ messages []*schema.Message }
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	require.NoError(t, g.AddChatModelNode("model", chat,
		compose.WithStatePreHandler(func(ctx context.Context, in []*schema.Message, s *state) (_ []*schema.Message, err error) {
			s.messages, err = m.Prepare(ctx, append(s.messages, in...))
			return s.messages, err
		}),
		compose.WithStatePostHandler(func(ctx context.Context, out *schema.Message, s *state) (*schema.Message, error) {
			if s.messages = append(s.messages, out); len(out.ToolCalls) > 0 {
				return out, nil
			}
			return out, m.Finish(ctx, s.messages)
		})))
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	require.NoError(t, g.AddToolsNode("tools", node))
	require.NoError(t, g.AddEdge(compose.START, "model"))
	require.NoError(t, g.AddBranch("model", compose.NewGraphBranch(func(_ context.Context, m *schema.Message) (string, error) {
		if len(m.ToolCalls) > 0 {
			return "tools", nil
		}
		return compose.END, nil
	}, map[string]bool{"tools": true, compose.END: true})))
	require.NoError(t, g.AddEdge("tools", "model"))
	r, err := g.Compile(t.Context(), compose.WithMaxRunSteps(200))
	require.NoError(t, err)
	return r
}

// A graph, and flow/agent/react in the ways that its configuration allows, where the turn
// is recorded by Finish from what the agent was given and what it produced.
func TestALongSessionWithoutAChatModelAgent(t *testing.T) {
	testkit.SlowUnderRace(t)
	const words, pages = 120, 12
	system := func(_ context.Context, in []*schema.Message) []*schema.Message {
		return append([]*schema.Message{schema.SystemMessage("You.")}, in...)
	}
	for name, configure := range map[string]func(m *memory, chat *testkit.Chat) *react.AgentConfig{
		"graph": nil,
		"rewriter": func(m *memory, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: chat, MessageRewriter: m.MessageRewriter(nil)}
		},
		"rewriter and system prompt": func(m *memory, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: chat, MessageRewriter: m.MessageRewriter(nil), MessageModifier: system}
		},
		"modifier and model": func(m *memory, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: m.WrapModel(chat), MessageModifier: m.MessageModifier(nil)}
		},
		"model": func(m *memory, chat *testkit.Chat) *react.AgentConfig {
			return &react.AgentConfig{ToolCallingModel: m.WrapModel(chat)}
		},
	} {
		for _, prepared := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", prepared ", prepared), func(t *testing.T) {
				m := newMemory(t, windowed(3000))
				var want []string
				for turn := range 3 {
					script, said := testkit.ReadPages(turn*pages, (turn+1)*pages, words, testkit.Text(fmt.Sprint("answer ", turn)))
					chat, in := testkit.New(script...), testkit.Say(fmt.Sprint("question ", turn))
					if configure == nil {
						_, err := graphOf(t, m, chat, testkit.Reader(t, words)).Invoke(t.Context(), append([]*schema.Message{schema.SystemMessage("You.")}, in...))
						require.NoError(t, err)
					} else {
						if prepared {
							in = m.prepare(in)
						}
						cfg := configure(m, chat)
						cfg.ToolsConfig, cfg.MaxStep = compose.ToolsNodeConfig{Tools: []tool.BaseTool{testkit.Reader(t, words)}}, 300
						a, err := react.NewAgent(t.Context(), cfg)
						require.NoError(t, err)
						opt, future := react.WithMessageFuture()
						_, err = a.Generate(t.Context(), in, opt, agent.WithComposeOptions())
						require.NoError(t, err)
						for it := future.GetMessages(); ; {
							produced, ok, err := it.Next()
							require.NoError(t, err)
							if !ok {
								break
							}
							in = append(in, produced)
						}
						require.NoError(t, m.Finish(t.Context(), in))
					}
					if name != "rewriter and system prompt" { // which adds to what was fitted
						m.sane(chat)
					}
					want = append(append(append(want, fmt.Sprint("user: question ", turn)), said...), fmt.Sprint("assistant: answer ", turn))
					m.hasLogged(want)
					require.Equal(t, [2]int{turn + 1, turn + 1}, m.turns(), "each turn once")
					if turn > 0 && (prepared || name[0] == 'r' || name[0] == 'g') {
						require.Contains(t, text(chat.Calls()[0]), fmt.Sprint("question ", turn-1), "what was said before")
					}
				}
				m.fine()
			})
		}
	}
}

// A caller that keeps the context itself: it is made to fit time and again, and Finish, at
// any time and in any process, logs what was said and not what is left of it. Prepare wrote
// most of it before; a rewriter writes nothing. Another middleware may put a summary in the
// place of everything, marks and all: what follows joins the turn all the same.
func TestFinishLogsTheOriginals(t *testing.T) {
	const pages, words = 12, 110
	rewriter := func(m *memory, in []*schema.Message) []*schema.Message {
		return m.MessageRewriter(nil)(t.Context(), in)
	}
	summary := func(extra map[string]any) func(in []*schema.Message) []*schema.Message {
		return func(in []*schema.Message) []*schema.Message {
			m := schema.UserMessage(fmt.Sprintf("Summary of %d messages.", len(in)))
			m.Extra = extra
			return append([]*schema.Message{in[0], m}, in[len(in)-2:]...)
		}
	}
	for name, c := range map[string]struct {
		prepare   func(*memory, []*schema.Message) []*schema.Message
		summarise func([]*schema.Message) []*schema.Message
		elsewhere bool // Finish is called in another process
	}{
		"Prepare":                         {(*memory).prepare, nil, false},
		"Prepare, another process":        {(*memory).prepare, nil, true},
		"rewriter":                        {rewriter, nil, false},
		"rewriter, another process":       {rewriter, nil, true},
		"Prepare and a marked summary":    {(*memory).prepare, summary(map[string]any{"_eino_summarization_content_type": "summary"}), false},
		"Prepare and an unmarked summary": {(*memory).prepare, summary(nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			shape := windowed(2500, on(testkit.SQLite(t)), func(s *setup) { everything(t, s) })
			m := newMemory(t, shape)
			require.NoError(t, m.Finish(t.Context(), testkit.Turn("before", "yes")))
			want := []string{"user: before", "assistant: yes", "user: read"}
			now := append([]*schema.Message{schema.SystemMessage("You read.")}, testkit.Say("read")...)
			for n := range pages + 1 {
				if c.summarise != nil && n%4 == 3 {
					now = c.summarise(now)
				}
				now = c.prepare(m, now)
				require.NoError(t, transcript.Check(now))
				require.LessOrEqual(t, m.window.Usage(now).Over(), 0)
				if n < pages {
					_, said := testkit.ReadPages(n, n+1, words)
					want, now = append(want, said...), append(now, testkit.PageRead(n, words)...)
				}
			}
			if c.elsewhere { // the messages are all that it knows
				m.fine()
				m = newMemory(t, shape)
			}
			require.NoError(t, m.Finish(t.Context(), now))
			m.hasLogged(want)
			for range 2 { // when it goes on, and once more
				require.NoError(t, m.Finish(t.Context(), append(slices.Clone(now), schema.AssistantMessage("done", nil))))
			}
			m.hasLogged(append(want, "assistant: done"))
			require.Equal(t, [2]int{2, 2}, m.turns())
			m.fine()
		})
	}
}

// A placeholder is never written: not where the original could not be, and not where the
// archive cannot be read when the turn is over.
func TestAPlaceholderIsNeverWritten(t *testing.T) {
	offload := func(s *setup) {
		s.window = func(c *window.Config) {
			c.Steps = []compaction.Step{compaction.OffloadTools{Over: 100}, compaction.ArchiveCurrent{}}
		}
	}
	refused := errors.New("refused")
	m := newMemory(t, windowed(2500, offload))
	now := m.prepare(testkit.Say("read"))
	m.db.FailOn(refused, "Append") // the log takes nothing, the archive does
	now = m.prepare(append(now, testkit.PageRead(0, 1500)...))
	m.db.Arm(nil)
	require.NoError(t, m.Finish(t.Context(), append(m.prepare(now), schema.AssistantMessage("done", nil))))
	_, said := testkit.ReadPages(0, 1, 1500)
	m.hasLogged(append(append([]string{"user: read"}, said...), "assistant: done"))
	require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages())
	require.ErrorIs(t, m.failures.Err(), refused)

	m = newMemory(t, windowed(2500, offload))
	rewrite, now := m.MessageRewriter(nil), testkit.Say("read")
	for n := range 8 {
		now = rewrite(t.Context(), append(rewrite(t.Context(), now), testkit.PageRead(n, 110)...))
	}
	m.db.FailOn(refused, "GetBlob")
	require.NoError(t, m.Finish(t.Context(), append(now, schema.AssistantMessage("done", nil))))
	log := m.logged(ann)
	require.Equal(t, "user: read", log[0])
	require.Equal(t, []string{"tool: " + testkit.Page(7, 110), "assistant: done"}, log[len(log)-2:])
	calls := len(slices.DeleteFunc(slices.Clone(log), func(l string) bool { return l != "assistant:  calls read" }))
	require.Equal(t, 8, calls, "the log has the rest of the turn")
	require.Less(t, len(log), 2+2*8)
	require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages())
	m.db.Arm(nil)
	m.next()
}

// What one run leaves in the log, and what the next one is shown of it.
func TestWhatARunLeavesBehind(t *testing.T) {
	down, echo := errors.New("down"), testkit.Call("c", "echo", `{"q":"1"}`)
	returning := func(text string, err error) tool.BaseTool {
		return testkit.Tool(t, "give", func(context.Context, struct{}) (string, error) { return text, err })
	}
	echoed := []string{"user: any news", "assistant:  calls echo", "tool: echo:1"}
	returned := echoed[:2] // of a result that is returned directly
	if testkit.SeesReturns {
		returned = nil
	}
	thinking := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, Content: "done", ReasoningContent: "because"}, nil
	}
	for name, c := range map[string]struct {
		script []testkit.Reply
		tool   tool.BaseTool
		change func(*adk.ChatModelAgentConfig)
		logged []string
		alone  []string // of the middleware alone, if it is not the same
		shown  int      // messages of the next run; 0: as many as are logged
		done   int
	}{
		"reasoning":                 {script: []testkit.Reply{thinking}, logged: []string{"user: any news", "assistant: done"}, done: 1},
		"an empty result":           {script: []testkit.Reply{testkit.Call("c", "give", "{}"), testkit.Text("done")}, tool: returning("", nil), logged: []string{"user: any news", "assistant:  calls give", "tool: ", "assistant: done"}, done: 1},
		"an empty answer":           {script: []testkit.Reply{testkit.Text("")}, logged: []string{"user: any news"}, done: 1},
		"one id for two calls":      {script: []testkit.Reply{echo, echo, testkit.Text("done")}, logged: append(append(append([]string{}, echoed...), echoed[1:]...), "assistant: done"), done: 1},
		"a tool that fails":         {script: []testkit.Reply{testkit.Call("c", "give", "{}")}, tool: returning("", down), logged: []string{"user: any news", "assistant:  calls give"}, shown: 3},
		"a model that fails midway": {script: []testkit.Reply{echo, testkit.Fail(down)}, logged: echoed},
		"too many iterations": {script: []testkit.Reply{echo}, change: func(cfg *adk.ChatModelAgentConfig) { cfg.MaxIterations = 1 },
			logged: echoed, alone: echoed[:2], shown: 3}, // only a runner sees the last result
		"a tool that returns directly": {script: []testkit.Reply{echo}, change: func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true} },
			logged: echoed, alone: returned, shown: 3, done: 1},
	} {
		for door, by := range doors {
			t.Run(name+" "+door, func(t *testing.T) {
				m := newMemory(t, windowed(4000))
				tools := []tool.BaseTool{testkit.Echo(t)}
				if c.tool != nil {
					tools = append(tools, c.tool)
				}
				a := testkit.Agent(t, "a", testkit.New(c.script...), func(cfg *adk.ChatModelAgentConfig) {
					if by.middleware {
						m.with(cfg)
					}
					if c.change != nil {
						c.change(cfg)
					}
				}, tools...)
				var r testkit.Run = testkit.Runner(a, false, nil)
				if by.runner {
					r = m.WrapRunner(r.(*adk.Runner))
				}
				testkit.Drain(r.Query(t.Context(), "any news"))
				want, done := c.logged, c.done
				if c.alone != nil && !by.runner {
					want, done = c.alone, 0
				}
				m.hasLogged(want)
				require.Equal(t, [2]int{1, done}, m.turns())
				if c.shown == 0 {
					c.shown = len(want)
				}
				require.Len(t, m.next(), c.shown)
				m.fine()
			})
		}
	}
}

// Several messages of a user: at once, or one after a turn that failed; in a session that
// session values name.
func TestSeveralMessagesOfTheUser(t *testing.T) {
	values := adk.WithSessionValues(map[string]any{"user_id": "ann", "session_id": "s1"})
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, windowed(4000, func(s *setup) { s.Scope = backends.Scope{AgentID: "bot"} }))
			testkit.Drain(m.enter(by, testkit.New(testkit.Fail(errors.New("down"))), nil, false).Query(t.Context(), "first", values))
			chat := testkit.New(testkit.Text("ok"))
			testkit.Drain(m.enter(by, chat, nil, false).Run(t.Context(), testkit.Say("second", "third"), values))
			m.sane(chat)
			want := []string{"user: first", "user: second", "user: third"}
			require.Equal(t, want, testkit.Shown(chat.Calls()[0]))
			m.hasLogged(append(want, "assistant: ok"))
			require.Equal(t, [2]int{2, 1}, m.turns())
			chat = testkit.New(testkit.Text("ok"))
			testkit.Drain(m.enter(by, chat, nil, false).Run(t.Context(), append(testkit.Turn("Hi!", "Hello!"), testkit.Say("And now?")...), values))
			require.Equal(t, []string{"user: Hi!", "assistant: Hello!", "user: And now?"}, testkit.Shown(chat.Calls()[0]), "who passes the history gets no other")
			m.fine()
		})
	}
	m := newMemory(t, windowed(4000)) // the caller keeps what Prepare returned
	second := m.prepare(append(m.prepare(testkit.Say("first")), testkit.Say("second")...))
	require.NoError(t, m.Finish(t.Context(), append(second, schema.AssistantMessage("ok", nil))))
	m.hasLogged([]string{"user: first", "user: second", "assistant: ok"})
	require.Equal(t, [2]int{2, 1}, m.turns())
	in := m.prepare(append([]*schema.Message{schema.SystemMessage("a"), schema.SystemMessage("b")}, testkit.Say("And", "now?")...))
	require.Equal(t, []string{"system: a", "system: b", "user: first", "user: second", "assistant: ok", "user: And"}, testkit.Lines(in)[:6], "history stands behind the system messages")
	require.Equal(t, 1, testkit.Notes(in[6:7]))
	m.fine()
}

// pictured is a user's message that no context holds: its pictures stay.
func pictured(text string) []*schema.Message {
	url := "https://example.com/a.png"
	picture := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}
	parts := append([]schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: text}}, slices.Repeat([]schema.MessageInputPart{picture}, 50)...)
	return []*schema.Message{{Role: schema.User, UserInputMultiContent: parts}}
}

// What never fits fails the run, is in the log if a user said it, and does not fail the
// runs after it. Where nothing can be refused, it goes on and is reported. Without a
// session there is no history, and without a scope no memory.
func TestWhatNeverFits(t *testing.T) {
	testkit.SlowUnderRace(t)
	long := testkit.Page(1, 600)
	for name, scope := range map[string]backends.Scope{"session": ann, "no session": {UserID: "ann"}, "no scope": {SessionID: "s1"}} {
		for door, by := range doors {
			t.Run(name+" "+door, func(t *testing.T) {
				m := newMemory(t, windowed(1500, func(s *setup) { s.Scope = scope }))
				chat := testkit.New(testkit.Text("ok"))
				events := m.enter(by, chat, nil, false).Run(t.Context(), pictured(long))
				e, ok := events.Next()
				require.True(t, ok)
				var over *compaction.OverError
				require.ErrorAs(t, e.Err, &over)
				require.Greater(t, over.Tokens-over.Limit, 500)
				_, ok = events.Next()
				require.False(t, ok)
				require.Empty(t, chat.Calls())
				for n := range 2 {
					require.Equal(t, []string{"assistant: ok"}, testkit.Drain(m.enter(by, chat, nil, false).Query(t.Context(), fmt.Sprint("again ", n))))
				}
				m.sane(chat)
				switch name {
				case "session":
					require.Equal(t, strings.TrimSpace(long), einox.Text(testkit.Entries(t, m.db, ann)[0].Message.Message))
					require.Contains(t, text(chat.Calls()[1]), "again 0")
					m.fine()
				case "no session":
					require.Equal(t, []string{"user: again 1"}, testkit.Shown(chat.Calls()[1]))
					m.fine()
				default:
					require.Contains(t, m.failures.Stages(), hooks.StageScope)
					require.Empty(t, m.db.Calls())
				}
			})
		}
	}
	m := newMemory(t, windowed(1500))
	out, err := m.Prepare(t.Context(), pictured(long))
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Contains(t, einox.Text(out[len(out)-1]), "50 × image", "its text is in the archive")
	m.fine()
	for n, show := range []func(context.Context, []*schema.Message) []*schema.Message{m.MessageRewriter(nil), m.MessageModifier(nil)} {
		out = show(t.Context(), pictured(long))
		require.Contains(t, einox.Text(out[len(out)-1]), "50 × image", "its text is in the archive")
		require.Equal(t, slices.Repeat([]string{window.StageCompact}, n+1), m.failures.Stages())
	}
	chat := testkit.New(testkit.Text("done")) // a run that begins with the result of a call
	in := append(testkit.Say("read"), testkit.PageRead(1, 3000)...)
	m = newMemory(t, windowed(1500))
	require.Equal(t, []string{"assistant: done"}, testkit.Drain(m.enter(doors["runner"], chat, nil, false).Run(t.Context(), in)))
	m.sane(chat)
	back, err := m.window.Restore(t.Context(), ann, chat.Calls()[0])
	require.NoError(t, err)
	require.Contains(t, text(back), testkit.Page(1, 3000), "what left is in the archives of the session")
	m.fine()
}

// Sixteen sessions at once over one Hooks, an agent a run: each sees its own. And two runs
// of one session at once, exchange by exchange: both turns are whole in the log, and stand
// one after the other in the next run.
func TestSessionsInParallel(t *testing.T) {
	const sessions, turns, pages, words = 16, 2, 4, 200
	for name, by := range doors {
		for kind, open := range map[string]func(testing.TB) store.Store{"sqlite": sqliteStore, "redis": redisStore} {
			t.Run(name+" "+kind, func(t *testing.T) {
				m := newMemory(t, windowed(2500, on(open(t)), func(s *setup) { s.SearchTimeout = time.Minute }))
				scope := func(n int) backends.Scope {
					return backends.Scope{UserID: fmt.Sprint("user", n/2), AgentID: "bot", SessionID: fmt.Sprint("s", n%2)}
				}
				chats, runs, wants := make([][]*testkit.Chat, sessions), make([][]testkit.Run, sessions), make([][]string, sessions)
				var group sync.WaitGroup
				for n := range sessions {
					for turn := range turns {
						script, said := testkit.ReadPages(n*100+turn*pages, n*100+(turn+1)*pages, words, testkit.Text(fmt.Sprintf("answer %d of %d", turn, n)))
						chats[n] = append(chats[n], testkit.New(script...))
						runs[n] = append(runs[n], m.enter(by, chats[n][turn], nil, n%3 == 0, testkit.Reader(t, words)))
						wants[n] = append(append(append(wants[n], fmt.Sprintf("user: question %d of %d!", turn, n)), said...), fmt.Sprintf("assistant: answer %d of %d", turn, n))
					}
					group.Go(func() {
						for turn := range turns {
							testkit.Drain(runs[n][turn].Query(backends.WithScope(context.Background(), scope(n)), fmt.Sprintf("question %d of %d!", turn, n)))
						}
					})
				}
				group.Wait()
				for n := range sessions {
					require.Equal(t, wants[n], m.logged(scope(n)))
					m.sane(chats[n]...)
					for other := range sessions {
						require.Equal(t, other == n, strings.Contains(text(chats[n][1].Calls()[0]), fmt.Sprintf("question 0 of %d!", other)))
					}
				}
				m.fine()
			})
		}
		t.Run(name+", one session", func(t *testing.T) {
			m := newMemory(t, windowed(2500, func(s *setup) { s.SearchTimeout = time.Minute }))
			var chats []*testkit.Chat
			var wants [2][]string
			var runs [2]testkit.Run
			turns := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
			for n := range 2 {
				script, said := testkit.ReadPages(n*100, n*100+6, 100, testkit.Text(fmt.Sprint("answer ", n)))
				for i, reply := range script { // each call of the one waits for the same call of the other
					script[i] = func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
						turns[1-n] <- struct{}{}
						<-turns[n]
						return reply(ctx, in, o)
					}
				}
				chats = append(chats, testkit.New(script...))
				runs[n] = m.enter(by, chats[n], nil, false, testkit.Reader(t, 100))
				wants[n] = append(append([]string{fmt.Sprint("user: question ", n)}, said...), fmt.Sprint("assistant: answer ", n))
			}
			var group sync.WaitGroup
			for n := range 2 {
				group.Go(func() { testkit.Drain(runs[n].Query(context.Background(), fmt.Sprint("question ", n))) })
			}
			group.Wait()
			m.sane(chats...)
			require.Equal(t, [2]int{2, 2}, m.turns())
			require.ElementsMatch(t, slices.Concat(wants[0], wants[1]), m.logged(ann))
			next := newMemory(t, windowed(100_000, on(m.db.Store))).next()
			if next[0] != wants[0][0] {
				wants[0], wants[1] = wants[1], wants[0]
			}
			require.Equal(t, slices.Concat(wants[0], wants[1]), next, "whole, and together")
			m.fine()
		})
	}
}

// A process that dies in a long run must not take the run with it: what was said and done
// so far gets into the log while the run goes on.
func TestARunIsLoggedWhileItGoesOn(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			m, appended := newMemory(t, windowed(4000)), make(chan struct{}, 100)
			m.db.Arm(func(c *testkit.StoreCall) error {
				if c.Method == "Append" {
					defer func() { appended <- struct{}{} }()
				}
				return nil
			})
			// Each call of the model waits until the log has all that came before it.
			after := func(said int, next testkit.Reply) testkit.Reply {
				return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
					for len(m.logged(ann)) < said {
						select {
						case <-appended:
						case <-time.After(time.Millisecond):
						case <-t.Context().Done():
							return nil, t.Context().Err()
						}
					}
					return next(ctx, in, opts)
				}
			}
			script, said := testkit.ReadPages(0, 2, 20, testkit.Text("done"))
			for i := range script {
				script[i] = after(1+2*i, script[i])
			}
			testkit.Drain(m.enter(by, testkit.New(script...), nil, false, testkit.Reader(t, 20)).Query(t.Context(), "Read."))
			m.hasLogged(append(append([]string{"user: Read."}, said...), "assistant: done"))
			require.Equal(t, [2]int{1, 1}, m.turns())
			m.fine()
		})
	}
}

// A store that is away is waited for once in a run, not with every event; what was said
// goes to the queue, and to the log when the store is back.
func TestAStoreThatIsAwayHoldsARunUpOnce(t *testing.T) {
	m := newMemory(t, windowed(4000))
	m.db.FailOn(fmt.Errorf("%w: away", backends.ErrUnavailable), "Append")
	script, said := testkit.ReadPages(0, 10, 5, testkit.Text("done"))
	testkit.Drain(m.enter(doors["runner"], testkit.New(script...), nil, false, testkit.Reader(t, 5)).Query(t.Context(), "read"))
	require.Equal(t, []string{hooks.StageRecord, hooks.StageRecord}, m.failures.Stages(), "one while the run goes on, one at its end: %v", m.failures.Err())
	m.db.Arm(nil)
	require.NoError(t, m.log.Flush(t.Context()))
	m.hasLogged(append(append([]string{"user: read"}, said...), "assistant: done"))
}

// Interrupted turns that are not resumed, resumed after another one ended, or twice.
func TestInterruptedTurnsAmongOthers(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			m, points := newMemory(t, windowed(4000)), testkit.Checkpoints(t.TempDir())
			chat := approvalModel()
			testkit.Drain(m.enter(by, chat, points, false, testkit.Approval(t)).Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
			between := testkit.New(testkit.Text("between"))
			testkit.Drain(m.enter(by, between, nil, false).Query(t.Context(), "meanwhile"))
			in := testkit.Shown(between.Calls()[0])
			require.Len(t, in, 4)
			require.Equal(t, approved[:2], in[:2])
			require.True(t, strings.HasPrefix(in[2], "tool: [No result"), "the call has no result yet")
			for range 2 { // a client that repeats its call
				testkit.Resume(t, t.Context(), m.enter(by, chat, points, false, testkit.Approval(t)), "cp")
			}
			m.sane(chat, between)
			require.NotContains(t, text(chat.Calls()[1]), "meanwhile", "a resumed run goes on with what it knew")
			require.Equal(t, append([]string{"user: meanwhile", "assistant: between"}, approved...), m.next()[:6], "a turn stands where it ended")
			require.Equal(t, [2]int{2, 2}, m.turns())
			if by.runner { // the state knows the turn; the runner's open turn is taken by the first
				require.ErrorIs(t, m.failures.Err(), backends.ErrNotFound)
			} else {
				m.fine()
			}
		})
	}
}

// What a provider's client puts into a part of a message comes back from the log as JSON
// makes it. Eino's checkpoint is gob, which knows few types: it must not be what a later
// turn fails for when it is interrupted.
func TestWhatComesFromTheLogGoesIntoACheckpoint(t *testing.T) {
	picture := "https://example.com/cat.png"
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			m, points := newMemory(t, windowed(4000)), testkit.Checkpoints(t.TempDir())
			extra := map[string]any{"tags": []string{"cat"}, "size": map[string]any{"w": 3}, "n": 1}
			require.NoError(t, m.Finish(t.Context(), []*schema.Message{
				{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
					{Type: schema.ChatMessagePartTypeText, Text: "look"},
					{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture, Extra: extra}}},
				}},
				{Role: schema.Assistant, Content: "a cat", Extra: map[string]any{"provider": map[string]any{"x": 1}}},
			}))
			chat := approvalModel()
			r := m.enter(by, chat, points, false, testkit.Approval(t))
			require.Equal(t, []string{"assistant:  calls ask", "interrupted"}, testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp"))))
			require.Equal(t, []string{"tool: approved", "assistant: done"}, testkit.Resume(t, t.Context(), r, "cp"))
			require.Equal(t, &picture, chat.Calls()[1][1].UserInputMultiContent[1].Image.URL)
			m.fine()
		})
	}
}

// A window without a log reads a session that another program writes. A history that takes
// too long costs the history.
func TestAWindowThatOnlyReads(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			writer := newMemory(t, windowed(4000))
			require.NoError(t, writer.Finish(t.Context(), testkit.Turn("Hi.", "Hello.")))
			m := newMemory(t, windowed(2500, on(writer.db.Store), func(s *setup) { s.noLog = true }))
			script, _ := testkit.ReadPages(0, 12, 120, testkit.Text("done"))
			chat := testkit.New(script...)
			require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(m.enter(by, chat, nil, false, testkit.Reader(t, 120)).Query(t.Context(), "read"))))
			m.sane(chat)
			require.Equal(t, []string{"user: Hi.", "assistant: Hello.", "user: read"}, testkit.Shown(chat.Calls()[0]))
			require.Len(t, writer.logged(ann), 2)
			m.fine()

			m = newMemory(t, windowed(2500, on(writer.db.Store), func(s *setup) { s.noLog = true }))
			m.db.FailOn(context.DeadlineExceeded, "Read")
			chat = testkit.New(testkit.Text("ok"))
			require.Equal(t, []string{"assistant: ok"}, testkit.Drain(m.enter(by, chat, nil, false).Query(t.Context(), "any news")))
			require.Equal(t, []string{hooks.StageHistory}, m.failures.Stages(), "once a turn")
			m.db.Arm(nil)
		})
	}
}

// A block that the agent edits is shown as it is now, at the very next call. A model that
// summarises is asked inside the agent's hooks: it says nothing into the run's events (trap
// T3), and one that fails is reported and costs nothing else; so does a callback that panics.
func TestWhatTheWindowDoesStaysOutOfTheRun(t *testing.T) {
	testkit.SlowUnderRace(t)
	for name, by := range doors {
		for trouble, change := range map[string]func(c *window.Config){
			"none": func(*window.Config) {}, "a model that fails": func(c *window.Config) { c.Steps, c.Model = nil, testkit.New(testkit.Fail(errors.New("down"))) },
			"a callback that panics": func(c *window.Config) {
				c.OnFit = func(context.Context, backends.Scope, *compaction.Result) { panic("mine") }
			},
		} {
			t.Run(name+" "+trouble, func(t *testing.T) {
				var summariser *testkit.Chat
				var blocks *core.Blocks
				m := newMemory(t, windowed(2500, func(s *setup) {
					summariser = everything(t, s)
					all := s.window
					s.window = func(c *window.Config) { all(c); change(c); blocks = c.Core }
				}))
				for turn := range 2 {
					script, said := testkit.ReadPages(turn*10, turn*10+10, 120, testkit.Text("done"))
					first := script[0]
					script[0] = func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
						_, err := blocks.Append(ctx, &core.Edit{Scope: ann, Block: "human", Text: fmt.Sprint("Likes tea ", turn)})
						require.NoError(t, err)
						return first(ctx, in, o)
					}
					chat := testkit.New(script...)
					require.Equal(t, append(said, "assistant: done"), testkit.Drain(m.enter(by, chat, nil, turn == 1, testkit.Reader(t, 120)).Query(t.Context(), "read")))
					m.sane(chat)
					for n, call := range chat.Calls() {
						require.Equal(t, 1, cores(call))
						require.Equal(t, n > 0, strings.Contains(text(call), fmt.Sprint("Likes tea ", turn)))
					}
				}
				require.Equal(t, trouble != "a model that fails", len(summariser.Calls()) > 0)
				for _, stage := range m.failures.Stages() {
					require.Equal(t, window.StageCompact, stage)
				}
				require.Equal(t, trouble != "none", len(m.failures.Stages()) > 0)
			})
		}
	}
}

// The memories kept free for notes are for notes: a large one does not push the question
// out, and a conversation does not push the note out.
func TestANoteStaysInASmallWindow(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, windowed(2000, func(s *setup) {
				s.NoteTokens, s.TopK, s.window = 300, 40, func(c *window.Config) { c.Budget = compaction.Budget{Window: 2000} }
			}))
			for n := range 40 {
				m.backend.Found = append(m.backend.Found, testkit.Hits("Ann knows "+testkit.Page(n, 10))...)
			}
			script, _ := testkit.ReadPages(0, 10, 100, testkit.Text("done"))
			chat := testkit.New(script...)
			require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(m.enter(by, chat, nil, false, testkit.Reader(t, 100)).Query(t.Context(), "read"))))
			m.sane(chat)
			for _, call := range chat.Calls() {
				require.Equal(t, 1, testkit.Notes(call))
			}
			m.fine()
		})
	}
}

// Three turns of every tree in one session, behind a wrapped runner, with the
// middleware in each agent and without: the log has each turn once, every model
// call is valid and within the budget, and the next turn knows of the last. With the
// middleware alone each agent has its part recorded as a turn of its own, and nothing of
// its second visit in one run: that is why trees want a wrapped runner.
func TestEveryTreeGoesOnWithItsSession(t *testing.T) {
	testkit.SlowUnderRace(t)
	work, said := testkit.ReadPages(0, 8, 150) // three times the window
	firstVisits := map[string][]string{"sequential": {"one", "two"}, "parallel": {"one", "two"}, "loop": {"one"}, "supervisor": {"worked"}}
	for name, build := range testkit.Trees {
		for how, by := range doors {
			if !by.runner && firstVisits[name] == nil {
				continue
			}
			t.Run(name+" "+how, func(t *testing.T) {
				tokens := 2500
				if name == "deep" {
					tokens += 6000 // its system prompt
				}
				m := newMemory(t, windowed(tokens))
				var want []string
				for turn := range 3 {
					g := &testkit.Grove{T: t, Work: work, Done: said, Tools: []tool.BaseTool{testkit.Reader(t, 150)}, Wrap: m.WrapModel}
					g.Enter = func(cfg *adk.ChatModelAgentConfig) {
						if by.middleware {
							m.with(cfg)
						} else {
							cfg.Model = m.WrapModel(cfg.Model.(*testkit.Chat))
						}
					}
					a, said := build(g)
					var r testkit.Run = testkit.Runner(a, turn == 1, nil)
					if by.runner {
						r = m.WrapRunner(r.(*adk.Runner))
					}
					question := fmt.Sprint("question ", turn)
					for _, line := range testkit.Drain(r.Query(t.Context(), question)) {
						require.NotContains(t, line, "error: ")
					}
					m.sane(g.Models...)
					if !by.runner {
						require.Contains(t, m.logged(ann), "user: "+question)
						for _, answer := range firstVisits[name] {
							require.Contains(t, m.logged(ann), "assistant: "+answer)
						}
						m.next()
						continue
					}
					want = append(append(want, "user: "+question), said...)
					got, sorted := m.logged(ann), want
					if name == "parallel" {
						got, sorted = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
					}
					require.Equal(t, sorted, got)
					require.Equal(t, [2]int{turn + 1, turn + 1}, m.turns(), "each turn once")
					for i, chat := range g.Models {
						require.Equal(t, turn > 0, strings.Contains(text(chat.Calls()[0]), fmt.Sprint("question ", turn-1)), "model %d knows what was said before", i)
					}
				}
				if told := !by.runner && (name == "sequential" || name == "supervisor"); !told {
					m.fine() // the agents of the others do not see each other's work
					return
				}
				require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages(), "it is told so once")
				require.ErrorContains(t, m.failures.Err(), "Run the tree by WrapRunner")
			})
		}
	}
}
