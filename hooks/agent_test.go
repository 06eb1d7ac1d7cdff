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
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/modes"
)

// The tests TestT… are named by the traps of Eino, see package einox: they show the trap
// by a naive middleware, and that ours avoids it.

func threeCalls() *testkit.Chat {
	return testkit.New(testkit.Call("c1", "echo", `{"q":"1"}`), testkit.Call("c2", "echo", `{"q":"2"}`), testkit.Text("done"))
}

var threeCallsLogged = []string{"user: any news", "assistant:  calls echo", "tool: echo:1", "assistant:  calls echo", "tool: echo:2", "assistant: done"}

// run runs an agent with memories once, for "any news".
func run(t *testing.T, chat *testkit.Chat, tools []tool.BaseTool, memories ...testkit.Memory) []string {
	t.Helper()
	a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, memories...) }, tools...)
	return testkit.Drain(testkit.Runner(a, false, nil).Query(t.Context(), "any news"))
}

func before(f func(ctx context.Context, s *adk.ChatModelAgentState)) testkit.Other {
	return testkit.Other{BeforeChatModel: func(ctx context.Context, s *adk.ChatModelAgentState) error { f(ctx, s); return nil }}
}

func after(f func(ctx context.Context, s *adk.ChatModelAgentState)) testkit.Other {
	return testkit.Other{AfterChatModel: func(ctx context.Context, s *adk.ChatModelAgentState) error { f(ctx, s); return nil }}
}

// Each answer is written as it comes, the whole turn at its end.
func TestTheMiddlewareRecordsATurnAsItGrows(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := newMemory(t, nil)
		var logged [][]string
		spy := after(func(context.Context, *adk.ChatModelAgentState) { logged = append(logged, m.logged(ann)) })
		a := testkit.Agent(t, "a", threeCalls(), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, m, spy) }, testkit.Echo(t))
		testkit.Drain(testkit.Runner(a, streaming, nil).Query(t.Context(), "any news"))
		require.Equal(t, [][]string{threeCallsLogged[:2], threeCallsLogged[:4], threeCallsLogged}, logged)
		require.Equal(t, [2]int{1, 1}, m.turns())
		require.Len(t, m.backend.Adds(), 1, "an open turn is not learnt from")
		m.fine()
	}
}

// With the middleware alone a model that fails costs nothing of what its user said, and an
// answer later in the same run completes the turn. The question is one write a turn more,
// and waits for none.
func TestWhatTheUserSaidIsKeptWhenTheModelFails(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, await := range []bool{false, true} {
			m := newMemory(t, func(s *setup) { s.AwaitWrite = await })
			chat := testkit.New(testkit.Call("c1", "echo", `{"q":"1"}`), testkit.Fail(errors.New("down")), testkit.Fail(errors.New("down")), testkit.Text("ok"))
			agent := m.enter(doors["middleware"], chat, nil, streaming, testkit.Echo(t))
			testkit.Drain(agent.Query(t.Context(), "I moved to Bergen."))
			testkit.Drain(agent.Query(t.Context(), "Hello?"))
			require.Contains(t, testkit.Last(testkit.Drain(agent.Query(t.Context(), "Again."))), "ok")
			require.NoError(t, m.log.Flush(t.Context()))
			require.Equal(t, []string{"user: I moved to Bergen.", "assistant:  calls echo", "user: Hello?", "user: Again.", "assistant: ok"}, m.logged(ann))
			require.Equal(t, [2]int{3, 1}, m.turns())
			require.Empty(t, m.backend.Adds(), "an open turn comes first")
			appends := slices.DeleteFunc(m.db.Calls(), func(method string) bool { return method != "Append" })
			require.Len(t, appends, 5, "the questions, a call, and a turn")
			m.fine()
		}
	}
}

