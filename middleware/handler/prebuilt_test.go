// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package handler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/middleware/handler"
	"github.com/einomem/einomem/modes"
)

// prebuilt makes one of Eino's trees. The handler is on each agent that has a place for it; the
// agents of plan-execute have none.
func prebuilt(t *testing.T, name string, mem *middleware.MemoryMiddleware) (*testkit.Grove, adk.Agent, []string) {
	t.Helper()
	g := &testkit.Grove{T: t, Enter: func(cfg *adk.ChatModelAgentConfig) { cfg.Handlers = chain{handler.New(mem)} }}
	if name != "deep" {
		a, said := testkit.Trees[name](g)
		return g, a, said
	}
	g.Models = []*testkit.Chat{testkit.New(testkit.Text("done"))}
	a, err := deep.New(t.Context(), &deep.Config{Name: "deep", Description: "d", ChatModel: g.Models[0], Handlers: chain{handler.New(mem)}})
	require.NoError(t, err)
	return g, a, []string{"assistant: done"}
}

// Each of Eino's prebuilt trees has memory over two sessions: the log has each turn once, with the last
// answer, the turn is learnt at once, and in the next session models see what was said. A deep agent
// needs the handler alone, the others a wrapped runner, which makes it needless.
func TestPrebuiltTreesKnowInTheNextSessionWhatWasSaid(t *testing.T) {
	for name, wrapped := range map[string][]bool{"deep": {false, true}, "supervisor": {true}, "plan-execute": {true}} {
		for _, wrapped := range wrapped {
			for _, streaming := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					db, failures := testkit.SQLite(t), &testkit.Failures{}
					backend, err := mem0.New(t.Context(), &mem0.Config{Store: db})
					require.NoError(t, err)
					mem, err := middleware.New(t.Context(), &middleware.Config{Backend: backend, Mode: modes.StaticControl, AwaitWrite: true, OnError: failures.Add})
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
					for i, words := range []string{"I always take the train to Oslo.", "Which train takes me to Oslo?"} {
						scope := middleware.Scope{UserID: "ann", SessionID: []string{"monday", "friday"}[i]}
						g, a, said := prebuilt(t, name, mem)
						var r testkit.Run = testkit.Runner(a, streaming, nil)
						if wrapped {
							r = mem.WrapRunner(r.(*adk.Runner))
						}
						for _, line := range testkit.Drain(r.Query(middleware.WithScope(t.Context(), scope), words)) {
							require.NotContains(t, line, "error: ")
						}
						require.Equal(t, append([]string{"user: " + words}, said...), testkit.Logged(t, db, scope))
						require.Equal(t, [2]int{1, 1}, testkit.Turns(t, db, scope), "the turn once, and done")
						for n, chat := range g.Models {
							sees := strings.Contains(strings.Join(testkit.Lines(chat.Calls()[0]), "\n"), "always take the train")
							require.True(t, sees, "model %d in session %d", n, i)
						}
						found, err := backend.List(t.Context(), &backends.ListRequest{Scope: scope})
						require.NoError(t, err)
						known := slices.ContainsFunc(found.Memories, func(m backends.Memory) bool { return m.Text == words })
						require.True(t, known, "what was said is learnt at once")
					}
					require.NoError(t, failures.Err())
				})
			}
		}
	}
}

// Without a wrapped runner each agent of a supervisor would log the question again, and the last
// answer would be lost. The program is told so.
func TestASupervisorWithoutAWrappedRunnerIsToldSo(t *testing.T) {
	var failures testkit.Failures
	mem, err := middleware.New(t.Context(), &middleware.Config{
		Backend: testkit.Knowing("Ann reads fast."), Sessions: testkit.SQLite(t), AwaitWrite: true, Scope: ann, OnError: failures.Add,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	for range 2 {
		_, a, _ := prebuilt(t, "supervisor", mem)
		require.Equal(t, "assistant: all done", testkit.Last(testkit.Drain(testkit.Runner(a, false, nil).Query(t.Context(), "Read everything."))))
	}
	require.Equal(t, []string{hooks.StageRecord}, failures.Stages(), "once")
	require.ErrorIs(t, failures.Err(), backends.ErrInvalid)
	require.ErrorContains(t, failures.Err(), "Run the tree by WrapRunner")
}
