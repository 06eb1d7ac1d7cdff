// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/modes"
)

var bothPlan = modes.Plan{Search: true, Record: true, Instruct: true, Tools: true}

// Session values turn braces of an instruction into templates: it fails, or it
// tells the model a session value. What we put into the instruction has none, and
// memories go into messages, which are never formatted.
func TestT01_BracesNeverReachTheInstruction(t *testing.T) {
	values := adk.WithSessionValues(map[string]any{"secret": "S3CRET"})
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{AdditionalInstruction: "remember: {secret}"}}
	}
	chat := testkit.New()
	drain(t, newRunner(newAgent(t, "a", chat, naive), false, nil).Query(context.Background(), "hi", values))
	require.True(t, sees(chat.Calls()[0], "S3CRET"), "the trap is gone from this Eino")

	for _, l := range []hooks.Language{hooks.English, hooks.Chinese} {
		m := newMemory(t, func(c *hooks.Config) { c.Plan = bothPlan; c.Language = l })
		require.NotContains(t, m.AgentMiddleware().AdditionalInstruction, "{")
		require.NotContains(t, m.AgentMiddleware().AdditionalInstruction, "}")
		m.backend.texts = []string{`likes {"tea": 1} and {secret}`}
		chat := testkit.New()
		out := drain(t, newRunner(newAgent(t, "a", chat, m.with), false, nil).Query(context.Background(), "hi", values))
		require.Equal(t, []string{"assistant: ok"}, out)
		require.True(t, sees(chat.Calls()[0], `likes {"tea": 1} and {secret}`))
		require.True(t, sees(chat.Calls()[0], "search_memory"))
		require.False(t, sees(chat.Calls()[0], "S3CRET"))
		m.fine(t)
	}
}

func threeCalls() *testkit.Chat {
	return testkit.New(testkit.Call("c1", "echo", `{"q":"1"}`), testkit.Call("c2", "echo", `{"q":"2"}`), testkit.Text("done"))
}

// The hook runs before every call of the model, and what it adds stays.
func TestT02_OneSearchAndOneNoteATurn(t *testing.T) {
	n := 0
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{BeforeChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			n++
			s.Messages = append(s.Messages, schema.SystemMessage(fmt.Sprint("note ", n)))
			return nil
		}}}
	}
	chat := threeCalls()
	drain(t, newRunner(newAgent(t, "a", chat, naive, echoTool(t)), false, nil).Query(context.Background(), "hi"))
	require.True(t, sees(chat.Calls()[2], "note 1") && sees(chat.Calls()[2], "note 3"), "the trap is gone from this Eino")

	for _, found := range []bool{true, false} {
		m := newMemory(t, nil)
		if !found {
			m.backend.texts = nil
		}
		chat := threeCalls()
		drain(t, newRunner(newAgent(t, "a", chat, m.with, echoTool(t)), false, nil).Query(context.Background(), "hi"))
		require.Equal(t, []string{"hi"}, m.backend.queries())
		for _, call := range chat.Calls() {
			require.Equal(t, found, notes(call) == 1)
		}
		m.fine(t)
	}
}

func TestT02_AVanishedNoteIsInjectedAgain(t *testing.T) {
	m := newMemory(t, nil)
	compact := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			s.Messages = slices.DeleteFunc(slices.Clone(s.Messages), func(msg *schema.Message) bool { return strings.Contains(msg.Content, tea) })
			return nil
		}})
		m.with(cfg)
	}
	chat := threeCalls()
	drain(t, newRunner(newAgent(t, "a", chat, compact, echoTool(t)), false, nil).Query(context.Background(), "hi"))
	for _, call := range chat.Calls() {
		require.Equal(t, 1, notes(call))
	}
	require.Len(t, m.log.turn(t), 6)
}

// A backend may call a model in Search with the context it is given. In a hook
// that would speak as the agent (trap T3).
func TestT03_ABackendsModelCallsStayOutOfTheEvents(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = true })
	inner := testkit.New(testkit.Text("REWRITTEN QUERY"))
	m.backend.find = func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
		_, err := inner.Generate(ctx, say("x"))
		return nil, err
	}
	m.log.onRecord = func(ctx context.Context) { _, _ = inner.Generate(ctx, say("y")) }
	for _, tools := range [][]tool.BaseTool{nil, {echoTool(t)}} {
		out := drain(t, newRunner(newAgent(t, "a", testkit.New(), m.with, tools...), false, nil).Query(context.Background(), "hi"))
		require.Equal(t, []string{"assistant: ok"}, out)
	}
	require.Len(t, inner.Calls(), 4)
	m.fine(t)
}