// What the log has no room for holds up no model, and is not lost where the turn ends.
func TestAQuestionWaitsForNoRoomInTheQueue(t *testing.T) {
	db, failures, room := testkit.Spy(testkit.SQLite(t)), &testkit.Failures{}, make(chan struct{})
	db.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Append" {
			c.Before = func() { <-room }
		}
		return nil
	})
	log, err := working.New(t.Context(), &working.Config{Sessions: db, Backend: testkit.Knowing(), Queue: 1, Sweep: -1, Idle: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close(context.Background())) })
	require.NoError(t, log.Record(t.Context(), &working.Turn{Scope: ann, ID: "other", Messages: testkit.Say("Hello?"), Done: true}))
	h, err := hooks.New(t.Context(), &hooks.Config{Backend: testkit.Knowing(), Scope: ann, OnError: failures.Add}, log, nil, nil)
	require.NoError(t, err)
	chat := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		close(room)
		return schema.AssistantMessage("ok", nil), nil
	})
	require.Equal(t, []string{"assistant: ok"}, run(t, chat, nil, h))
	require.Equal(t, []string{hooks.StageRecord}, failures.Stages())
	require.ErrorContains(t, failures.Err(), "record the question")
	require.NoError(t, log.Flush(t.Context()))
	require.Len(t, testkit.Logged(t, db.Store, ann), 3, "the other turn, the question and its answer")
}

func TestTurnsOfOneAgentFollowEachOther(t *testing.T) {
	m := newMemory(t, nil)
	agent, history := testkit.Agent(t, "a", testkit.New(), m.with), testkit.Say("one")
	for _, next := range []string{"two", "three"} {
		testkit.Drain(testkit.Runner(agent, false, nil).Run(t.Context(), history))
		history = append(history, schema.AssistantMessage("ok", nil), schema.UserMessage(next))
	}
	require.Equal(t, []string{"user: one", "assistant: ok", "user: two", "assistant: ok"}, m.logged(ann))
	require.Equal(t, [2]int{2, 2}, m.turns())
	require.Equal(t, []string{"one", "two"}, m.backend.Queries())
}

func TestWithoutALogNothingIsRecorded(t *testing.T) {
	m := newMemory(t, func(s *setup) { s.noLog = true })
	require.Nil(t, m.AgentMiddleware().AfterChatModel)
	chat := testkit.New()
	testkit.Drain(m.enter(doors["both"], chat, nil, true).Query(t.Context(), "any news"))
	require.Equal(t, 1, testkit.Notes(chat.Calls()[0]))
	m.fine()
}

// A run is recorded for whom it was searched, whatever its agents write into the
// session meanwhile.
func TestTheScopeOfARunStays(t *testing.T) {
	bot := backends.Scope{AgentID: "bot", SessionID: "s1"}
	m := newMemory(t, func(s *setup) { s.Scope, s.AgentMemory = bot, true })
	eve := before(func(ctx context.Context, _ *adk.ChatModelAgentState) { adk.AddSessionValue(ctx, "user_id", "eve") })
	a := testkit.Agent(t, "a", testkit.New(), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, eve, m) })
	testkit.Drain(m.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "any news"))
	require.Len(t, m.logged(bot), 2)
	require.Equal(t, bot, m.backend.Searches()[0].Scope)
}

// The middleware is called by hand with what no agent gives it.
func TestTheMiddlewareTakesAnything(t *testing.T) {
	m := newMemory(t, nil)
	mw := m.AgentMiddleware()
	states := []*adk.ChatModelAgentState{nil}
	for _, msgs := range [][]*schema.Message{nil, {nil}, {nil, schema.UserMessage("any news"), nil}, {schema.SystemMessage(" ")}} {
		states = append(states, &adk.ChatModelAgentState{Messages: msgs})
	}
	for _, s := range states {
		require.NoError(t, mw.BeforeChatModel(t.Context(), s))
		require.NoError(t, mw.AfterChatModel(t.Context(), s))
	}
	m.fine()
}

func TestTwoMemoriesOnOneAgent(t *testing.T) {
	one, two := newMemory(t, nil), newMemory(t, func(s *setup) { s.NoteName = "experience"; s.backend.Found = testkit.Hits("try again after an hour") })
	chat := threeCalls()
	a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, one, two) }, testkit.Echo(t))
	testkit.Drain(one.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "any news"))
	for _, call := range chat.Calls() {
		require.Equal(t, 2, testkit.Notes(call))
	}
	for _, m := range []*memory{one, two} {
		require.Equal(t, []string{"any news"}, m.backend.Queries())
		require.Equal(t, threeCallsLogged, m.logged(ann))
		m.fine()
	}
}

