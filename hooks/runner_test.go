// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

// scripted is an agent that sends the events it is given.
type scripted struct {
	events []*adk.AgentEvent
	asks   bool   // whether a run ends in an interrupt
	resume func() // what a resume does before its events
}

func (s *scripted) Name(context.Context) string        { return "scripted" }
func (s *scripted) Description(context.Context) string { return "d" }

func (s *scripted) Run(ctx context.Context, _ *adk.AgentInput, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	it, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	for _, e := range s.events {
		gen.Send(e)
	}
	if s.asks {
		gen.Send(adk.Interrupt(ctx, "may I?"))
	}
	gen.Close()
	return it
}

func (s *scripted) Resume(ctx context.Context, _ *adk.ResumeInfo, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	s.resume()
	return s.Run(ctx, nil)
}

func TestEventsAreForwardedUnchangedAndInOrder(t *testing.T) {
	m := newMemory(t, nil)
	answer := func(text string) *adk.AgentEvent {
		return adk.EventFromMessage(schema.AssistantMessage(text, nil), nil, schema.Assistant, "")
	}
	a := &scripted{events: []*adk.AgentEvent{answer("one"), {Output: &adk.AgentOutput{CustomizedOutput: 7}}, answer("two"),
		{Err: errors.New("broken")}, {Action: &adk.AgentAction{CustomizedAction: "x"}}}}
	it := m.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "any news")
	for _, want := range a.events {
		got, ok := it.Next()
		require.True(t, ok)
		require.Same(t, want, got)
	}
	for range 2 {
		_, ok := it.Next()
		require.False(t, ok)
	}
	require.Equal(t, []string{"user: any news", "assistant: one", "assistant: two"}, m.logged(ann))
	require.Equal(t, [2]int{1, 0}, m.turns(), "a failed turn is not complete")
}

// slowModel streams two words and waits between them for proceed.
type slowModel struct {
	*testkit.Chat
	proceed <-chan struct{}
	err     error // instead of the second word
}

func (s *slowModel) IsCallbacksEnabled() bool { return false }

func (s *slowModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

func (s *slowModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	sr, sw := schema.Pipe[*schema.Message](1)
	go func() {
		defer sw.Close()
		sw.Send(schema.AssistantMessage("first ", nil), nil)
		<-s.proceed
		if s.err != nil {
			sw.Send(nil, s.err)
			return
		}
		sw.Send(schema.AssistantMessage("second", nil), nil)
	}()
	return sr, nil
}

func TestStreamsThatFailAreNotRecorded(t *testing.T) {
	m, read := newMemory(t, nil), make(chan struct{})
	close(read)
	failing := &slowModel{Chat: testkit.New(), proceed: read, err: errors.New("cut")}
	a := testkit.Agent(t, "a", failing, func(cfg *adk.ChatModelAgentConfig) {
		cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 1, IsRetryAble: func(context.Context, error) bool { return true }}
	})
	out := testkit.Drain(m.WrapRunner(testkit.Runner(a, true, nil)).Query(t.Context(), "any news"))
	require.Contains(t, out[0], "broken stream")
	require.Equal(t, []string{"user: any news"}, m.logged(ann))
	require.Equal(t, [2]int{1, 0}, m.turns())

	m = newMemory(t, nil)
	sr, sw := schema.Pipe[*schema.Message](2)
	sw.Send(schema.AssistantMessage("fir", nil), nil)
	sw.Send(nil, &adk.WillRetryError{ErrStr: "cut"})
	sw.Close()
	again := schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("fir", nil), schema.AssistantMessage("st", nil)})
	retried := &scripted{events: []*adk.AgentEvent{adk.EventFromMessage(nil, sr, schema.Assistant, ""), adk.EventFromMessage(nil, again, schema.Assistant, "")}}
	out = testkit.Drain(m.WrapRunner(testkit.Runner(retried, true, nil)).Query(t.Context(), "any news"))
	require.Equal(t, []string{"broken stream: cut", "assistant: first"}, out)
	require.Equal(t, []string{"user: any news", "assistant: first"}, m.logged(ann), "what is retried is recorded once")
	require.Equal(t, [2]int{1, 1}, m.turns())
}

