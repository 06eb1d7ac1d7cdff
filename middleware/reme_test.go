// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// lab is where the agents of these tests work.
var (
	lab   = middleware.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1", Workspace: "lab"}
	inLab = middleware.WithScope(context.Background(), lab)
)

// workshop is a memory of reme's, and tools that count how often they are called.
type workshop struct {
	t   testing.TB
	b   *reme.Backend
	mem *middleware.MemoryMiddleware

	mu  sync.Mutex
	ran map[string]int
}

// newWorkshop returns one that learns whether a turn went well from the saw.
func newWorkshop(t testing.TB, mode modes.Mode) *workshop {
	t.Helper()
	b, err := reme.New(context.Background(), &reme.Config{Store: testkit.SQLite(t), Model: testkit.New(testkit.Learn), Verdict: reme.VerdictOf("saw", "passed")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return &workshop{t: t, b: b, mem: open(t, &middleware.Config{Backend: b, Mode: mode}), ran: map[string]int{}}
}

func (w *workshop) count(tool string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran[tool]++
}

type cut struct {
	N int `json:"n"`
}

func (w *workshop) saw() tool.BaseTool {
	return testkit.Tool(w.t, "saw", func(context.Context, cut) (string, error) { w.count("saw"); return `{"passed": true}`, nil })
}

// plane streams what it says.
func (w *workshop) plane() tool.BaseTool {
	out, err := utils.InferStreamTool("plane", "planes", func(context.Context, cut) (*schema.StreamReader[string], error) {
		w.count("plane")
		return schema.StreamReaderFromArray([]string{"shaving ", "after ", "shaving"}), nil
	})
	require.NoError(w.t, err)
	return out
}

func (w *workshop) enter(cfg *adk.ChatModelAgentConfig) {
	testkit.Attach(cfg, w.mem)
}

func (w *workshop) agent(name string, m model.ToolCallingChatModel, tools ...tool.BaseTool) *adk.ChatModelAgent {
	return testkit.Agent(w.t, name, m, w.enter, tools...)
}

// sawing is a model that saws once, and then says what it learnt.
func sawing(wood string) *testkit.Chat {
	return testkit.New(testkit.Call("c1", "saw", `{"n":1}`), testkit.Text("LESSON sawing "+wood+" | "+wood+" needs a fine saw"))
}

// recorded returns how often each tool was called, as it is recorded in the lab.
func (w *workshop) recorded() map[string]int {
	w.t.Helper()
	require.NoError(w.t, w.mem.Flush(context.Background()))
	got, err := w.b.Tools().Retrieve(context.Background(), &toolmem.RetrieveRequest{Scope: lab, WithCalls: true, Last: 1000})
	require.NoError(w.t, err)
	out := map[string]int{}
	for i := range got.Tools {
		known := &got.Tools[i]
		out[known.Name] = int(known.Statistics.Total)
		require.Len(w.t, known.Calls, out[known.Name])
	}
	return out
}

// did requires that the tools were called so often, and that each call is recorded once.
func (w *workshop) did(want map[string]int) {
	w.t.Helper()
	require.Equal(w.t, want, w.recorded())
	require.Equal(w.t, want, w.ran, "as the test is meant")
}

// learnt returns what the lab knows, by kind.
func (w *workshop) learnt() map[backends.Kind]int {
	w.t.Helper()
	out := map[backends.Kind]int{}
	for _, m := range listed(w.t, w.b, lab) {
		out[m.Kind]++
	}
	return out
}

func TestReMeLearnsInEveryModeAndIsFoundAsTheModeSays(t *testing.T) {
	for _, mode := range []modes.Mode{modes.StaticControl, modes.AgentControl, modes.Both} {
		w := newWorkshop(t, mode)
		testkit.Drain(agent(t, w.mem, sawing("oak"), w.saw()).Query(inLab, "Saw oak. FACT ann sells tea"))
		w.did(map[string]int{"saw": 1})
		require.Equal(t, map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}, w.learnt(), mode)

		_, m := ask(t, inLab, w.mem, "How to saw oak for tea?")
		shown := fmt.Sprint(testkit.Lines(m.Calls()[0]))
		require.Equal(t, mode != modes.AgentControl, strings.Contains(shown, "oak needs a fine saw"), shown)
		require.Equal(t, mode != modes.AgentControl, strings.Contains(shown, "ann sells tea"), shown)
		require.Equal(t, mode != modes.StaticControl, strings.Contains(shown, "search_memory"), shown)

		if mode == modes.StaticControl {
			continue
		}
		_, m = ask(t, inLab, w.mem, "Saw.", testkit.Call("c1", "search_memory", `{"keywords":["sawing oak"]}`), testkit.Text("ok"))
		last := m.Calls()[1]
		require.Contains(t, last[len(last)-1].Content, "oak needs a fine saw", "the agent finds experience by itself")
		w.did(map[string]int{"saw": 1}) // memory's own tools are not learnt from
	}
}

// An agent saws well, once. The next agent's model reads the lesson with the call that went well.
func TestTheNoteShowsTheCallsOfTheBestAttempt(t *testing.T) {
	cites := testkit.Call("1", "extract_experiences", `{"experiences":[{"when_to_use":"sawing oak","experience":"oak needs a fine saw","confidence":0.9,"steps":[2,3]}]}`)
	for _, examples := range []bool{true, false} {
		learner := testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
			if len(opts.Tools) > 0 && opts.Tools[0].Name == "extract_experiences" {
				return cites(ctx, in, opts)
			}
			return testkit.Learn(ctx, in, opts)
		})
		b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t), Model: learner, Verdict: reme.VerdictOf("saw", "passed"), Task: task.Config{Examples: examples}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		w := &workshop{t: t, b: b, mem: open(t, &middleware.Config{Backend: b}), ran: map[string]int{}}
		testkit.Drain(agent(t, w.mem, sawing("oak"), w.saw()).Query(inLab, "Saw oak."))
		w.did(map[string]int{"saw": 1})

		_, m := ask(t, inLab, w.mem, "How to saw oak?")
		shown := fmt.Sprint(testkit.Lines(m.Calls()[0]))
		require.Contains(t, shown, "oak needs a fine saw")
		require.Equal(t, examples, strings.Contains(shown, `(when: sawing oak; example: saw {"n":1} → {"passed": true})`), shown)
	}
}