// Eino would list their tools twice, and call those of one of them.
func TestMemoriesThatShareANameFailTheFirstRun(t *testing.T) {
	both := func(s *setup) { s.Mode, s.tools = modes.Both, []tool.BaseTool{testkit.Echo(t)} }
	quiet := func(s *setup) { both(s); s.Mode = modes.AgentControl }
	for name, c := range map[string]struct {
		list func() []testkit.Memory
		want string
	}{
		"one value twice": {func() []testkit.Memory {
			m := testkit.Other(newMemory(t, nil).AgentMiddleware())
			return []testkit.Memory{m, m}
		}, "one memory middleware twice"},
		"one memory twice": {func() []testkit.Memory {
			m := newMemory(t, both)
			return []testkit.Memory{m, m}
		}, "with echo"},
		"the same note": {func() []testkit.Memory {
			return []testkit.Memory{newMemory(t, nil), newMemory(t, nil)}
		}, "with the note memory"},
		"the same tool": {func() []testkit.Memory {
			return []testkit.Memory{newMemory(t, quiet), newMemory(t, quiet)}
		}, "with echo"},
		"nothing in common": {func() []testkit.Memory {
			return []testkit.Memory{newMemory(t, quiet), newMemory(t, nil)}
		}, ""},
	} {
		for _, wrapped := range []bool{false, true} {
			chat := threeCalls()
			a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, c.list()...) }, testkit.Echo(t))
			var runner testkit.Run = testkit.Runner(a, false, nil)
			if wrapped {
				runner = newMemory(t, nil).WrapRunner(testkit.Runner(a, false, nil))
			}
			for range 2 {
				last := testkit.Last(testkit.Drain(runner.Query(t.Context(), "hi")))
				if c.want == "" {
					require.Equal(t, "assistant: ", last[:len("assistant: ")], name)
					continue
				}
				require.Contains(t, last, c.want, name)
				require.Empty(t, chat.Calls(), "the first run says so, and each that follows")
			}
		}
	}
}

// What is not listed twice is never taken for it: one value in many agents and runs, also
// where the history of a run, marks and all, is what an agent is given.
func TestOneMemoryInManyPlacesFailsNoRun(t *testing.T) {
	m := newMemory(t, func(s *setup) { s.Mode, s.tools = modes.Both, []tool.BaseTool{testkit.Echo(t)} })
	inner := testkit.Agent(t, "inner", threeCalls(), m.with)
	var kept []*schema.Message
	keep := before(func(_ context.Context, s *adk.ChatModelAgentState) { kept = s.Messages })
	outer := testkit.Agent(t, "outer", testkit.New(testkit.Call("c1", "inner", `{"request":"go"}`), testkit.Text("done")), func(cfg *adk.ChatModelAgentConfig) {
		testkit.Attach(cfg, m, keep)
	}, adk.NewAgentTool(t.Context(), inner, adk.WithFullChatHistoryAsInput()))
	require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(testkit.Runner(outer, false, nil).Query(t.Context(), "hi"))))
	prepared, err := m.Prepare(t.Context(), testkit.Say("hi"))
	require.NoError(t, err)
	for _, messages := range [][]*schema.Message{kept, prepared, testkit.Say("hi")} {
		for range 2 {
			testkit.Drain(testkit.Runner(outer, true, nil).Run(t.Context(), messages))
			require.Equal(t, "assistant: done", testkit.Last(testkit.Drain(testkit.Runner(outer, true, nil).Run(t.Context(), messages))))
		}
	}
	m.fine()
}

