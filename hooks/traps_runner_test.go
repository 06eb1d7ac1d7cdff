// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// The context of a run is gone when it is resumed; its session values are not.
func TestT07_TheScopeOfAResumedRun(t *testing.T) {
	withUser := backends.WithScope(context.Background(), backends.Scope{UserID: "ann"})
	session := adk.WithSessionValues(map[string]any{"user_id": "ann"})
	for name, c := range map[string]struct {
		run, resume context.Context
		opts        []adk.AgentRunOption
		lost        bool
	}{
		"context given again":            {withUser, withUser, nil, false},
		"session values":                 {context.Background(), context.Background(), []adk.AgentRunOption{session}, false},
		"context not given again":        {withUser, context.Background(), nil, true},
		"context of another, given then": {withUser, backends.WithScope(context.Background(), backends.Scope{AgentID: "bot"}), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{} })
			store := &testkit.Checkpoints{}
			agent := func() adk.Agent {
				return newAgent(t, "a", testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done")), m.with, askTool(t))
			}
			chatAgent := agent()
			r := m.WrapRunner(newRunner(chatAgent, false, store))
			drain(t, r.Query(c.run, "hi", append(c.opts, adk.WithCheckPointID("cp"))...))
			it, err := r.Resume(c.resume, "cp")
			require.NoError(t, err)
			require.Equal(t, []string{"tool: approved", "assistant: done"}, drain(t, it))
			turns := m.log.recorded()
			if c.lost {
				require.Len(t, turns, 1, "nobody's turn was completed")
				stages, err := m.failures.seen()
				require.Contains(t, stages, hooks.StageScope)
				require.ErrorIs(t, err, backends.ErrNoScope)
				return
			}
			require.Equal(t, []string{"user: hi", "assistant:  calls ask", "tool: approved", "assistant: done"}, m.log.turn(t))
			require.True(t, turns[len(turns)-1].Done)
			require.Equal(t, "ann", turns[len(turns)-1].Scope.UserID)
			m.fine(t)
		})
	}
}

// No answer of the model ends these runs, so that AfterChatModel never sees the
// end. The runner does.
func TestT14_TurnsThatEndWithoutAnAnswer(t *testing.T) {
	down := errors.New("model is down")
	for name, c := range map[string]struct {
		script []testkit.Reply
		change func(*adk.ChatModelAgentConfig)
		done   bool
		want   []string
	}{
		"return directly": {
			[]testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`)},
			func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.ReturnDirectly = map[string]bool{"echo": true} },
			true, []string{"user: hi", "assistant:  calls echo", "tool: echo:1"},
		},
		"exit": {
			[]testkit.Reply{testkit.Call("c", "exit", `{"final_result":"bye"}`)},
			func(cfg *adk.ChatModelAgentConfig) { cfg.Exit = adk.ExitTool{} },
			true, []string{"user: hi", "assistant:  calls exit", "tool: bye"},
		},
		"too many iterations": {
			[]testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`)},
			func(cfg *adk.ChatModelAgentConfig) { cfg.MaxIterations = 1 },
			false, []string{"user: hi", "assistant:  calls echo", "tool: echo:1"},
		},
		"model error": {
			[]testkit.Reply{testkit.Call("c", "echo", `{"q":"1"}`), testkit.Fail(down)}, nil,
			false, []string{"user: hi", "assistant:  calls echo", "tool: echo:1"},
		},
		"model error at once": {[]testkit.Reply{testkit.Fail(down)}, nil, false, []string{"user: hi"}},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m := newMemory(t, nil)
				finals := 0
				change := func(cfg *adk.ChatModelAgentConfig) {
					if c.change != nil {
						c.change(cfg)
					}
					cfg.Middlewares = append(cfg.Middlewares, adk.AgentMiddleware{AfterChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
						if len(s.Messages[len(s.Messages)-1].ToolCalls) == 0 {
							finals++
						}
						return nil
					}})
				}
				r := m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(c.script...), change, echoTool(t)), streaming, nil))
				drain(t, r.Query(context.Background(), "hi"))
				require.Zero(t, finals, "the trap is gone from this Eino")
				require.Equal(t, c.want, m.log.turn(t))
				turns := m.log.recorded()
				require.Len(t, turns, 1)
				require.Equal(t, c.done, turns[0].Done)
				m.fine(t)
			})
		}
	}
}

// In an agent that runs as a tool, the user's message is written by a model.
func TestT15_AnAgentInAToolRecallsAndNeverRecords(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		m := newMemory(t, nil)
		childModel := testkit.New(testkit.Text("child done"))
		child := newAgent(t, "child", childModel, m.with)
		task := adk.NewAgentTool(context.Background(), child)
		parentModel := testkit.New(testkit.Call("c", "child", `{"request":"a task"}`), testkit.Text("done"))
		parent := newAgent(t, "parent", parentModel, m.with, task)
		want := []string{"user: hi", "assistant:  calls child", "tool: child done", "assistant: done"}
		if wrapped {
			drain(t, m.WrapRunner(newRunner(parent, false, nil)).Query(context.Background(), "hi"))
		} else {
			drain(t, newRunner(parent, false, nil).Query(context.Background(), "hi"))
		}
		require.Equal(t, want, m.log.turn(t))
		require.Equal(t, []string{"hi", "a task"}, m.backend.queries())
		require.Equal(t, 1, notes(childModel.Calls()[0]))
		require.Equal(t, 1, notes(parentModel.Calls()[1]))
		m.fine(t)
	}
}