// Hooks run under the lock of the agent's state. They take none of it: the run
// would never end.
func TestT04_HooksLeaveTheAgentsStateAlone(t *testing.T) {
	asking, got, entered := make(chan struct{}), make(chan struct{}), &atomic.Bool{}
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{BeforeChatModel: func(ctx context.Context, _ *adk.ChatModelAgentState) error {
			go func() {
				defer close(got)
				close(asking)
				_ = compose.ProcessState(ctx, func(context.Context, *adk.ChatModelAgentState) error { entered.Store(true); return nil })
			}()
			<-asking
			for range 100 {
				runtime.Gosched()
			}
			require.False(t, entered.Load(), "the trap is gone from this Eino")
			return nil
		}}}
	}
	drain(t, newRunner(newAgent(t, "a", testkit.New(), naive), false, nil).Query(context.Background(), "hi"))
	<-got
	require.True(t, entered.Load())

	m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = true; c.Scope = backends.Scope{} })
	out := drain(t, newRunner(newAgent(t, "a", threeCalls(), m.with, echoTool(t)), true, nil).
		Query(context.Background(), "hi", adk.WithSessionValues(map[string]any{"user_id": "ann"})))
	require.Equal(t, "assistant: done", out[len(out)-1])
	m.fine(t)
}

// A session value of ours would switch on the templates of T1 and be persisted.
func TestT06_NoSessionValueIsWritten(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Plan = bothPlan })
	var seen map[string]any
	last := func(cfg *adk.ChatModelAgentConfig) {
		m.with(cfg)
		cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{AfterChatModel: func(ctx context.Context, _ *adk.ChatModelAgentState) error {
			seen = adk.GetSessionValues(ctx)
			return nil
		}})
	}
	r := m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), last), false, nil))
	drain(t, r.Query(context.Background(), "hi"))
	require.NotNil(t, seen)
	require.Empty(t, seen)
}

// What AfterChatModel changes does not reach the event, which is gone.
func TestT09_AnEditAfterTheModelIsNotSeen(t *testing.T) {
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{AfterChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			last := *s.Messages[len(s.Messages)-1]
			last.Content = "changed"
			s.Messages[len(s.Messages)-1] = &last
			return nil
		}}}
	}
	out := drain(t, newRunner(newAgent(t, "a", testkit.New(testkit.Text("said")), naive), false, nil).Query(context.Background(), "hi"))
	require.Equal(t, "assistant: said", out[len(out)-1], "the trap is gone from this Eino")

	requireReadOnly(t, schema.AssistantMessage("said", nil), true)
}

// A message behind a tool call ends the run, without an error.
func TestT10_NothingIsAppendedBehindAToolCall(t *testing.T) {
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{AfterChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
			s.Messages = append(s.Messages, schema.SystemMessage("note"))
			return nil
		}}}
	}
	out := drain(t, newRunner(newAgent(t, "a", threeCalls(), naive, echoTool(t)), false, nil).Query(context.Background(), "hi"))
	require.NotContains(t, out, "assistant: done", "the trap is gone from this Eino")

	requireReadOnly(t, schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "echo"}}}), false)
}

// requireReadOnly shows our hook an answer: it records it, and leaves the state
// as it is.
func requireReadOnly(t *testing.T, answer *schema.Message, done bool) {
	t.Helper()
	m := newMemory(t, nil)
	mw := m.AgentMiddleware()
	state := &adk.ChatModelAgentState{Messages: say("hi")}
	require.NoError(t, mw.BeforeChatModel(context.Background(), state))
	state.Messages = append(state.Messages, answer)
	before := slices.Clone(state.Messages)
	require.NoError(t, mw.AfterChatModel(context.Background(), state))
	require.Equal(t, before, state.Messages)
	for i := range before {
		require.Same(t, before[i], state.Messages[i])
	}
	require.Equal(t, done, m.log.recorded()[0].Done)
}

