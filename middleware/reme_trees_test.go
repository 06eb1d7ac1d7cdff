// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// woods are the agent trees, and what of their tools is called.
var woods = map[string]struct {
	make func(w *workshop) adk.Agent
	want map[string]int
}{
	"one agent": {func(w *workshop) adk.Agent { return w.agent("a", sawing("oak"), w.saw()) }, map[string]int{"saw": 1}},
	"several at once": {func(w *workshop) adk.Agent {
		return w.agent("a", testkit.New(several("saw", "plane", "saw", "plane"), several("saw"), testkit.Text("done")), w.saw(), w.plane())
	}, map[string]int{"saw": 3, "plane": 2}},
	"an agent as a tool": {func(w *workshop) adk.Agent {
		joiner := adk.NewAgentTool(context.Background(), w.agent("joiner", sawing("ash"), w.saw()))
		outer := w.agent("a", testkit.New(testkit.Call("o1", "joiner", `{"request":"saw it"}`), testkit.Call("o2", "saw", `{"n":2}`), testkit.Text("done")), counted(w, joiner), w.saw())
		return outer
	}, map[string]int{"joiner": 1, "saw": 2}},
	"one after the other": {func(w *workshop) adk.Agent {
		out, err := adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{Name: "seq", Description: "d",
			SubAgents: []adk.Agent{w.agent("a1", sawing("oak"), w.saw()), w.agent("a2", sawing("elm"), w.saw())}})
		require.NoError(w.t, err)
		return out
	}, map[string]int{"saw": 2}},
	"side by side": {func(w *workshop) adk.Agent {
		var all []adk.Agent
		for i := range 8 {
			all = append(all, w.agent(fmt.Sprint("a", i), sawing(orderName(i)), w.saw()))
		}
		out, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d", SubAgents: all})
		require.NoError(w.t, err)
		return out
	}, map[string]int{"saw": 8}},
	"again and again": {func(w *workshop) adk.Agent {
		chat := testkit.New(testkit.Call("c1", "saw", `{"n":1}`), testkit.Text("one"), testkit.Call("c1", "saw", `{"n":1}`), testkit.Text("two"))
		out, err := adk.NewLoopAgent(context.Background(), &adk.LoopAgentConfig{Name: "loop", Description: "d", MaxIterations: 2, SubAgents: []adk.Agent{w.agent("a", chat, w.saw())}})
		require.NoError(w.t, err)
		return out
	}, map[string]int{"saw": 2}},
	"a supervisor": {func(w *workshop) adk.Agent {
		boss := w.agent("boss", testkit.New(testkit.Call("c", "transfer_to_agent", `{"agent_name":"worker"}`), testkit.Text("all done")))
		out, err := supervisor.New(context.Background(), &supervisor.Config{Supervisor: boss, SubAgents: []adk.Agent{w.agent("worker", sawing("oak"), w.saw())}})
		require.NoError(w.t, err)
		return out
	}, map[string]int{"saw": 1}},
}

// counted is a tool that counts its calls.
func counted(w *workshop, inner tool.BaseTool) tool.BaseTool {
	info, err := inner.Info(context.Background())
	require.NoError(w.t, err)
	return &countedTool{inner.(tool.InvokableTool), w, info.Name}
}

type countedTool struct {
	tool.InvokableTool
	w    *workshop
	name string
}

func (c *countedTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	c.w.count(c.name)
	return c.InvokableTool.InvokableRun(ctx, arguments, opts...)
}

// In every tree of agents, streaming or not, through the agents alone or a wrapped
// runner too, each call of a tool is recorded once, and the turn is learnt from.
func TestEveryTreeRecordsEachCallOnce(t *testing.T) {
	for name, wood := range woods {
		for _, streaming := range []bool{false, true} {
			for _, wrapped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, streaming %v, wrapped %v", name, streaming, wrapped), func(t *testing.T) {
					w := newWorkshop(t)
					ctx := middleware.WithScope(t.Context(), atWork)
					runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: wood.make(w), EnableStreaming: streaming})
					run := runner.Query
					if wrapped {
						run = w.mem.WrapRunner(runner).Query
					}
					drain(t, run(ctx, "Saw it. FACT ann builds boats"))
					w.did(wood.want)
					if wrapped || name != "a supervisor" { // which takes a wrapped runner
						assert.Equal(t, 1, kinds(t, w.b)[backends.KindPersonal])
					}
				})
			}
		}
	}
}

