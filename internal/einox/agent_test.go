// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
)

type query struct {
	Q int `json:"q"`
}

func newTool(t *testing.T, name string, f func(ctx context.Context, q query) (string, error)) tool.InvokableTool {
	t.Helper()
	tl, err := utils.InferTool(name, name, f)
	require.NoError(t, err)
	return tl
}

// asking is a tool that interrupts the run the first time.
func asking(t *testing.T) tool.BaseTool {
	return newTool(t, "ask", func(ctx context.Context, _ query) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "approved", nil
	})
}

func newRunner(t *testing.T, m *testkit.Chat, mw adk.AgentMiddleware, tools ...tool.BaseTool) *adk.Runner {
	t.Helper()
	a, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: "a", Description: "d", Instruction: "base", Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		Middlewares: []adk.AgentMiddleware{mw},
	})
	require.NoError(t, err)
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: a, CheckPointStore: &testkit.Checkpoints{}})
}

// drain returns what was said in a run, and its errors.
func drain(it *adk.AsyncIterator[*adk.AgentEvent]) (said []string, errs []error) {
	for {
		e, ok := it.Next()
		if !ok {
			return said, errs
		}
		if e.Err != nil {
			errs = append(errs, e.Err)
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			m, err := e.Output.MessageOutput.GetMessage()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			said = append(said, m.Content)
		}
	}
}
