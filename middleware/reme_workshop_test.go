// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// workshop makes agents whose tools count how often they were really called.
type workshop struct {
	t   *testing.T
	b   *reme.Backend
	mem *middleware.MemoryMiddleware

	mu  sync.Mutex
	ran map[string]int
}

func newWorkshop(t *testing.T) *workshop {
	b, _ := newReme(t, func(c *reme.Config) { c.Verdict = reme.VerdictOf("saw", "passed") })
	return &workshop{t: t, b: b, mem: open(t, &middleware.Config{Backend: b, Mode: modes.Both}), ran: map[string]int{}}
}

func (w *workshop) count(tool string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran[tool]++
}

// did checks that what was called is recorded, each call once, and nothing else.
func (w *workshop) did(want map[string]int) {
	w.t.Helper()
	require.NoError(w.t, w.mem.Flush(w.t.Context()))
	require.Equal(w.t, want, w.ran, "as the test is meant")
	recorded := map[string]int{}
	got, err := w.b.Tools().Retrieve(w.t.Context(), &toolmem.RetrieveRequest{Scope: atWork, WithCalls: true, Last: 1000})
	require.NoError(w.t, err)
	for i := range got.Tools {
		known := &got.Tools[i]
		recorded[known.Name] = int(known.Statistics.Total)
		assert.Len(w.t, known.Calls, recorded[known.Name])
	}
	require.Equal(w.t, want, recorded)
}

type cutInput struct {
	N int `json:"n"`
}

// saw is a tool that says that all went well, and one that streams what it cuts.
func (w *workshop) saw() tool.BaseTool {
	out, err := utils.InferTool("saw", "saws", func(_ context.Context, in *cutInput) (string, error) {
		w.count("saw")
		if in.N < 0 {
			return "", errors.New("nothing to saw")
		}
		return `{"passed": true}`, nil
	})
	require.NoError(w.t, err)
	return out
}

func (w *workshop) plane() tool.BaseTool {
	out, err := utils.InferStreamTool("plane", "planes", func(context.Context, *cutInput) (*schema.StreamReader[string], error) {
		w.count("plane")
		return schema.StreamReaderFromArray([]string{"shaving ", "after ", "shaving"}), nil
	})
	require.NoError(w.t, err)
	return out
}

// agent is one with the memory; its model follows a script.
func (w *workshop) agent(name string, chat *testkit.Chat, tools ...tool.BaseTool) *adk.ChatModelAgent {
	out, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: name, Description: "works", Model: chat, Middlewares: []adk.AgentMiddleware{w.mem.AgentMiddleware()},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	require.NoError(w.t, err)
	return out
}

// sawing is a model that saws once, and then says what it learnt.
func sawing(name string) *testkit.Chat {
	return testkit.New(testkit.Call("c1", "saw", `{"n":1}`), testkit.Text("LESSON sawing "+name+" | "+name+" needs a fine saw"))
}

// several calls more than one tool at once.
func several(tools ...string) testkit.Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		m := schema.AssistantMessage("", nil)
		for i, name := range tools {
			m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: fmt.Sprint("c", i), Type: "function", Function: schema.FunctionCall{Name: name, Arguments: `{"n":1}`}})
		}
		return m, nil
	}
}