// Session values turn braces of an instruction into templates: it fails, or it
// shows the model a session value. What we put into the instruction has none, and
// memories go into messages, which are never formatted.
func TestT01_BracesNeverReachTheInstruction(t *testing.T) {
	values := adk.WithSessionValues(map[string]any{"secret": "S3CRET"})
	query := func(chat *testkit.Chat, m testkit.Memory) []string {
		a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, m) })
		return testkit.Drain(testkit.Runner(a, false, nil).Query(t.Context(), "any news", values))
	}
	chat := testkit.New()
	query(chat, testkit.Other{AdditionalInstruction: "remember: {secret}"})
	testkit.Trap(t, strings.Contains(text(chat.Calls()[0]), "S3CRET"))

	for _, l := range []backends.Language{backends.English, backends.Chinese} {
		m := newMemory(t, func(s *setup) { s.Mode, s.Language = modes.Both, l })
		require.NotContains(t, m.Instruction(), "{")
		m.backend.Found = testkit.Hits(`likes {"tea": 1} and {secret}`)
		chat := testkit.New()
		require.Equal(t, []string{"assistant: ok"}, query(chat, m))
		in := text(chat.Calls()[0])
		require.Contains(t, in, `likes {"tea": 1} and {secret}`)
		require.Contains(t, in, "search_memory")
		require.NotContains(t, in, "S3CRET")
		m.fine()
	}
}

// The hook runs before every call of the model, and what it adds stays.
func TestT02_OneSearchAndOneNoteATurn(t *testing.T) {
	n, chat := 0, threeCalls()
	run(t, chat, []tool.BaseTool{testkit.Echo(t)}, before(func(_ context.Context, s *adk.ChatModelAgentState) {
		n++
		s.Messages = append(s.Messages, schema.SystemMessage(fmt.Sprint("note ", n)))
	}))
	last := text(chat.Calls()[2])
	testkit.Trap(t, strings.Contains(last, "note 1") && strings.Contains(last, "note 3"))

	for _, found := range []int{1, 0} {
		m, chat := newMemory(t, nil), threeCalls()
		m.backend.Found = m.backend.Found[:found]
		run(t, chat, []tool.BaseTool{testkit.Echo(t)}, m)
		require.Equal(t, []string{"any news"}, m.backend.Queries())
		for _, call := range chat.Calls() {
			require.Equal(t, found, testkit.Notes(call))
		}
		m.fine()
	}
	m, chat := newMemory(t, nil), threeCalls()
	run(t, chat, []tool.BaseTool{testkit.Echo(t)}, before(func(_ context.Context, s *adk.ChatModelAgentState) {
		s.Messages = slices.Clone(s.Messages)
		for i, msg := range s.Messages {
			if strings.Contains(msg.Content, tea) {
				rewritten := *msg
				rewritten.Content = einox.Text(msg)
				s.Messages[i] = &rewritten
			}
		}
	}), m)
	for _, call := range chat.Calls() {
		require.Equal(t, 1, testkit.Notes(call), "a note that vanished is injected again")
	}
	require.Equal(t, threeCallsLogged, m.logged(ann))
}

// A backend may call a model in Search with the context it is given. In a hook
// that would speak as the agent.
func TestT03_ABackendsModelCallsStayOutOfTheEvents(t *testing.T) {
	m, inner := newMemory(t, nil), testkit.New(testkit.Text("REWRITTEN QUERY"))
	m.backend.OnSearch = func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
		_, err := inner.Generate(ctx, testkit.Say("x"))
		return nil, err
	}
	m.backend.OnAdd = func(ctx context.Context, _ *backends.AddRequest) (*backends.AddResponse, error) {
		_, err := inner.Generate(ctx, testkit.Say("y"))
		return &backends.AddResponse{}, err
	}
	for _, tools := range [][]tool.BaseTool{nil, {testkit.Echo(t)}} {
		require.Equal(t, []string{"assistant: ok"}, run(t, testkit.New(), tools, m))
	}
	require.Len(t, inner.Calls(), 4)
	m.fine()
}

