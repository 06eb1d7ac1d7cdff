// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
)

// grove builds one tree of agents of d, for one turn. Each agent is let to memory
// by in; models that have no place for it are wrapped.
type grove struct {
	t      *testing.T
	d      *desk
	models []*testkit.Chat
	in     func(cfg *adk.ChatModelAgentConfig)
}

func (g *grove) agent(name string, script ...testkit.Reply) *adk.ChatModelAgent {
	return newAgent(g.t, name, g.model(script...), g.in, readTool(g.t, pageWords))
}

func (g *grove) model(script ...testkit.Reply) *testkit.Chat {
	m := testkit.New(script...)
	g.models = append(g.models, m)
	return m
}

// Eight pages of 150 words are three times the window of the trees.
const (
	pageWords  = 150
	pageCount  = 8
	treeWindow = 2500
)

func pages(n int, then ...testkit.Reply) []testkit.Reply {
	script, _ := readPages(0, n, pageWords, then...)
	return script
}

func pagesAndThen(then ...testkit.Reply) []testkit.Reply { return pages(pageCount, then...) }

func said(n int, then ...string) []string {
	_, out := readPages(0, n, pageWords)
	return append(out, then...)
}

func pagesSaid(then ...string) []string { return said(pageCount, then...) }

// trees are the prebuilt ones, with what a turn of each says.
var trees = map[string]func(g *grove) (adk.Agent, []string){
	"sequential": func(g *grove) (adk.Agent, []string) {
		a, err := adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d",
			SubAgents: []adk.Agent{g.agent("a1", pagesAndThen(testkit.Text("one"))...), g.agent("a2", pagesAndThen(testkit.Text("two"))...)}})
		require.NoError(g.t, err)
		return a, append(pagesSaid("assistant: one"), pagesSaid("assistant: two")...)
	},
	"loop": func(g *grove) (adk.Agent, []string) {
		a, err := adk.NewLoopAgent(context.Background(), &adk.LoopAgentConfig{Name: "loop", Description: "d", MaxIterations: 2,
			SubAgents: []adk.Agent{g.agent("a", append(pagesAndThen(testkit.Text("one")), pagesAndThen(testkit.Text("two"))...)...)}})
		require.NoError(g.t, err)
		return a, append(pagesSaid("assistant: one"), pagesSaid("assistant: two")...)
	},
	"parallel": func(g *grove) (adk.Agent, []string) {
		a, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
			SubAgents: []adk.Agent{g.agent("a1", pagesAndThen(testkit.Text("one"))...), g.agent("a2", testkit.Text("two"))}})
		require.NoError(g.t, err)
		return a, pagesSaid("assistant: one", "assistant: two")
	},
	"supervisor": func(g *grove) (adk.Agent, []string) {
		a, err := supervisor.New(context.Background(), &supervisor.Config{
			Supervisor: g.agent("boss", testkit.Call("t", "transfer_to_agent", `{"agent_name":"worker"}`), testkit.Text("all done")),
			SubAgents:  []adk.Agent{g.agent("worker", pages(pageCount, testkit.Text("worked"))...)}})
		require.NoError(g.t, err)
		return a, said(pageCount, "assistant: worked", "assistant: all done")
	},
	"plan-execute": func(g *grove) (adk.Agent, []string) {
		ctx := context.Background()
		wrap := func(m *testkit.Chat) model.ToolCallingChatModel { return g.d.WrapModel(m) }
		p, err := planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{ToolCallingChatModel: wrap(g.model(testkit.Call("c", "plan", `{"steps":["s1"]}`)))})
		require.NoError(g.t, err)
		e, err := planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{Model: wrap(g.model(pagesAndThen(testkit.Text("step done"))...)), MaxIterations: 50,
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{readTool(g.t, pageWords)}}}})
		require.NoError(g.t, err)
		r, err := planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{ChatModel: wrap(g.model(testkit.Call("c", "respond", `{"response":"bye"}`)))})
		require.NoError(g.t, err)
		a, err := planexecute.New(ctx, &planexecute.Config{Planner: p, Executor: e, Replanner: r})
		require.NoError(g.t, err)
		return a, append([]string{`assistant: {"steps":["s1"]}`}, pagesSaid("assistant: step done", `assistant: {"response":"bye"}`)...)
	},
	"deep": func(g *grove) (adk.Agent, []string) {
		a, err := deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", MaxIteration: 50,
			ChatModel:   g.d.WrapModel(g.model(pagesAndThen(testkit.Text("done"))...)),
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{readTool(g.t, pageWords)}}}})
		require.NoError(g.t, err)
		return a, pagesSaid("assistant: done")
	},
}

// Three turns of every tree in one session, behind a wrapped runner, with the
// middleware in each agent and without: the log has each turn once, every model
// call is valid and within the budget, and the next turn knows of the last.
func TestEveryTreeGoesOnWithItsSession(t *testing.T) {
	for name, build := range trees {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", both ", both), func(t *testing.T) {
				tokens := treeWindow
				if name == "deep" {
					tokens += 6000 // its system prompt
				}
				d := newDesk(t, setting{tokens: tokens})
				var want []string
				for turn := range 3 {
					g := &grove{t: t, d: d, in: func(cfg *adk.ChatModelAgentConfig) {
						cfg.MaxIterations = 50
						if both {
							d.with(cfg)
						} else {
							cfg.Model = d.WrapModel(cfg.Model.(*testkit.Chat))
						}
					}}
					a, said := build(g)
					out := drain(t, d.WrapRunner(newRunner(a, turn == 1, nil)).Query(context.Background(), fmt.Sprint("question ", turn)))
					for _, o := range out {
						require.NotContains(t, o, "error: ")
					}
					d.sane(g.models...)
					want = append(append(want, fmt.Sprint("user: question ", turn)), said...)
					got := d.logged()
					if name == "parallel" {
						slices.Sort(got)
						require.Equal(t, slices.Sorted(slices.Values(want)), got)
					} else {
						require.Equal(t, want, got)
					}
					all, done := d.turns()
					require.Equal(t, []int{turn + 1, turn + 1}, []int{all, done}, "each turn once")
					if turn > 0 {
						for i, m := range g.models {
							require.Contains(t, text(m.Calls()[0]...), fmt.Sprint("question ", turn-1), "model %d knows what was said before", i)
						}
					}
				}
				d.fine()
			})
		}
	}
}