// Eino appends a middleware's tools to the caller's slice.
func TestT12_ToolsComeInASliceOfTheirOwn(t *testing.T) {
	spare := make([]tool.BaseTool, 1, 4)
	spare[0] = echoTool(t)
	other := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{AdditionalTools: []tool.BaseTool{askTool(t)}}}
	}
	newAgent(t, "a", testkit.New(), other, spare...)
	require.NotNil(t, spare[:2][1], "the trap is gone from this Eino")
	spare[:2][1] = nil

	m := newMemory(t, func(c *hooks.Config) { c.Plan = bothPlan; c.Tools = spare })
	one, two := m.AgentMiddleware().AdditionalTools, m.AgentMiddleware().AdditionalTools
	require.Len(t, one, 1)
	require.Equal(t, len(one), cap(one))
	_ = append(one, askTool(t))
	one[0] = nil
	require.NotNil(t, two[0])
	require.NotNil(t, m.Tools()[0])
	require.Nil(t, spare[:2][1])
}

func TestT13_TheCallersHistoryStaysAsItIs(t *testing.T) {
	m := newMemory(t, nil)
	history := []*schema.Message{schema.UserMessage("hi")}
	for range 2 {
		r := m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), m.with), false, nil))
		drain(t, r.Run(context.Background(), history))
		drain(t, newRunner(newAgent(t, "a", testkit.New(), m.with), false, nil).Run(context.Background(), history))
	}
	require.Equal(t, []*schema.Message{schema.UserMessage("hi")}, history)
}

// What other agents did arrives in the user's role.
func TestT16_RetoldTransfersAreNotWhatTheUserSaid(t *testing.T) {
	m := newMemory(t, nil)
	first := newAgent(t, "first", testkit.New(testkit.Text("one")), nil)
	chat := testkit.New(testkit.Text("two"))
	second := newAgent(t, "second", chat, m.with)
	seq, err := adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d", SubAgents: []adk.Agent{first, second}})
	require.NoError(t, err)
	drain(t, newRunner(seq, false, nil).Query(context.Background(), "hi"))
	require.True(t, sees(chat.Calls()[0], "For context: [first] said: one."), "the trap is gone from this Eino")
	require.Equal(t, []string{"hi"}, m.backend.queries())
	require.Equal(t, []string{"user: hi", "assistant: two"}, m.log.turn(t))

	for text, retold := range map[string]bool{
		"For context:": true, "For context: [a b] said: x.": true, "For context: [a] called tool: `f` with arguments: {}.": true,
		"For context: [a] `f` tool returned result: x.": true, "For context: I live in Rome": false, "For context: [1] is a list": false, "hi": false,
	} {
		m := newMemory(t, nil)
		m.BeforeReply(context.Background(), say(text))
		require.Equal(t, retold, len(m.backend.queries()) == 0, text)
	}
}

// A middleware without an instruction makes a system message of a line break.
func TestT18_ABlankSystemMessageIsDropped(t *testing.T) {
	bare := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Instruction = ""
		cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{})
	}
	chat := testkit.New()
	drain(t, newRunner(newAgent(t, "a", chat, bare), false, nil).Query(context.Background(), "hi"))
	require.Equal(t, schema.System, chat.Calls()[0][0].Role, "the trap is gone from this Eino")

	m := newMemory(t, func(c *hooks.Config) { c.Plan = modes.Plan{} })
	chat = testkit.New()
	drain(t, newRunner(newAgent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { bare(cfg); m.with(cfg) }), false, nil).Query(context.Background(), "hi"))
	require.Equal(t, []string{"user: hi"}, lines(chat.Calls()[0]))
}

// An error of a hook fails the run, even when the answer was given.
func TestT19_HooksReturnNoErrors(t *testing.T) {
	naive := func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = []adk.AgentMiddleware{{AfterChatModel: func(context.Context, *adk.ChatModelAgentState) error { return errors.New("down") }}}
	}
	out := drain(t, newRunner(newAgent(t, "a", testkit.New(), naive), false, nil).Query(context.Background(), "hi"))
	require.Contains(t, out[len(out)-1], "error: ", "the trap is gone from this Eino")

	for _, scope := range []backends.Scope{ann, {}, {Namespace: "n"}} {
		m := newMemory(t, func(c *hooks.Config) { c.Scope = scope })
		m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("down") }
		m.log.err = backends.ErrUnavailable
		out := drain(t, newRunner(newAgent(t, "a", testkit.New(), m.with), false, nil).Query(context.Background(), "hi"))
		require.Equal(t, []string{"assistant: ok"}, out)
		stages, _ := m.failures.seen()
		require.NotEmpty(t, stages)
	}
}