func TestTheRunnersScope(t *testing.T) {
	session := adk.WithSessionValues(map[string]any{"user_id": "sam", "session_id": int64(7), "other": struct{}{}})
	cleo := backends.WithScope(t.Context(), backends.Scope{UserID: "cleo"})
	for name, c := range map[string]struct {
		ctx  context.Context
		opts []adk.AgentRunOption
		want backends.Scope
		err  error
	}{
		"default":        {t.Context(), nil, ann, nil},
		"session values": {t.Context(), []adk.AgentRunOption{session}, backends.Scope{UserID: "sam", AgentID: "bot", SessionID: "7"}, nil},
		"context":        {cleo, []adk.AgentRunOption{session}, backends.Scope{UserID: "cleo", AgentID: "bot"}, nil},
		"option":         {cleo, []adk.AgentRunOption{session, hooks.WithScopeOption(backends.Scope{UserID: "olga", SessionID: "s9"})}, backends.Scope{UserID: "olga", AgentID: "bot", SessionID: "s9"}, nil},
		"none":           {t.Context(), nil, backends.Scope{}, backends.ErrNoScope},
		"a struct":       {t.Context(), []adk.AgentRunOption{adk.WithSessionValues(map[string]any{"user_id": struct{ A int }{}})}, ann, backends.ErrInvalid},
		"a wildcard":     {t.Context(), []adk.AgentRunOption{hooks.WithScopeOption(backends.Scope{UserID: "a*"})}, ann, backends.ErrInvalid},
		"a blank":        {t.Context(), []adk.AgentRunOption{adk.WithSessionValues(map[string]any{"user_id": " "})}, ann, backends.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(s *setup) {
				if name == "none" {
					s.Scope = backends.Scope{}
				}
			})
			out := testkit.Drain(m.enter(doors["both"], testkit.New(), nil, false).Query(c.ctx, "any news", c.opts...))
			require.Equal(t, []string{"assistant: ok"}, out)
			if c.err != nil {
				require.Empty(t, m.backend.Queries())
				require.Empty(t, m.db.Calls(), "without a scope there is no memory")
				require.Equal(t, []string{hooks.StageScope}, slices.Compact(m.failures.Stages()))
				require.ErrorIs(t, m.failures.Err(), c.err)
				return
			}
			require.Equal(t, c.want, m.backend.Searches()[0].Scope)
			require.Len(t, m.logged(c.want), 2)
			m.fine()
		})
	}
}

func TestMiddlewareAndRunnerTogetherWorkOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m, chat := newMemory(t, nil), threeCalls()
		testkit.Drain(m.enter(doors["both"], chat, nil, streaming, testkit.Echo(t)).Query(t.Context(), "any news"))
		require.Equal(t, []string{"any news"}, m.backend.Queries())
		require.Equal(t, threeCallsLogged, m.logged(ann))
		for _, call := range chat.Calls() {
			require.Equal(t, 1, testkit.Notes(call))
		}
		m.fine()
	}
}

// A sub-agent that builds its own messages loses the note; its middleware puts it
// back without another search.
func TestALostNoteOfAWrappedRunIsRestored(t *testing.T) {
	m, chat := newMemory(t, nil), testkit.New()
	a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
		m.with(cfg)
		cfg.GenModelInput = func(context.Context, string, *adk.AgentInput) ([]*schema.Message, error) {
			return testkit.Say("summarised: hi"), nil
		}
	})
	testkit.Drain(m.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "any news"))
	require.Equal(t, 1, testkit.Notes(chat.Calls()[0]))
	require.Equal(t, []string{"any news"}, m.backend.Queries())
	require.Equal(t, []string{"user: any news", "assistant: ok"}, m.logged(ann))
}

