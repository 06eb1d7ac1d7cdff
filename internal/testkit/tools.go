// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// Tool returns a tool whose arguments are an Arguments.
func Tool[Arguments any](t testing.TB, name string, run func(ctx context.Context, a Arguments) (string, error)) tool.InvokableTool {
	t.Helper()
	out, err := utils.InferTool(name, name, run)
	require.NoError(t, err)
	return out
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
// goes on, and what is said by it and by the tool, as [Line] shows it.
func ReadPages(from, upto, words int, then ...Reply) (script []Reply, said []string) {
	for n := from; n < upto; n++ {
		script = append(script, Call(fmt.Sprint("c", n), "read", fmt.Sprintf(`{"n":%d}`, n)))
		said = append(said, "assistant:  calls read", "tool: "+Page(n, words))
	}
	return append(script, then...), said
}

// PageRead returns the messages by which page n is read.
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
		info, err := b.Info(t.Context())
		require.NoError(t, err)
		out[info.Name] = b.(tool.InvokableTool)
	}
	return out
}

// Use calls a tool with arguments, JSON or what becomes it, and returns its answer. An
// error, which would end an agent's run, fails the test.
func Use(t testing.TB, ctx context.Context, b tool.BaseTool, arguments any) string {
	t.Helper()
	s, ok := arguments.(string)
	if !ok {
		raw, err := json.Marshal(arguments)
		require.NoError(t, err)
		s = string(raw)
	}
	out, err := b.(tool.InvokableTool).InvokableRun(ctx, s)
	require.NoError(t, err)
	return out
}