// An interrupt says nothing about a tool: what was called before it is recorded once,
// and what is called again when the run goes on is recorded then.
func TestInterruptedCallsAreRecordedWhenTheyEnd(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, nested := range []bool{false, true} {
			t.Run(fmt.Sprintf("streaming %v, nested %v", streaming, nested), func(t *testing.T) {
				w := newWorkshop(t)
				glue, err := utils.InferTool("glue", "glues", func(ctx context.Context, _ *cutInput) (string, error) {
					if asked, _, _ := tool.GetInterruptState[any](ctx); !asked {
						return "", tool.Interrupt(ctx, "may I?")
					}
					w.count("glue")
					return "it holds", nil
				})
				require.NoError(t, err)
				agent := w.agent("a", testkit.New(several("saw", "glue", "plane"), testkit.Text("LESSON gluing | ask before")), w.saw(), glue, w.plane())
				want := map[string]int{"saw": 1, "plane": 1, "glue": 1}
				if nested {
					inner := adk.NewAgentTool(t.Context(), agent)
					agent = w.agent("outer", testkit.New(testkit.Call("o", "a", `{"request":"glue it"}`), testkit.Text("done")), inner)
					want["a"] = 1
					w.count("a")
				}
				ctx := middleware.WithScope(t.Context(), atWork)
				runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: folder(t.TempDir())})
				drain(t, runner.Query(ctx, "Glue it. FACT ann glues", adk.WithCheckPointID("cp")))
				require.NoError(t, w.mem.Flush(ctx))
				known, err := w.b.Tools().Retrieve(ctx, &toolmem.RetrieveRequest{Tools: []string{"saw", "plane"}})
				require.NoError(t, err)
				require.Len(t, known.Tools, 2, "what ended")
				events, err := runner.Resume(ctx, "cp")
				require.NoError(t, err)
				drain(t, events)
				w.did(want)
				learnt := map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}
				if nested { // how the inner agent fared is not part of the outer one's turn
					delete(learnt, backends.KindTask)
				}
				assert.Equal(t, learnt, kinds(t, w.b))
			})
		}
	}
}

// Agents of flow/agent/react and graphs have no middlewares: the tool middleware alone
// records, and memory that is attached otherwise does not record again.
func TestReactAgentsAndGraphsRecordTheirCalls(t *testing.T) {
	t.Run("react", func(t *testing.T) {
		w := newWorkshop(t)
		ctx := middleware.WithScope(t.Context(), atWork)
		for _, streaming := range []bool{false, true} {
			a, err := react.NewAgent(ctx, &react.AgentConfig{
				ToolCallingModel: w.mem.WrapModel(testkit.New(several("saw", "plane"), testkit.Text("LESSON sawing | mind the grain"))),
				MessageModifier:  w.mem.MessageModifier(nil),
				ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{w.saw(), w.plane()}, ToolCallMiddlewares: []compose.ToolMiddleware{w.mem.ToolMiddleware()}},
			})
			require.NoError(t, err)
			in := []*schema.Message{schema.UserMessage("Saw it.")}
			if !streaming {
				_, err = a.Generate(ctx, in)
				require.NoError(t, err)
				continue
			}
			out, err := a.Stream(ctx, in)
			require.NoError(t, err)
			_, err = schema.ConcatMessageStream(out)
			require.NoError(t, err)
		}
		w.did(map[string]int{"saw": 2, "plane": 2})
	})
	t.Run("graph", func(t *testing.T) {
		w := newWorkshop(t)
		ctx := middleware.WithScope(t.Context(), atWork)
		node, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: []tool.BaseTool{w.saw(), w.plane()}, ToolCallMiddlewares: []compose.ToolMiddleware{w.mem.ToolMiddleware()}})
		require.NoError(t, err)
		g := compose.NewChain[*schema.Message, []*schema.Message]()
		run, err := g.AppendToolsNode(node).Compile(ctx)
		require.NoError(t, err)
		call, err := several("saw", "plane", "saw")(ctx, nil, nil)
		require.NoError(t, err)
		_, err = run.Invoke(ctx, call)
		require.NoError(t, err)
		out, err := run.Stream(ctx, call)
		require.NoError(t, err)
		_, err = out.Recv()
		require.NoError(t, err)
		out.Close() // before its end
		w.awaits(map[string]int{"saw": 4, "plane": 2})
	})
}

