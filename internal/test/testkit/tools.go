// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
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
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Tool returns a tool whose arguments are an Arguments.
func Tool[Arguments any](t testing.TB, name string, run func(ctx context.Context, a Arguments) (string, error)) tool.InvokableTool {
	t.Helper()
	return must(utils.InferTool(name, name, run))(t)
}

// Query is the arguments of a tool that takes a text.
type Query struct {
	Q string `json:"q"`
}

// Echo returns a tool "echo" that returns its argument q.
func Echo(t testing.TB) tool.BaseTool {
	return Tool(t, "echo", func(_ context.Context, q Query) (string, error) { return "echo:" + q.Q, nil })
}

// Approval returns a tool "ask" that interrupts its run, and is approved once that goes on.
func Approval(t testing.TB) tool.BaseTool {
	return Tool(t, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "approved", nil
	})
}

// Reader returns a tool "read" that returns [Page] n, of so many words.
func Reader(t testing.TB, words int) tool.BaseTool {
	return Tool(t, "read", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return Page(in.N, words), nil
	})
}

// Page returns a text of its own for every n, of that many words.
func Page(n, words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = fmt.Sprintf("page%dword%d", n, i)
	}
	return strings.Join(out, " ")
}

// ReadPages returns a script of a model that reads pages one after the other and then
// goes on. The result said has the texts of the model and of the tool, as [Line] shows
// them.
func ReadPages(from, upto, words int, then ...Reply) (script []Reply, said []string) {
	for n := from; n < upto; n++ {
		script = append(script, Call(fmt.Sprint("c", n), "read", fmt.Sprintf(`{"n":%d}`, n)))
		said = append(said, "assistant:  calls read", "tool: "+Page(n, words))
	}
	return append(script, then...), said
}

// PageRead returns the messages of one reading of page n.
func PageRead(n, words int) []*schema.Message {
	id := fmt.Sprint("c", n)
	call := schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}
	return []*schema.Message{
		schema.AssistantMessage("", []schema.ToolCall{call}),
		schema.ToolMessage(Page(n, words), id, schema.WithToolName("read")),
	}
}

// ByName returns tools by their names.
func ByName(t testing.TB, tools []tool.BaseTool) map[string]tool.InvokableTool {
	t.Helper()
	out := map[string]tool.InvokableTool{}
	for _, b := range tools {
		out[must(b.Info(t.Context()))(t).Name] = b.(tool.InvokableTool)
	}
	return out
}

// Use calls a tool with arguments, JSON or a value for it, and returns its answer. An
// error, which would end an agent's run, fails the test.
func Use(t testing.TB, ctx context.Context, b tool.BaseTool, arguments any) string {
	t.Helper()
	s, ok := arguments.(string)
	if !ok {
		s = string(must(json.Marshal(arguments))(t))
	}
	return must(b.(tool.InvokableTool).InvokableRun(ctx, s))(t)
}

// Grove builds trees of agents for one turn, and keeps the models in them.
type Grove struct {
	T     testing.TB
	Enter func(cfg *adk.ChatModelAgentConfig)                           // lets memory into each agent; nil: without memory
	Wrap  func(m model.ToolCallingChatModel) model.ToolCallingChatModel // of agents without a place for memory; nil: as it is
	Work  []Reply                                                       // the work of an agent before its answer
	Done  []string                                                      // and the texts of that work
	Tools []tool.BaseTool

	Models []*Chat
}

// Agent returns an agent whose model follows a script.
func (g *Grove) Agent(name string, script ...Reply) *adk.ChatModelAgent {
	return Agent(g.T, name, g.model(script...), g.Enter, g.Tools...)
}

func (g *Grove) tools() adk.ToolsConfig {
	return adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: g.Tools}}
}

func (g *Grove) model(script ...Reply) *Chat {
	m := New(script...)
	g.Models = append(g.Models, m)
	return m
}

// wrapped is a model of an agent that has no middleware.
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

// Trees are Eino's prebuilt trees, with the texts of a turn of each.
var Trees = map[string]func(g *Grove) (adk.Agent, []string){
	"sequential": func(g *Grove) (adk.Agent, []string) {
		a := must(adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d",
			SubAgents: []adk.Agent{g.Agent("a1", g.work("one")...), g.Agent("a2", g.work("two")...)}}))(g.T)
		return a, append(g.done("assistant: one"), g.done("assistant: two")...)
	},
	"loop": func(g *Grove) (adk.Agent, []string) {
		a := must(adk.NewLoopAgent(context.Background(), &adk.LoopAgentConfig{Name: "loop", Description: "d",
			MaxIterations: 2, SubAgents: []adk.Agent{g.Agent("a", append(g.work("one"), g.work("two")...)...)}}))(g.T)
		return a, append(g.done("assistant: one"), g.done("assistant: two")...)
	},
	"parallel": func(g *Grove) (adk.Agent, []string) {
		a := must(adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d",
			SubAgents: []adk.Agent{g.Agent("a1", g.work("one")...), g.Agent("a2", Text("two"))}}))(g.T)
		return a, g.done("assistant: one", "assistant: two")
	},
	"supervisor": func(g *Grove) (adk.Agent, []string) {
		a := must(supervisor.New(context.Background(), &supervisor.Config{
			Supervisor: g.Agent("boss", Call("t", adk.TransferToAgentToolName, `{"agent_name":"worker"}`), Text("all done")),
			SubAgents:  []adk.Agent{g.Agent("worker", g.work("worked")...)}}))(g.T)
		return a, g.done("assistant: worked", "assistant: all done")
	},
	"plan-execute": func(g *Grove) (adk.Agent, []string) {
		ctx := context.Background()
		p := must(planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{
			ToolCallingChatModel: g.wrapped(Call("c", "plan", `{"steps":["s1"]}`))}))(g.T)
		e := must(planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{
			Model: g.wrapped(g.work("step done")...), MaxIterations: 50, ToolsConfig: g.tools()}))(g.T)
		r := must(planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{
			ChatModel: g.wrapped(Call("c", "respond", `{"response":"bye"}`))}))(g.T)
		a := must(planexecute.New(ctx, &planexecute.Config{Planner: p, Executor: e, Replanner: r}))(g.T)
		return a, append([]string{`assistant: {"steps":["s1"]}`}, g.done("assistant: step done", `assistant: {"response":"bye"}`)...)
	},
	"deep": func(g *Grove) (adk.Agent, []string) {
		a := must(deep.New(context.Background(), &deep.Config{Name: "deep", Description: "d", MaxIteration: 50,
			ChatModel: g.wrapped(g.work("done")...), ToolsConfig: g.tools()}))(g.T)
		return a, g.done("assistant: done")
	},
}