func TestAnOutcomeMayComeLater(t *testing.T) {
	w := newWorkshop(t, modes.Both)
	lesson := testkit.New(testkit.Text("LESSON selling | ask for the name"))
	testkit.Drain(agent(t, w.mem, lesson).Query(inLab, "Sell it. FACT ann sells tea"))
	happy := &backends.OutcomeRequest{Score: 1, Note: "the customer was happy"}
	resp, err := w.mem.RecordOutcome(inLab, happy)
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, "ask for the name", resp.Items[0].Memory.Text)
	require.EqualValues(t, 1, resp.Items[0].Memory.Metadata["outcome"])
	again, err := w.mem.RecordOutcome(inLab, happy)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}, w.learnt())

	_, err = w.mem.RecordOutcome(asAnn, happy)
	require.ErrorIs(t, err, backends.ErrNoScope, "no workspace")
	_, err = open(t, &middleware.Config{Backend: &testkit.Backend{}}).RecordOutcome(inLab, happy)
	require.ErrorIs(t, err, backends.ErrInvalid, "a backend that does not judge")
	_, err = w.mem.RecordOutcome(inLab, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Many processes learn how a turn went, and all report it: it is learnt from once, though
// the model puts it in other words each time.
func TestAnOutcomeThatManyReportIsLearntFromOnce(t *testing.T) {
	db := testkit.SQLite(t)
	var mems []*middleware.MemoryMiddleware
	var backend *reme.Backend
	for range 2 {
		b, err := reme.New(t.Context(), &reme.Config{Store: db, Model: testkit.New(rewording(testkit.Learn))})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		mems, backend = append(mems, open(t, &middleware.Config{Backend: b})), b
	}
	contexts, want := []context.Context{}, []string{"look into the drawer of ann", "look into the drawer of bob"}
	for _, user := range []string{"ann", "bob"} {
		ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: user, AgentID: "helper", SessionID: "s1", Workspace: "lab"})
		ask(t, ctx, mems[0], "Refund it.", testkit.Text("LESSON refunding | look into the drawer of "+user))
		contexts = append(contexts, ctx)
	}
	require.NoError(t, mems[0].Flush(t.Context()))
	errs := make([]error, 32)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() {
			_, errs[n] = mems[n/2%2].RecordOutcome(contexts[n%2], &backends.OutcomeRequest{Score: 1})
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	var learnt []string
	for _, m := range listed(t, backend, middleware.Scope{Workspace: "lab"}) {
		learnt = append(learnt, reworded(m.Text))
	}
	require.ElementsMatch(t, want, learnt)
}

