// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
)

// tree is an agent tree and the models in it.
type tree struct {
	agent  adk.Agent
	models []*testkit.Chat // all of them see the memory at every call
	turn   []string        // what is recorded of the turn, in any order if unordered
	any    bool
}

func sequential(t *testing.T) tree {
	one, two := testkit.New(testkit.Call("c", "echo", `{"q":"1"}`), testkit.Text("one")), testkit.New(testkit.Text("two"))
	a, err := adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d",
		SubAgents: []adk.Agent{newAgent(t, "a1", one, nil, echoTool(t)), newAgent(t, "a2", two, nil)}})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{one, two}, []string{"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant: one", "assistant: two"}, false}
}

func loop(t *testing.T) tree {
	m := testkit.New(testkit.Text("one"), testkit.Text("two"))
	a, err := adk.NewLoopAgent(context.Background(), &adk.LoopAgentConfig{Name: "loop", Description: "d", MaxIterations: 2,
		SubAgents: []adk.Agent{newAgent(t, "a", m, nil)}})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{m}, []string{"user: hi", "assistant: one", "assistant: two"}, false}
}

func parallel(t *testing.T) tree {
	one, two := testkit.New(testkit.Text("one")), testkit.New(testkit.Call("c", "echo", `{"q":"1"}`), testkit.Text("two"))
	a, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
		SubAgents: []adk.Agent{newAgent(t, "a1", one, nil), newAgent(t, "a2", two, nil, echoTool(t))}})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{one, two}, []string{"user: hi", "assistant: one", "assistant:  calls echo", "tool: echo:1", "assistant: two"}, true}
}

func supervised(t *testing.T) tree {
	boss := testkit.New(testkit.Call("c", "transfer_to_agent", `{"agent_name":"worker"}`), testkit.Text("all done"))
	worker := testkit.New(testkit.Text("worked"))
	a, err := supervisor.New(context.Background(), &supervisor.Config{Supervisor: newAgent(t, "boss", boss, nil), SubAgents: []adk.Agent{newAgent(t, "worker", worker, nil)}})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{boss, worker}, []string{"user: hi", "assistant: worked", "assistant: all done"}, false}
}

func deepAgent(t *testing.T) tree {
	m := testkit.New(
		testkit.Call("c1", "write_todos", `{"todos":[{"content":"c","activeForm":"a","status":"pending"}]}`),
		testkit.Text("done"))
	a, err := deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", ChatModel: m})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{m}, []string{"user: hi", "assistant:  calls write_todos",
		`tool: Updated todo list to [{"content":"c","activeForm":"a","status":"pending"}]`, "assistant: done"}, false}
}

func planExecute(t *testing.T) tree {
	ctx := context.Background()
	plan := testkit.New(testkit.Call("c", "plan", `{"steps":["s1"]}`))
	execute := testkit.New(testkit.Text("step done"))
	replan := testkit.New(testkit.Call("c", "respond", `{"response":"bye"}`))
	p, err := planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{ToolCallingChatModel: plan})
	require.NoError(t, err)
	e, err := planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{Model: execute,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{echoTool(t)}}}})
	require.NoError(t, err)
	r, err := planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: replan})
	require.NoError(t, err)
	a, err := planexecute.New(ctx, &planexecute.Config{Planner: p, Executor: e, Replanner: r})
	require.NoError(t, err)
	return tree{a, []*testkit.Chat{plan, execute, replan},
		[]string{"user: hi", `assistant: {"steps":["s1"]}`, "assistant: step done", `assistant: {"response":"bye"}`}, false}
}

// Every model of a tree sees the memory, and the turn is recorded once.
// plan-execute has no place for a middleware (trap T17).
func TestT17_EveryAgentTreeHasMemoryThroughTheRunner(t *testing.T) {
	for name, build := range map[string]func(*testing.T) tree{
		"sequential": sequential, "loop": loop, "parallel": parallel, "supervisor": supervised, "deep": deepAgent, "plan-execute": planExecute,
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m := newMemory(t, nil)
				tr := build(t)
				out := drain(t, m.WrapRunner(newRunner(tr.agent, streaming, nil)).Query(context.Background(), "hi"))
				for _, said := range out {
					require.NotContains(t, said, "error: ")
				}
				for _, model := range tr.models {
					require.NotEmpty(t, model.Calls())
					for _, call := range model.Calls() {
						require.True(t, sees(call, tea), "a model did not see the memory")
					}
				}
				require.Equal(t, []string{"hi"}, m.backend.queries())
				turns := m.log.recorded()
				require.Len(t, turns, 1)
				require.True(t, turns[0].Done)
				got, want := m.log.turn(t), slices.Clone(tr.turn)
				if tr.any {
					slices.Sort(got)
					slices.Sort(want)
				}
				require.Equal(t, want, got)
				m.fine(t)
			})
		}
	}
}

// Deep's general agent carries the middlewares of the main one, and runs in a tool.
func TestDeepsOwnSubAgentRecallsAndNeverRecords(t *testing.T) {
	m := newMemory(t, nil)
	model := testkit.New(
		testkit.Call("c1", "task", `{"subagent_type":"general-purpose","description":"do it"}`),
		testkit.Text("sub"), testkit.Text("done"))
	a, err := deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", ChatModel: model, Middlewares: []adk.AgentMiddleware{m.AgentMiddleware()}})
	require.NoError(t, err)
	drain(t, m.WrapRunner(newRunner(a, false, nil)).Query(context.Background(), "hi"))
	for _, call := range model.Calls() {
		require.Equal(t, 1, notes(call))
	}
	require.Equal(t, []string{"user: hi", "assistant:  calls task", "tool: sub", "assistant: done"}, m.log.turn(t))
}