// The context of a run is gone when it is resumed; its session values are not.
func TestT07_TheScopeOfAResumedRun(t *testing.T) {
	user := backends.Scope{UserID: "ann", SessionID: "s1"}
	withUser := backends.WithScope(t.Context(), user)
	session := adk.WithSessionValues(map[string]any{"user_id": "ann", "session_id": "s1"})
	for name, c := range map[string]struct {
		run, resume context.Context
		opts        []adk.AgentRunOption
		lost        bool
	}{
		"context given again":            {withUser, withUser, nil, false},
		"session values":                 {t.Context(), t.Context(), []adk.AgentRunOption{session}, false},
		"context not given again":        {withUser, t.Context(), nil, true},
		"context of another, given then": {withUser, backends.WithScope(t.Context(), backends.Scope{AgentID: "bot"}), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(s *setup) { s.Scope = backends.Scope{} })
			r := m.enter(doors["both"], approvalModel(), testkit.Checkpoints(t.TempDir()), false, testkit.Approval(t))
			testkit.Drain(r.Query(c.run, "any news", append(c.opts, adk.WithCheckPointID("cp"))...))
			require.Equal(t, []string{"tool: approved", "assistant: done"}, testkit.Resume(t, c.resume, r, "cp"))
			if c.lost {
				require.Equal(t, approved[:2], m.logged(user), "the turn was not completed for another scope")
				require.Contains(t, m.failures.Stages(), hooks.StageScope)
				require.ErrorIs(t, m.failures.Err(), backends.ErrNoScope)
				return
			}
			require.Equal(t, approved, m.logged(user))
			m.fine()
		})
	}
}

// No answer of the model ends these runs, so that AfterChatModel never sees the
// end. The runner does.
func TestT14_TurnsThatEndWithoutAnAnswer(t *testing.T) {
	down := testkit.Fail(errors.New("model is down"))
	echo := testkit.Call("c", "echo", `{"q":"1"}`)
	echoed := []string{"user: any news", "assistant:  calls echo", "tool: echo:1"}
	for name, c := range map[string]struct {
		script []testkit.Reply
		change func(*adk.ChatModelAgentConfig)
		done   int
		want   []string
	}{
		"return directly":     {[]testkit.Reply{echo}, func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true} }, 1, echoed},
		"exit":                {[]testkit.Reply{testkit.Call("c", "exit", `{"final_result":"bye"}`)}, func(cfg *adk.ChatModelAgentConfig) { cfg.Exit = adk.ExitTool{} }, 1, []string{"user: any news", "assistant:  calls exit", "tool: bye"}},
		"too many iterations": {[]testkit.Reply{echo}, func(cfg *adk.ChatModelAgentConfig) { cfg.MaxIterations = 1 }, 0, echoed},
		"model error":         {[]testkit.Reply{echo, down}, func(*adk.ChatModelAgentConfig) {}, 0, echoed},
		"model error at once": {[]testkit.Reply{down}, func(*adk.ChatModelAgentConfig) {}, 0, []string{"user: any news"}},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m, finals := newMemory(t, nil), 0
				a := testkit.Agent(t, "a", testkit.New(c.script...), func(cfg *adk.ChatModelAgentConfig) {
					c.change(cfg)
					testkit.Attach(cfg, after(func(_ context.Context, s *adk.ChatModelAgentState) {
						if len(s.Messages[len(s.Messages)-1].ToolCalls) == 0 {
							finals++
						}
					}))
				}, testkit.Echo(t))
				testkit.Drain(m.WrapRunner(testkit.Runner(a, streaming, nil)).Query(t.Context(), "any news"))
				testkit.Trap(t, finals == 0)
				require.Equal(t, c.want, m.logged(ann))
				require.Equal(t, [2]int{1, c.done}, m.turns())
				m.fine()
			})
		}
	}
}