func TestToolsAreListedWithWhatIsKnownOfThem(t *testing.T) {
	w := newWorkshop(t, modes.Both)
	_, err := w.b.Tools().Record(inLab, &toolmem.RecordRequest{Calls: []toolmem.Call{{Tool: "saw", Input: `{"n":1}`, Failed: true, Error: "invalid argument: n begins at 5"}}})
	require.NoError(t, err)
	_, err = w.b.Tools().Summarize(inLab, &toolmem.SummaryRequest{Force: true})
	require.NoError(t, err)
	listed := func(s middleware.Scope) string {
		m := testkit.New()
		testkit.Drain(agent(t, w.mem, w.mem.WrapModel(m), w.saw()).Query(middleware.WithScope(t.Context(), s), "Saw."))
		for _, info := range m.Offered() {
			if info.Name == "saw" {
				return info.Desc
			}
		}
		return ""
	}
	require.Contains(t, listed(lab), "Use it with care.")
	require.Equal(t, "saw", listed(middleware.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1", Workspace: "other"}), "another workspace's experience is never shown")
	require.Equal(t, "saw", listed(ann))
}

// In every tree of agents, streaming or not, through the agents alone or a wrapped runner
// too, each call of a tool is recorded once, and the turn is learnt from.
func TestEveryTreeRecordsEachCallOnce(t *testing.T) {
	// fromTree returns one of Eino's prebuilt trees, each agent of which saws once.
	fromTree := func(name string) func(w *workshop) adk.Agent {
		return func(w *workshop) adk.Agent {
			a, _ := testkit.Trees[name](&testkit.Grove{T: w.t, Enter: w.enter, Tools: []tool.BaseTool{w.saw()}, Work: []testkit.Reply{testkit.Call("c1", "saw", `{"n":1}`)}})
			return a
		}
	}
	// trees are agents whose tools are called, and how often.
	trees := map[string]struct {
		make func(w *workshop) adk.Agent
		want map[string]int
	}{
		"one agent": {func(w *workshop) adk.Agent { return w.agent("a", sawing("oak"), w.saw()) }, map[string]int{"saw": 1}},
		"several calls at once": {func(w *workshop) adk.Agent {
			m := testkit.New(several("saw", "plane", "saw", "plane"), several("saw"), testkit.Text("done"))
			return w.agent("a", m, w.saw(), w.plane())
		}, map[string]int{"saw": 3, "plane": 2}},
		"an agent as a tool": {func(w *workshop) adk.Agent {
			joiner := adk.NewAgentTool(context.Background(), w.agent("joiner", sawing("ash"), w.saw()))
			w.count("joiner") // which does not count itself
			m := testkit.New(testkit.Call("o1", "joiner", `{"request":"saw it"}`), testkit.Call("o2", "saw", `{"n":2}`), testkit.Text("done"))
			return w.agent("a", m, joiner, w.saw())
		}, map[string]int{"joiner": 1, "saw": 2}},
		"sequential": {fromTree("sequential"), map[string]int{"saw": 2}},
		"loop":       {fromTree("loop"), map[string]int{"saw": 2}},
		"supervisor": {fromTree("supervisor"), map[string]int{"saw": 1}},
		"parallel": {func(w *workshop) adk.Agent {
			var all []adk.Agent
			for i := range 8 {
				all = append(all, w.agent(fmt.Sprint("a", i), sawing(fmt.Sprint("wood", i)), w.saw()))
			}
			out, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "par", Description: "d", SubAgents: all})
			require.NoError(w.t, err)
			return out
		}, map[string]int{"saw": 8}},
	}
	for name, tree := range trees {
		for n := range 4 {
			streaming, wrapped := n%2 == 1, n > 1
			t.Run(fmt.Sprintf("%s, streaming %v, wrapped %v", name, streaming, wrapped), func(t *testing.T) {
				w := newWorkshop(t, modes.Both)
				var runner testkit.Run = testkit.Runner(tree.make(w), streaming, nil)
				if wrapped {
					runner = w.mem.WrapRunner(runner.(*adk.Runner))
				}
				lines := testkit.Drain(runner.Query(inLab, "Saw it. FACT ann builds boats"))
				require.NotContains(t, fmt.Sprint(lines), "error")
				w.did(tree.want)
				if wrapped || name != "supervisor" { // which takes a wrapped runner
					require.Equal(t, 1, w.learnt()[backends.KindPersonal])
				}
			})
		}
	}
}

