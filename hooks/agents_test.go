// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

type query struct {
	Q string `json:"q"`
}

func echoTool(t testing.TB) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("echo", "echoes", func(_ context.Context, q query) (string, error) { return "echo:" + q.Q, nil })
	require.NoError(t, err)
	return tl
}

func askTool(t testing.TB) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("ask", "asks for approval", func(ctx context.Context, _ query) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "approved", nil
	})
	require.NoError(t, err)
	return tl
}

func newAgent(t testing.TB, name string, m model.ToolCallingChatModel, change func(*adk.ChatModelAgentConfig), tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	cfg := &adk.ChatModelAgentConfig{
		Name: name, Description: "an agent", Instruction: "You are " + name + ".", Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	}
	if change != nil {
		change(cfg)
	}
	a, err := adk.NewChatModelAgent(context.Background(), cfg)
	require.NoError(t, err)
	return a
}

// with puts the memory's middleware into an agent.
func (m *memory) with(cfg *adk.ChatModelAgentConfig) {
	cfg.Middlewares = append(cfg.Middlewares, m.AgentMiddleware())
}

func newRunner(a adk.Agent, streaming bool, c adk.CheckPointStore) *adk.Runner {
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: c})
}

// drain reads all events and returns what was said in them.
func drain(t testing.TB, it *adk.AsyncIterator[*adk.AgentEvent]) []string {
	t.Helper()
	var out []string
	for {
		e, ok := it.Next()
		if !ok {
			return out
		}
		if e.Err != nil {
			out = append(out, "error: "+e.Err.Error())
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			m, err := e.Output.MessageOutput.GetMessage()
			if err != nil {
				out = append(out, "broken stream: "+err.Error())
				continue
			}
			out = append(out, line(m))
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			out = append(out, "interrupted")
		}
	}
}

func say(texts ...string) []*schema.Message {
	out := make([]*schema.Message, len(texts))
	for i, s := range texts {
		out[i] = schema.UserMessage(s)
	}
	return out
}