// With the middleware alone each agent of a workflow has its part recorded as a
// turn of its own, and nothing of its second visit in one run: that is why trees
// want a wrapped runner. Every context is valid all the same.
func TestTreesWithTheMiddlewareAloneRecordEachAgentsFirstVisit(t *testing.T) {
	for name, words := range map[string][]string{
		"sequential": {"assistant: one", "assistant: two"}, "parallel": {"assistant: one", "assistant: two"},
		"loop": {"assistant: one"}, "supervisor": {"assistant: worked"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: treeWindow})
			for turn := range 2 {
				g := &grove{t: t, d: d, in: d.with}
				a, _ := trees[name](g)
				drain(t, newRunner(a, false, nil).Query(context.Background(), fmt.Sprint("question ", turn)))
				d.sane(g.models...)
				require.Subset(t, d.logged(), append(said(pageCount, fmt.Sprint("user: question ", turn)), words...))
				d.next()
			}
			d.fine()
		})
	}
}

// An agent that another one calls as a tool begins with what the caller says: it
// gets no history, records nothing, and fits all the same.
func TestAnAgentInAToolHasNoHistory(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: treeWindow})
			require.NoError(t, d.Finish(context.Background(), append(say("what was said before"), assistant("an answer"))))
			before := len(d.logged())
			inner := testkit.New(pagesAndThen(testkit.Text("sub done"))...)
			expert := newAgent(t, "expert", inner, d.with, readTool(t, pageWords))
			outer := testkit.New(testkit.Call("x", "expert", `{"request":"look it up"}`), testkit.Text("done"))
			drain(t, d.enter(by, outer, nil, false, adk.NewAgentTool(context.Background(), expert)).Query(context.Background(), "question"))
			d.sane(inner, outer)
			require.Contains(t, text(outer.Calls()[0]...), "what was said before")
			for _, call := range inner.Calls() {
				require.NotContains(t, text(call...), "what was said before")
				require.NotContains(t, text(call...), "question")
			}
			require.Equal(t, []string{"user: question", "assistant:  calls expert", "tool: sub done", "assistant: done"}, d.logged()[before:])
			all, done := d.turns()
			require.Equal(t, []int{2, 2}, []int{all, done})
			d.fine()
		})
	}
}

// A tool that runs a whole runner of its own is nested as well.
func TestARunnerInAToolHasNoHistory(t *testing.T) {
	d := newDesk(t, setting{})
	require.NoError(t, d.Finish(context.Background(), append(say("what was said before"), assistant("an answer"))))
	inner := testkit.New(testkit.Text("sub done"))
	sub := d.WrapRunner(newRunner(newAgent(t, "sub", inner, nil), false, nil))
	outer := testkit.New(testkit.Call("x", "run", `{"q":"look it up"}`), testkit.Text("done"))
	drain(t, d.enter(doors["both"], outer, nil, false, runTool(t, sub)).Query(context.Background(), "question"))
	require.Equal(t, []string{"user: look it up"}, shown(inner.Calls()[0]))
	require.Equal(t, []string{"user: question", "assistant:  calls run", "tool: assistant: sub done", "assistant: done"}, d.logged()[2:])
	d.fine()
}

// Deep's own sub-agent carries the middleware of the main one, and runs in a tool.
func TestDeepsOwnSubAgentHasNoHistory(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		t.Run(fmt.Sprint(wrapped), func(t *testing.T) {
			d := newDesk(t, setting{tokens: treeWindow + 6000})
			require.NoError(t, d.Finish(context.Background(), append(say("what was said before"), assistant("an answer"))))
			script := append([]testkit.Reply{testkit.Call("c1", "task", `{"subagent_type":"general-purpose","description":"do it"}`)}, pagesAndThen(testkit.Text("sub"), testkit.Text("done"))...)
			chat := testkit.New(script...)
			a, err := deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", ChatModel: chat, MaxIteration: 50, Middlewares: []adk.AgentMiddleware{d.AgentMiddleware()},
				ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{readTool(t, pageWords)}}}})
			require.NoError(t, err)
			var r runner = newRunner(a, false, nil)
			if wrapped {
				r = d.WrapRunner(r.(*adk.Runner))
			}
			drain(t, r.Query(context.Background(), "question"))
			d.sane(chat)
			calls := chat.Calls()
			require.Len(t, calls, len(script))
			for n, call := range calls {
				main := n == 0 || n == len(calls)-1
				require.Equal(t, main, strings.Contains(text(call...), "what was said before"), "call %d", n)
			}
			require.Equal(t, []string{"user: question", "assistant:  calls task", "tool: sub", "assistant: done"}, d.logged()[2:])
			d.fine()
		})
	}
}