// An interrupt says nothing about a tool: what was called before it is recorded once, and
// what is called again when the run goes on is recorded then.
func TestInterruptedCallsAreRecordedWhenTheyEnd(t *testing.T) {
	for n := range 4 {
		streaming, nested := n%2 == 1, n > 1
		t.Run(fmt.Sprintf("streaming %v, nested %v", streaming, nested), func(t *testing.T) {
			w := newWorkshop(t, modes.Both)
			a := w.agent("a", testkit.New(several("saw", "ask", "plane"), testkit.Text("LESSON gluing | ask before")), w.saw(), testkit.Approval(t), w.plane())
			want := map[string]int{"saw": 1, "plane": 1, "ask": 1}
			learnt := map[backends.Kind]int{backends.KindTask: 1, backends.KindPersonal: 1}
			if nested { // how the inner agent fared is not part of the outer one's turn
				a = w.agent("outer", testkit.New(testkit.Call("o", "a", `{"request":"glue it"}`), testkit.Text("done")), adk.NewAgentTool(t.Context(), a))
				want["a"] = 1
				delete(learnt, backends.KindTask)
			}
			runner := testkit.Runner(a, streaming, testkit.Checkpoints(t.TempDir()))
			testkit.Drain(runner.Query(inLab, "Glue it. FACT ann glues", adk.WithCheckPointID("cp")))
			require.Equal(t, map[string]int{"saw": 1, "plane": 1}, w.recorded(), "what ended")
			testkit.Resume(t, inLab, runner, "cp")
			require.Equal(t, want, w.recorded())
			require.Equal(t, map[string]int{"saw": 1, "plane": 1}, w.ran)
			require.Equal(t, learnt, w.learnt())
		})
	}
}

