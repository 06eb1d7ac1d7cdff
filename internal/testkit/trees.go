// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"
)

// Grove builds trees of agents for one turn, and keeps the models in them.
type Grove struct {
	T     testing.TB
	Enter func(cfg *adk.ChatModelAgentConfig)                           // lets memory into each agent; nil: not
	Wrap  func(m model.ToolCallingChatModel) model.ToolCallingChatModel // of agents without a place for that; nil: not
	Work  []Reply                                                       // what an agent at work does before it answers
	Done  []string                                                      // and what is said by that
	Tools []tool.BaseTool

	Models []*Chat
}

// Agent returns an agent whose model follows a script.
func (g *Grove) Agent(name string, script ...Reply) *adk.ChatModelAgent {
	return Agent(g.T, name, g.model(script...), g.Enter, g.Tools...)
}

func (g *Grove) model(script ...Reply) *Chat {
	m := New(script...)
	g.Models = append(g.Models, m)
	return m
}

// wrapped is a model of an agent that takes no middleware.
func (g *Grove) wrapped(script ...Reply) model.ToolCallingChatModel {
	if g.Wrap == nil {
		return g.model(script...)
	}
	return g.Wrap(g.model(script...))
}

func (g *Grove) work(then ...string) []Reply {
	out := slices.Clone(g.Work)
	for _, s := range then {
		out = append(out, Text(s))
	}
	return out
}

func (g *Grove) done(then ...string) []string { return append(slices.Clone(g.Done), then...) }

// Trees are Eino's prebuilt trees, with what is said in a turn of each.
var Trees = map[string]func(g *Grove) (adk.Agent, []string){
	"sequential": func(g *Grove) (adk.Agent, []string) {
		a, err := adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d",
			SubAgents: []adk.Agent{g.Agent("a1", g.work("one")...), g.Agent("a2", g.work("two")...)}})
		require.NoError(g.T, err)
		return a, append(g.done("assistant: one"), g.done("assistant: two")...)
	},
	"loop": func(g *Grove) (adk.Agent, []string) {
		a, err := adk.NewLoopAgent(context.Background(), &adk.LoopAgentConfig{Name: "loop", Description: "d", MaxIterations: 2,
			SubAgents: []adk.Agent{g.Agent("a", append(g.work("one"), g.work("two")...)...)}})
		require.NoError(g.T, err)
		return a, append(g.done("assistant: one"), g.done("assistant: two")...)
	},
	"parallel": func(g *Grove) (adk.Agent, []string) {
		a, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
			SubAgents: []adk.Agent{g.Agent("a1", g.work("one")...), g.Agent("a2", Text("two"))}})
		require.NoError(g.T, err)
		return a, g.done("assistant: one", "assistant: two")
	},
	"supervisor": func(g *Grove) (adk.Agent, []string) {
		a, err := supervisor.New(context.Background(), &supervisor.Config{
			Supervisor: g.Agent("boss", Call("t", adk.TransferToAgentToolName, `{"agent_name":"worker"}`), Text("all done")),
			SubAgents:  []adk.Agent{g.Agent("worker", g.work("worked")...)}})
		require.NoError(g.T, err)
		return a, g.done("assistant: worked", "assistant: all done")
	},
	"plan-execute": func(g *Grove) (adk.Agent, []string) {
		ctx := context.Background()
		p, err := planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{ToolCallingChatModel: g.wrapped(Call("c", "plan", `{"steps":["s1"]}`))})
		require.NoError(g.T, err)
		e, err := planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{Model: g.wrapped(g.work("step done")...), MaxIterations: 50,
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: g.Tools}}})
		require.NoError(g.T, err)
		r, err := planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: g.wrapped(Call("c", "respond", `{"response":"bye"}`))})
		require.NoError(g.T, err)
		a, err := planexecute.New(ctx, &planexecute.Config{Planner: p, Executor: e, Replanner: r})
		require.NoError(g.T, err)
		return a, append([]string{`assistant: {"steps":["s1"]}`}, g.done("assistant: step done", `assistant: {"response":"bye"}`)...)
	},
	"deep": func(g *Grove) (adk.Agent, []string) {
		a, err := deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", MaxIteration: 50,
			ChatModel:   g.wrapped(g.work("done")...),
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: g.Tools}}})
		require.NoError(g.T, err)
		return a, g.done("assistant: done")
	},
}