// In an agent that runs as a tool, the user's message is written by a model: it recalls
// and never records, and gets no history; its events, if they are emitted, are forwarded
// and not recorded.
func TestT15_AnAgentInATool(t *testing.T) {
	for _, window := range []int{0, 2500} {
		for name, by := range doors {
			for _, streaming := range []bool{false, true} {
				t.Run(fmt.Sprint(window, name, streaming), func(t *testing.T) {
					m := newMemory(t, func(s *setup) { s.tokens = window })
					require.NoError(t, m.Finish(t.Context(), testkit.Turn("said before", "an answer")))
					inner := testkit.New(testkit.Call("c9", "echo", `{"q":"x"}`), testkit.Text("child done"))
					child := testkit.Agent(t, "child", inner, m.with, testkit.Echo(t))
					outer := testkit.New(testkit.Call("c", "child", `{"request":"a task"}`), testkit.Text("done"))
					parent := testkit.Agent(t, "parent", outer, func(cfg *adk.ChatModelAgentConfig) {
						if by.middleware {
							m.with(cfg)
						}
						cfg.ToolsConfig.EmitInternalEvents = by.runner
					}, adk.NewAgentTool(t.Context(), child))
					var r testkit.Run = testkit.Runner(parent, streaming, nil)
					if by.runner {
						r = m.WrapRunner(r.(*adk.Runner))
					}
					out := testkit.Drain(r.Query(t.Context(), "any news"))
					require.Equal(t, by.runner, slices.Contains(out, "assistant: child done"))
					require.Equal(t, []string{"user: any news", "assistant:  calls child", "tool: child done", "assistant: done"}, m.logged(ann)[2:])
					require.Equal(t, []string{"any news", "a task"}, m.backend.Queries())
					for _, call := range inner.Calls() {
						require.Equal(t, 1, testkit.Notes(call))
						require.NotContains(t, text(call), "said before")
					}
					require.Equal(t, window > 0, strings.Contains(text(outer.Calls()[0]), "said before"))
					m.fine()
				})
			}
		}
	}
}

// The child is interrupted inside the parent's tool; when it goes on, its events
// come without the call that they belong to.
func TestT15_AnAgentInAToolIsResumed(t *testing.T) {
	m := newMemory(t, nil)
	child := testkit.Agent(t, "child", testkit.New(testkit.Call("c9", "ask", "{}"), testkit.Text("child done")), nil, testkit.Approval(t))
	parent := testkit.Agent(t, "parent", testkit.New(testkit.Call("c", "child", `{"request":"a task"}`), testkit.Text("done")),
		func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.EmitInternalEvents = true }, adk.NewAgentTool(t.Context(), child))
	r := m.WrapRunner(testkit.Runner(parent, false, testkit.Checkpoints(t.TempDir())))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	require.Contains(t, testkit.Resume(t, t.Context(), r, "cp"), "assistant: child done")
	require.Equal(t, []string{"user: any news", "assistant:  calls child", "tool: child done", "assistant: done"}, m.logged(ann))
	m.fine()
}

// A run that a tool makes is nested as well, and so is deep's own sub-agent, which
// carries the middleware of the main one.
func TestT15_RunsInsideToolsAreNotRecorded(t *testing.T) {
	for _, window := range []int{0, 10_000} {
		m := newMemory(t, func(s *setup) { s.tokens = window })
		inner := testkit.New(testkit.Text("inner done"))
		r := m.enter(doors["both"], inner, nil, false)
		delegate := testkit.Tool(t, "delegate", func(ctx context.Context, q testkit.Query) (string, error) {
			return strings.Join(testkit.Drain(r.Query(ctx, q.Q)), "\n"), nil
		})
		outer := testkit.New(testkit.Call("c", "delegate", `{"q":"a task"}`), testkit.Text("done"))
		testkit.Drain(m.enter(doors["both"], outer, nil, false, delegate).Query(t.Context(), "any news"))
		want := []string{"user: any news", "assistant:  calls delegate", "tool: assistant: inner done", "assistant: done"}
		require.Equal(t, want, m.logged(ann))
		require.Equal(t, []string{"user: a task"}, testkit.Shown(inner.Calls()[0]))

		chat := testkit.New(testkit.Call("c1", "task", `{"subagent_type":"general-purpose","description":"do it"}`), testkit.Text("sub"), testkit.Text("done"))
		cfg := &deep.Config{Name: "deep", Description: "d", ChatModel: chat}
		testkit.AttachDeep(cfg, m)
		a, err := deep.New(t.Context(), cfg)
		require.NoError(t, err)
		testkit.Drain(m.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "and now?"))
		require.Equal(t, append(want, "user: and now?", "assistant:  calls task", "tool: sub", "assistant: done"), m.logged(ann))
		for n, call := range chat.Calls() {
			require.Equal(t, 1, testkit.Notes(call))
			require.Equal(t, window > 0 && n != 1, strings.Contains(text(call), "user: any news"), "call %d", n)
		}
		m.fine()
	}
}