// Agents of flow/agent/react and graphs have no middlewares: the tool middleware alone
// records, and memory that is attached otherwise does not record again.
func TestReactAgentsAndGraphsRecordTheirCalls(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		w := newWorkshop(t, modes.Both)
		nodes := compose.ToolsNodeConfig{Tools: []tool.BaseTool{w.saw(), w.plane()}, ToolCallMiddlewares: []compose.ToolMiddleware{w.mem.ToolMiddleware()}}
		m := testkit.New(several("saw", "plane"), testkit.Text("LESSON sawing | mind the grain"))
		a, err := react.NewAgent(inLab, &react.AgentConfig{ToolCallingModel: w.mem.WrapModel(m), MessageModifier: w.mem.MessageModifier(nil), ToolsConfig: nodes})
		require.NoError(t, err)
		node, err := compose.NewToolNode(inLab, &nodes)
		require.NoError(t, err)
		graph, err := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node).Compile(inLab)
		require.NoError(t, err)
		call, err := several("saw", "plane", "saw")(inLab, nil, nil)
		require.NoError(t, err)
		want := map[string]int{"saw": 3, "plane": 2}
		if streaming {
			out, err := a.Stream(inLab, testkit.Say("Saw it."))
			require.NoError(t, err)
			_, err = schema.ConcatMessageStream(out)
			require.NoError(t, err)
			results, err := graph.Stream(inLab, call)
			require.NoError(t, err)
			_, err = results.Recv()
			require.NoError(t, err)
			results.Close() // before its end: it is recorded behind its reader
			for w.recorded()["plane"] < want["plane"] {
				require.NoError(t, t.Context().Err())
			}
		} else {
			_, err = a.Generate(inLab, testkit.Say("Saw it."))
			require.NoError(t, err)
			_, err = graph.Invoke(inLab, call)
			require.NoError(t, err)
		}
		for w.recorded()["saw"] < want["saw"] {
			require.NoError(t, t.Context().Err())
		}
		w.did(want)
	}
}

// An agent with memory attached in both ways has each call recorded once all the same.
func TestTheToolMiddlewareBesideTheAgents(t *testing.T) {
	w := newWorkshop(t, modes.Both)
	for _, streaming := range []bool{false, true} {
		a := testkit.Agent(t, "a", testkit.New(several("saw", "plane", "saw"), testkit.Text("done")), func(cfg *adk.ChatModelAgentConfig) {
			w.enter(cfg)
			cfg.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{w.mem.ToolMiddleware()}
		}, w.saw(), w.plane())
		testkit.Drain(testkit.Runner(a, streaming, nil).Query(inLab, "Saw it."))
	}
	w.did(map[string]int{"saw": 4, "plane": 2})
}

// One memory serves many agents at the same time, each in a goroutine of its own: no call
// is lost, none is another's. (An agent itself is not for two: trap T8 of package einox.)
func TestManyAgentsRecordEachCallOnce(t *testing.T) {
	const agents = 48
	w := newWorkshop(t, modes.Both)
	scope := func(n int) middleware.Scope {
		return middleware.Scope{UserID: fmt.Sprint("user", n), SessionID: "s1", Workspace: fmt.Sprint("lab", n%4)}
	}
	wood := func(n int) string { return "wood" + strings.Repeat(string(rune('a'+n%26)), 3+n/26) }
	said := make([]string, agents)
	var wg sync.WaitGroup
	for n := range agents {
		runner := testkit.Runner(w.agent("a", sawing(wood(n)), w.saw()), n%2 == 0, nil)
		wg.Go(func() {
			said[n] = testkit.Last(testkit.Drain(runner.Query(middleware.WithScope(context.Background(), scope(n)), "Saw it. FACT this one saws "+wood(n))))
		})
	}
	wg.Wait()
	require.NoError(t, w.mem.Flush(t.Context()))
	for n := range agents {
		require.Contains(t, said[n], wood(n)+" needs a fine saw")
		got, err := w.b.Tools().Retrieve(t.Context(), &toolmem.RetrieveRequest{Scope: scope(n), Tools: []string{"saw"}, Last: 1000})
		require.NoError(t, err)
		require.EqualValues(t, agents/4, got.Tools[0].Statistics.Total)
		found, err := w.b.Search(t.Context(), &backends.SearchRequest{Scope: scope(n), Query: wood(n), TopK: 50})
		require.NoError(t, err)
		var texts []string
		for i := range found.Hits {
			texts = append(texts, found.Hits[i].Text)
		}
		require.ElementsMatch(t, []string{wood(n) + " needs a fine saw", "this one saws " + wood(n)}, texts)
	}
}