func TestT15_EventsFromInsideAToolAreForwardedAndNotRecorded(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := newMemory(t, nil)
		child := newAgent(t, "child", testkit.New(testkit.Call("c9", "echo", `{"q":"x"}`), testkit.Text("child done")), nil, echoTool(t))
		task := adk.NewAgentTool(context.Background(), child)
		parent := newAgent(t, "parent", testkit.New(testkit.Call("c", "child", `{"request":"a task"}`), testkit.Text("done")),
			func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.EmitInternalEvents = true }, task)
		out := drain(t, m.WrapRunner(newRunner(parent, streaming, nil)).Query(context.Background(), "hi"))
		require.Contains(t, out, "assistant: child done")
		require.Contains(t, out, "tool: echo:x")
		require.Equal(t, []string{"user: hi", "assistant:  calls child", "tool: child done", "assistant: done"}, m.log.turn(t))
	}
}

// The child is interrupted inside the parent's tool; when it goes on, its events
// come without the call that they belong to.
func TestT15_EventsFromInsideAResumedToolAreNotRecorded(t *testing.T) {
	m := newMemory(t, nil)
	child := newAgent(t, "child", testkit.New(testkit.Call("c9", "ask", "{}"), testkit.Text("child done")), nil, askTool(t))
	task := adk.NewAgentTool(context.Background(), child)
	parent := newAgent(t, "parent", testkit.New(testkit.Call("c", "child", `{"request":"a task"}`), testkit.Text("done")),
		func(cfg *adk.ChatModelAgentConfig) { cfg.ToolsConfig.EmitInternalEvents = true }, task)
	r := m.WrapRunner(newRunner(parent, false, &testkit.Checkpoints{}))
	drain(t, r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
	it, err := r.Resume(context.Background(), "cp")
	require.NoError(t, err)
	require.Contains(t, drain(t, it), "assistant: child done")
	require.Equal(t, []string{"user: hi", "assistant:  calls child", "tool: child done", "assistant: done"}, m.log.turn(t))
	m.fine(t)
}

func TestT15_ARunThatAToolMakesIsNotRecorded(t *testing.T) {
	m := newMemory(t, nil)
	inner := testkit.New(testkit.Text("inner done"))
	r := m.WrapRunner(newRunner(newAgent(t, "inner", inner, m.with), false, nil))
	delegate, err := utils.InferTool("delegate", "d", func(ctx context.Context, q query) (string, error) {
		return strings.Join(drain(t, r.Query(ctx, q.Q)), "\n"), nil
	})
	require.NoError(t, err)
	outer := newAgent(t, "outer", testkit.New(testkit.Call("c", "delegate", `{"q":"a task"}`), testkit.Text("done")), m.with, delegate)
	drain(t, m.WrapRunner(newRunner(outer, false, nil)).Query(context.Background(), "hi"))
	require.Equal(t, []string{"user: hi", "assistant:  calls delegate", "tool: assistant: inner done", "assistant: done"}, m.log.turn(t))
	require.Equal(t, 1, notes(inner.Calls()[0]))
	m.fine(t)
}

// A log that is slow holds up the end of the iterator and never an event.
func TestT20_EventsLeaveBeforeTheTurnIsWritten(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = true })
	read := make(chan struct{})
	m.log.onRecord = func(context.Context) { <-read }
	it := m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(testkit.Text("done")), nil), true, nil)).Query(context.Background(), "hi")
	e, ok := it.Next()
	require.True(t, ok)
	msg, err := e.Output.MessageOutput.GetMessage()
	require.NoError(t, err)
	require.Equal(t, "done", msg.Content)
	require.Empty(t, m.log.consolidated)
	close(read)
	_, ok = it.Next()
	require.False(t, ok)
	require.Len(t, m.log.consolidated, 1, "what the caller asked to wait for is done at the end")
}

// A stream leaves as it comes: the model waits for the reader of its first word.
func TestT20_StreamsAreNotHeldUp(t *testing.T) {
	m := newMemory(t, nil)
	read := make(chan struct{})
	slow := &slowModel{Chat: testkit.New(), proceed: read}
	it := m.WrapRunner(newRunner(newAgent(t, "a", slow, nil), true, nil)).Query(context.Background(), "hi")
	e, ok := it.Next()
	require.True(t, ok)
	first, err := e.Output.MessageOutput.MessageStream.Recv()
	require.NoError(t, err)
	require.Equal(t, "first ", first.Content)
	close(read)
	second, err := e.Output.MessageOutput.MessageStream.Recv()
	require.NoError(t, err)
	require.Equal(t, "second", second.Content)
	drain(t, it)
	require.Equal(t, []string{"user: hi", "assistant: first second"}, m.log.turn(t))
}

func TestT08_OneMemoryServesManyAgentsAtOnce(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Plan = bothPlan; c.Tools = []tool.BaseTool{echoTool(t)} })
	const runs = 32
	done := make(chan string, runs)
	for i := range runs {
		go func() {
			user := string(rune('A' + i))
			ctx := backends.WithScope(context.Background(), backends.Scope{UserID: user, SessionID: "s"})
			agent := newAgent(t, "a", threeCalls(), m.with)
			inner := newRunner(agent, i%2 == 0, nil)
			if i%4 < 2 {
				drain(t, m.WrapRunner(inner).Query(ctx, "I am "+user))
			} else {
				drain(t, inner.Query(ctx, "I am "+user))
			}
			done <- user
		}()
	}
	for range runs {
		<-done
	}
	require.Len(t, m.backend.queries(), runs)
	all := m.log.conversation(t)
	require.Len(t, all, runs)
	for _, turn := range m.log.recorded() {
		if turn.First == 0 {
			require.Equal(t, "I am "+turn.Scope.UserID, turn.Messages[0].Content, "a turn in another's memory")
		}
	}
	for _, said := range all {
		require.Len(t, said, 6)
	}
	m.fine(t)
}