// Who attaches memory in both ways has each call recorded once all the same.
func TestTheToolMiddlewareBesideTheAgents(t *testing.T) {
	w := newWorkshop(t)
	ctx := middleware.WithScope(t.Context(), atWork)
	for _, streaming := range []bool{false, true} {
		a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "a", Description: "works", Model: testkit.New(several("saw", "plane", "saw"), testkit.Text("done")),
			Middlewares: []adk.AgentMiddleware{w.mem.AgentMiddleware()},
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
				Tools: []tool.BaseTool{w.saw(), w.plane()}, ToolCallMiddlewares: []compose.ToolMiddleware{w.mem.ToolMiddleware()}}},
		})
		require.NoError(t, err)
		drain(t, adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: streaming}).Query(ctx, "Saw it."))
	}
	w.did(map[string]int{"saw": 4, "plane": 2})
}

// awaits is did for what is recorded behind a reader that went away.
func (w *workshop) awaits(want map[string]int) {
	w.t.Helper()
	for {
		require.NoError(w.t, w.t.Context().Err())
		require.NoError(w.t, w.mem.Flush(w.t.Context()))
		total := 0
		known, err := w.b.Tools().Retrieve(w.t.Context(), &toolmem.RetrieveRequest{Scope: atWork})
		require.NoError(w.t, err)
		for i := range known.Tools {
			total += int(known.Tools[i].Statistics.Total)
		}
		all := 0
		for _, n := range want {
			all += n
		}
		if total >= all {
			w.did(want)
			return
		}
	}
}

// One memory serves any number of agents at the same time, each in a goroutine of its
// own (an agent itself is not for two: trap T8): no call is lost, none is another's.
func TestT8ACrowdOfAgentsRecordsEachCallOnce(t *testing.T) {
	const agents = 48
	w := newWorkshop(t)
	var running sync.WaitGroup
	for n := range agents {
		running.Go(func() {
			scope := atWork
			scope.UserID, scope.SessionID, scope.Workspace = fmt.Sprint("user", n), "s1", fmt.Sprint("bench", n%4)
			ctx := middleware.WithScope(context.Background(), scope)
			runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: w.agent("a", sawing(orderName(n)), w.saw()), EnableStreaming: n%2 == 0})
			for events := runner.Query(ctx, "Saw it. FACT this one saws "+orderName(n)); ; {
				e, ok := events.Next()
				if !ok {
					return
				}
				assert.NoError(t, e.Err)
				if e.Output != nil && e.Output.MessageOutput != nil {
					_, err := e.Output.MessageOutput.GetMessage()
					assert.NoError(t, err)
				}
			}
		})
	}
	running.Wait()
	require.NoError(t, w.mem.Flush(t.Context()))
	for n := range agents {
		scope := backends.Scope{UserID: fmt.Sprint("user", n), Workspace: fmt.Sprint("bench", n%4)}
		got, err := w.b.Tools().Retrieve(t.Context(), &toolmem.RetrieveRequest{Scope: scope, Tools: []string{"saw"}, Last: 1000})
		require.NoError(t, err)
		require.EqualValues(t, agents/4, got.Tools[0].Statistics.Total)
		found, err := w.b.Search(t.Context(), &backends.SearchRequest{Scope: scope, Query: orderName(n), TopK: 50})
		require.NoError(t, err)
		var said []string
		for i := range found.Hits {
			said = append(said, found.Hits[i].Text)
		}
		require.ElementsMatch(t, []string{orderName(n) + " needs a fine saw", "this one saws " + orderName(n)}, said)
	}
}