// Hooks run under the lock of the agent's state. They take none of it: the run
// would never end.
func TestT04_HooksLeaveTheAgentsStateAlone(t *testing.T) {
	asking, got, entered := make(chan struct{}), make(chan struct{}), &atomic.Bool{}
	run(t, testkit.New(), nil, before(func(ctx context.Context, _ *adk.ChatModelAgentState) {
		go func() {
			defer close(got)
			close(asking)
			_ = compose.ProcessState(ctx, func(context.Context, *adk.ChatModelAgentState) error { entered.Store(true); return nil })
		}()
		<-asking
		for range 100 {
			runtime.Gosched()
		}
		testkit.Trap(t, !entered.Load())
	}))
	<-got

	m := newMemory(t, func(s *setup) { s.Scope = backends.Scope{} })
	out := testkit.Drain(m.enter(doors["middleware"], threeCalls(), nil, true, testkit.Echo(t)).
		Query(t.Context(), "any news", adk.WithSessionValues(map[string]any{"user_id": "ann"})))
	require.Equal(t, "assistant: done", testkit.Last(out))
	m.fine()
}

// A session value of ours would switch on the templates of T1 and be persisted.
func TestT06_NoSessionValueIsWritten(t *testing.T) {
	m := newMemory(t, func(s *setup) { s.Mode = modes.Both })
	var seen map[string]any
	look := after(func(ctx context.Context, _ *adk.ChatModelAgentState) { seen = adk.GetSessionValues(ctx) })
	a := testkit.Agent(t, "a", testkit.New(), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, m, look) })
	testkit.Drain(m.WrapRunner(testkit.Runner(a, false, nil)).Query(t.Context(), "any news"))
	require.NotNil(t, seen)
	require.Empty(t, seen)
}

// requireReadOnly shows our hook an answer: it records it, and leaves the state
// as it is.
func requireReadOnly(t *testing.T, answer *schema.Message, done int) {
	t.Helper()
	m := newMemory(t, nil)
	mw, state := m.AgentMiddleware(), &adk.ChatModelAgentState{Messages: testkit.Say("any news")}
	require.NoError(t, mw.BeforeChatModel(t.Context(), state))
	state.Messages = append(state.Messages, answer)
	kept := slices.Clone(state.Messages)
	require.NoError(t, mw.AfterChatModel(t.Context(), state))
	require.Len(t, state.Messages, len(kept))
	for i := range kept {
		require.Same(t, kept[i], state.Messages[i])
	}
	require.Equal(t, [2]int{1, done}, m.turns())
}

// What AfterChatModel changes does not reach the event, which is gone.
func TestT09_AnEditAfterTheModelIsNotSeen(t *testing.T) {
	out := run(t, testkit.New(testkit.Text("said")), nil, after(func(_ context.Context, s *adk.ChatModelAgentState) {
		s.Messages[len(s.Messages)-1] = schema.AssistantMessage("changed", nil)
	}))
	testkit.Trap(t, testkit.Last(out) == "assistant: said")
	requireReadOnly(t, schema.AssistantMessage("said", nil), 1)
}

// A message behind a tool call ends the run, without an error.
func TestT10_NothingIsAppendedBehindAToolCall(t *testing.T) {
	out := run(t, threeCalls(), []tool.BaseTool{testkit.Echo(t)}, after(func(_ context.Context, s *adk.ChatModelAgentState) {
		s.Messages = append(s.Messages, schema.SystemMessage("note"))
	}))
	testkit.Trap(t, !slices.Contains(out, "assistant: done"))
	requireReadOnly(t, calling("echo"), 0)
}

// Eino appends a middleware's tools to the caller's slice.
func TestT12_ToolsComeInASliceOfTheirOwn(t *testing.T) {
	spare := append(make([]tool.BaseTool, 0, 4), testkit.Echo(t))
	testkit.Agent(t, "a", testkit.New(), func(cfg *adk.ChatModelAgentConfig) {
		testkit.Attach(cfg, testkit.Other{AdditionalTools: []tool.BaseTool{testkit.Approval(t)}})
	}, spare...)
	testkit.OldTrap(t, spare[:2][1] != nil)
	spare[:2][1] = nil

	m := newMemory(t, func(s *setup) { s.tools = spare })
	one, two := m.AgentMiddleware().AdditionalTools, m.AgentMiddleware().AdditionalTools
	require.Len(t, one, 1)
	require.Equal(t, len(one), cap(one))
	one[0] = nil
	require.NotNil(t, two[0])
	require.NotNil(t, m.AgentMiddleware().AdditionalTools[0])
	require.Nil(t, spare[:2][1])
}