// Every model of a tree sees the memory, and the turn is recorded once, in order.
// plan-execute has no place for a middleware.
func TestT17_EveryAgentTreeHasMemoryThroughTheRunner(t *testing.T) {
	for name, build := range testkit.Trees {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m := newMemory(t, nil)
				g := &testkit.Grove{T: t, Work: []testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`)}, Done: []string{"assistant:  calls echo", "tool: echo:1"}, Tools: []tool.BaseTool{testkit.Echo(t)}}
				a, said := build(g)
				for _, line := range testkit.Drain(m.WrapRunner(testkit.Runner(a, streaming, nil)).Query(t.Context(), "any news")) {
					require.NotContains(t, line, "error: ")
				}
				for _, chat := range g.Models {
					require.NotEmpty(t, chat.Calls())
					for _, call := range chat.Calls() {
						require.Contains(t, text(call), tea, "a model did not see the memory")
					}
				}
				require.Equal(t, []string{"any news"}, m.backend.Queries())
				want, got := append([]string{"user: any news"}, said...), m.logged(ann)
				if name == "parallel" {
					slices.Sort(want)
					slices.Sort(got)
				}
				require.Equal(t, want, got)
				require.Equal(t, [2]int{1, 1}, m.turns())
				m.fine()
			})
		}
	}
}

// A log that is slow holds up the end of the iterator and never an event, and a stream
// leaves as it comes: the model waits for the reader of its first word.
func TestT20_EventsLeaveBeforeTheTurnIsWritten(t *testing.T) {
	m, read := newMemory(t, nil), make(chan struct{})
	m.db.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Append" {
			<-read
		}
		return nil
	})
	slow := &slowModel{Chat: testkit.New(), proceed: read}
	it := m.WrapRunner(testkit.Runner(testkit.Agent(t, "a", slow, nil), true, nil)).Query(t.Context(), "any news")
	e, ok := it.Next()
	require.True(t, ok)
	for i, want := range []string{"first ", "second"} {
		chunk, err := e.Output.MessageOutput.MessageStream.Recv()
		require.NoError(t, err)
		require.Equal(t, want, chunk.Content)
		if i == 0 {
			require.Empty(t, m.backend.Adds())
			close(read)
		}
	}
	testkit.Drain(it)
	require.Equal(t, []string{"user: any news", "assistant: first second"}, m.logged(ann))
	require.Len(t, m.backend.Adds(), 1, "what the caller asked to wait for is done at the end")
}

func TestAnIteratorThatNobodyReadsIsRecordedAllTheSame(t *testing.T) {
	m, learnt := newMemory(t, nil), make(chan struct{})
	m.backend.OnAdd = func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		close(learnt)
		return &backends.AddResponse{}, nil
	}
	m.enter(doors["runner"], testkit.New(), nil, true).Query(t.Context(), "any news")
	<-learnt
}

var approved = []string{"user: any news", "assistant:  calls ask", "tool: approved", "assistant: done"}

func approvalModel() *testkit.Chat {
	return testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done"))
}

// An interrupted turn is completed under its id, in the same process or another: new
// hooks, a new agent, the same checkpoints and the same log; and is learnt from once.
func TestAnInterruptedTurnIsCompleted(t *testing.T) {
	for _, otherProcess := range []bool{false, true} {
		for name, by := range doors {
			for _, streaming := range []bool{false, true} {
				t.Run(fmt.Sprint(name, otherProcess, streaming), func(t *testing.T) {
					m, points, chat := newMemory(t, nil), testkit.Checkpoints(t.TempDir()), approvalModel()
					r := m.enter(by, chat, points, streaming, testkit.Approval(t))
					require.Equal(t, []string{"assistant:  calls ask", "interrupted"}, testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp"))))
					require.Equal(t, approved[:2], m.logged(ann), "what was said is in the log")
					require.Equal(t, [2]int{1, 0}, m.turns())
					resumed := m
					if otherProcess {
						resumed = newMemory(t, on(m.db.Store))
						r = resumed.enter(by, chat, points, streaming, testkit.Approval(t))
					}
					require.Equal(t, []string{"tool: approved", "assistant: done"}, testkit.Resume(t, t.Context(), r, "cp"))
					require.Equal(t, approved, m.logged(ann))
					require.Equal(t, [2]int{1, 1}, m.turns())
					require.Equal(t, []string{"any news"}, m.backend.Queries())
					require.Equal(t, otherProcess, len(resumed.backend.Queries()) == 0, "a resume searches for nothing")
					require.Equal(t, 1, testkit.Notes(chat.Calls()[1]), "the note is in the checkpoint")
					require.Len(t, resumed.backend.Adds(), 1)
					m.fine()
					resumed.fine()
				})
			}
		}
	}
}

func TestATurnInterruptedTwiceIsCompleted(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New(testkit.Call("c1", "ask", "{}"), testkit.Call("c2", "ask", "{}"), testkit.Fail(errors.New("down")), testkit.Text("done"))
	r := m.WrapRunner(testkit.Runner(testkit.Agent(t, "a", chat, nil, testkit.Approval(t)), false, testkit.Checkpoints(t.TempDir())))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	for i := range 3 { // the second one fails, and is repeated
		it, err := r.ResumeWithParams(t.Context(), "cp", &adk.ResumeParams{})
		require.NoError(t, err)
		require.Equal(t, i == 1, strings.HasPrefix(testkit.Last(testkit.Drain(it)), "error: "))
	}
	got := m.logged(ann)
	require.Equal(t, []string{"user: any news", "assistant:  calls ask", "tool: approved", "assistant:  calls ask", "tool: approved"}, got[:5])
	require.Equal(t, "assistant: done", testkit.Last(got))
	require.Equal(t, [2]int{1, 1}, m.turns())
	m.fine()
}

func TestInterruptsOfParallelAgentsAreOneTurn(t *testing.T) {
	m := newMemory(t, nil)
	par, err := adk.NewParallelAgent(t.Context(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
		SubAgents: []adk.Agent{testkit.Agent(t, "a1", approvalModel(), nil, testkit.Approval(t)), testkit.Agent(t, "a2", testkit.New(testkit.Text("meanwhile")), nil)}})
	require.NoError(t, err)
	r := m.WrapRunner(testkit.Runner(par, false, testkit.Checkpoints(t.TempDir())))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	testkit.Resume(t, t.Context(), r, "cp")
	require.ElementsMatch(t, append([]string{"assistant: meanwhile"}, approved...), m.logged(ann))
	require.Equal(t, [2]int{1, 1}, m.turns())
	m.fine()
}

func TestInterruptsWithoutACheckpointOrAnOpenTurn(t *testing.T) {
	m := newMemory(t, nil)
	testkit.Drain(m.enter(doors["runner"], approvalModel(), nil, false, testkit.Approval(t)).Query(t.Context(), "any news"))
	require.Equal(t, approved[:2], m.logged(ann))
	require.Equal(t, [2]int{1, 0}, m.turns(), "an open turn")
	m.fine()

	m, points := newMemory(t, nil), testkit.Checkpoints(t.TempDir())
	agent := testkit.Agent(t, "a", approvalModel(), nil, testkit.Approval(t))
	testkit.Drain(testkit.Runner(agent, false, points).Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	testkit.Resume(t, t.Context(), m.WrapRunner(testkit.Runner(agent, false, points)), "cp")
	require.Empty(t, m.logged(ann), "nobody knows whose words the run was about")
	require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages())
	require.ErrorIs(t, m.failures.Err(), backends.ErrNotFound)

	m, points = newMemory(t, nil), testkit.Checkpoints(t.TempDir())
	r := m.enter(doors["runner"], approvalModel(), points, false, testkit.Approval(t))
	m.db.FailOn(backends.ErrUnavailable, "PutBlob", "GetBlob")
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	testkit.Resume(t, t.Context(), r, "cp")
	require.Equal(t, approved[:2], m.logged(ann))
	require.Equal(t, []string{hooks.StageRecord, hooks.StageRecord}, m.failures.Stages(), "it could be neither saved nor taken")
	require.ErrorIs(t, m.failures.Err(), backends.ErrUnavailable)
	m.db.Arm(nil)
}

// The history is compacted while a run waits: its middleware searches again.
func TestANoteThatVanishedWhileTheRunWaitedIsRestored(t *testing.T) {
	m, chat := newMemory(t, nil), approvalModel()
	compact := before(func(_ context.Context, s *adk.ChatModelAgentState) {
		s.Messages = slices.DeleteFunc(slices.Clone(s.Messages), func(msg *schema.Message) bool { return len(chat.Calls()) > 0 && einox.IsNote(msg) })
	})
	a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, compact, m) }, testkit.Approval(t))
	r := m.WrapRunner(testkit.Runner(a, false, testkit.Checkpoints(t.TempDir())))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	testkit.Resume(t, t.Context(), r, "cp")
	require.Equal(t, 1, testkit.Notes(chat.Calls()[1]))
	require.Equal(t, approved, m.logged(ann))
	m.fine()
}

// The interrupted run may have been a user's: what it says does not go to the
// agent's memory because the resume names no user.
func TestAResumeThatNamesNoUserRecordsNothingOfATurnItDoesNotKnow(t *testing.T) {
	bot := backends.Scope{AgentID: "bot", SessionID: "s1"}
	m := newMemory(t, func(s *setup) { s.Scope, s.AgentMemory = bot, true })
	r := m.enter(doors["runner"], approvalModel(), testkit.Checkpoints(t.TempDir()), false, testkit.Approval(t))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp"), hooks.WithScopeOption(ann)))
	testkit.Resume(t, t.Context(), r, "cp")
	require.Empty(t, testkit.Entries(t, m.db.Store, bot))
	require.Equal(t, approved[:2], m.logged(ann))
	require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages())
	require.ErrorIs(t, m.failures.Err(), backends.ErrNotFound)
}

// What a resumed run says repeats the words that it was interrupted in.
func TestAResumeOfAForgottenTurnOrOfAnotherUsersRecordsNothing(t *testing.T) {
	bob := backends.Scope{UserID: "bob", SessionID: "s1"}
	for name, by := range doors {
		for _, forgets := range []bool{false, true} {
			if !by.runner {
				continue // the state has the words and their epoch
			}
			m, of := newMemory(t, nil), ann
			r := m.enter(by, approvalModel(), testkit.Checkpoints(t.TempDir()), false, testkit.Approval(t))
			testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
			if forgets {
				p, err := ann.Speaker()
				require.NoError(t, err)
				_, err = m.db.Drop(t.Context(), p)
				require.NoError(t, err)
			} else {
				of = bob
			}
			require.Equal(t, "assistant: done", testkit.Last(testkit.Resume(t, backends.WithScope(t.Context(), of), r, "cp")))
			require.Empty(t, testkit.Entries(t, m.db.Store, of), "%s, forgets: %v", name, forgets)
		}
	}
}

// Eino panics where a checkpoint does not fit the agent.
func TestAPanicOfResumeIsAnError(t *testing.T) {
	m, fits := newMemory(t, nil), false
	a := &scripted{asks: true, resume: func() {
		if !fits {
			panic("does not fit")
		}
	}}
	r := m.WrapRunner(testkit.Runner(a, false, testkit.Checkpoints(t.TempDir())))
	testkit.Drain(r.Query(t.Context(), "any news", adk.WithCheckPointID("cp")))
	_, err := r.Resume(t.Context(), "cp")
	require.ErrorContains(t, err, "panic")
	for id, params := range map[string]*adk.ResumeParams{"no such checkpoint": {}, "cp": nil} {
		_, err = r.ResumeWithParams(t.Context(), id, params)
		require.Error(t, err)
	}
	_, err = m.WrapRunner(testkit.Runner(a, false, nil)).Resume(t.Context(), "cp")
	require.ErrorContains(t, err, "store is nil")
	a.events, a.asks, fits = []*adk.AgentEvent{adk.EventFromMessage(schema.AssistantMessage("done", nil), nil, schema.Assistant, "")}, false, true
	testkit.Resume(t, t.Context(), r, "cp")
	require.Equal(t, []string{"user: any news", "assistant: done"}, m.logged(ann), "the turn waits for a resume that works")
	require.Equal(t, [2]int{1, 1}, m.turns())
}