func TestT13_TheCallersHistoryStaysAsItIs(t *testing.T) {
	m, history := newMemory(t, nil), testkit.Say("any news")
	for _, by := range []string{"both", "middleware", "both"} {
		testkit.Drain(m.enter(doors[by], testkit.New(), nil, false).Run(t.Context(), history))
	}
	require.Equal(t, testkit.Say("any news"), history)
}

// What other agents did arrives in the user's role.
func TestT16_TransfersAreNotWhatTheUserSaid(t *testing.T) {
	m, chat := newMemory(t, nil), testkit.New(testkit.Text("two"))
	seq, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "seq", Description: "d", SubAgents: []adk.Agent{
		testkit.Agent(t, "first", testkit.New(testkit.Text("one")), nil), testkit.Agent(t, "second", chat, m.with),
	}})
	require.NoError(t, err)
	testkit.Drain(testkit.Runner(seq, false, nil).Query(t.Context(), "any news"))
	testkit.Trap(t, strings.Contains(text(chat.Calls()[0]), "For context: [first] said: one."))
	require.Equal(t, []string{"any news"}, m.backend.Queries())
	require.Equal(t, []string{"user: any news", "assistant: two"}, m.logged(ann))
}

// A middleware without an instruction makes a system message of a line break.
func TestT18_ABlankSystemMessageIsDropped(t *testing.T) {
	bare := func(chat *testkit.Chat, memories ...testkit.Memory) []string {
		a := testkit.Agent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
			cfg.Instruction = ""
			testkit.Attach(cfg, memories...)
		})
		testkit.Drain(testkit.Runner(a, false, nil).Query(t.Context(), "any news"))
		return testkit.Lines(chat.Calls()[0])
	}
	testkit.OldTrap(t, len(bare(testkit.New(), testkit.Other{})) == 2)
	m := newMemory(t, func(s *setup) { s.backend.Found = nil })
	require.Equal(t, []string{"user: any news"}, bare(testkit.New(), testkit.Other{}, m))
}

// An error of a hook fails the run, even when the answer was given.
func TestT19_HooksReturnNoErrors(t *testing.T) {
	out := run(t, testkit.New(), nil, testkit.Other{AfterChatModel: func(context.Context, *adk.ChatModelAgentState) error { return errors.New("down") }})
	testkit.Trap(t, strings.HasPrefix(testkit.Last(out), "error: "))

	for _, scope := range []backends.Scope{ann, {}, {Namespace: "n"}} {
		m := newMemory(t, func(s *setup) { s.Scope = scope })
		m.backend.OnSearch = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("down") }
		m.db.FailOn(backends.ErrUnavailable, "Append")
		require.Equal(t, []string{"assistant: ok"}, run(t, testkit.New(), nil, m))
		require.NotEmpty(t, m.failures.Stages())
		m.db.Arm(nil)
	}
}

// One agent must not run twice at once in Eino 0.7: each goroutine has its own, with the
// same memory.
func TestT08_OneMemoryServesManyAgentsAtOnce(t *testing.T) {
	m := newMemory(t, func(s *setup) { s.Mode, s.tools = modes.Both, []tool.BaseTool{testkit.Echo(t)} })
	const runs = 32
	done := make(chan struct{}, runs)
	for i := range runs {
		user := string(rune('A' + i))
		r := m.enter(map[bool]door{true: doors["both"], false: doors["middleware"]}[i%4 < 2], threeCalls(), nil, i%2 == 0)
		go func() {
			defer func() { done <- struct{}{} }()
			testkit.Drain(r.Query(backends.WithScope(context.Background(), backends.Scope{UserID: user, SessionID: "s"}), "I am "+user))
		}()
	}
	for range runs {
		<-done
	}
	require.Len(t, m.backend.Queries(), runs)
	for i := range runs {
		user := string(rune('A' + i))
		want := append([]string{"user: I am " + user}, threeCallsLogged[1:]...)
		require.Equal(t, want, m.logged(backends.Scope{UserID: user, AgentID: "bot", SessionID: "s"}))
	}
	m.fine()
}
