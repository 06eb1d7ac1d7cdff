// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// agent is one agent with a memory and a model that follows a script.
type agent struct {
	t      testing.TB
	runner *adk.Runner
	model  *testkit.Chat

	mu    sync.Mutex
	tools []string // the tools that the model was offered last
}

const basePrompt = "You are a helpful agent."

func newAgent(t testing.TB, mem *middleware.MemoryMiddleware, script ...testkit.Reply) *agent {
	t.Helper()
	a := &agent{t: t}
	watched := make([]testkit.Reply, len(script))
	for i, reply := range script {
		watched[i] = func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
			a.offered(opts.Tools)
			return reply(ctx, in, opts)
		}
	}
	a.model = testkit.New(watched...)
	config := &adk.ChatModelAgentConfig{Name: "assistant", Description: "helps", Instruction: basePrompt, Model: a.model}
	if mem != nil {
		config.Middlewares = []adk.AgentMiddleware{mem.AgentMiddleware()}
	}
	made, err := adk.NewChatModelAgent(context.Background(), config)
	require.NoError(t, err)
	a.runner = adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: made})
	return a
}

func (a *agent) offered(tools []*schema.ToolInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tools = nil
	for _, info := range tools {
		a.tools = append(a.tools, info.Name)
	}
}

// reply runs the agent and returns its last answer.
func (a *agent) reply(ctx context.Context, texts ...string) string {
	a.t.Helper()
	var input []adk.Message
	for _, text := range texts {
		input = append(input, schema.UserMessage(text))
	}
	return drain(a.t, a.runner.Run(ctx, input))
}

// drain reads a run to its end and returns the last text of the assistant.
func drain(t testing.TB, events *adk.AsyncIterator[*adk.AgentEvent]) string {
	t.Helper()
	answer := ""
	for {
		event, ok := events.Next()
		if !ok {
			return answer
		}
		require.NoError(t, event.Err)
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		m, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		if m.Role == schema.Assistant {
			answer = m.Content
		}
	}
}

// asAnn is a context whose runs are ann's.
func asAnn() context.Context { return middleware.WithScope(context.Background(), ann) }

// systemPrompt returns what the model was told by the program, in its call n.
func (a *agent) systemPrompt(n int) string {
	var out []string
	for _, m := range a.model.Calls()[n] {
		if m.Role == schema.System {
			out = append(out, m.Content)
		}
	}
	return strings.Join(out, "\n")
}

// notes returns the indexes of the notes that the model saw in its call n.
func (a *agent) notes(n int) []int {
	var out []int
	for i, m := range a.model.Calls()[n] {
		if m.Name == "memory" {
			out = append(out, i)
		}
	}
	return out
}

// note returns the one note of the model's call n.
func (a *agent) note(t testing.TB, n int) *schema.Message {
	t.Helper()
	at := a.notes(n)
	require.Len(t, at, 1)
	return a.model.Calls()[n][at[0]]
}

// answer returns the last text of a run.
func answer(events *adk.AsyncIterator[*adk.AgentEvent]) string {
	last := ""
	for {
		event, ok := events.Next()
		if !ok {
			return last
		}
		check(event.Err)
		m, err := event.Output.MessageOutput.GetMessage()
		check(err)
		last = m.Content
	}
}

var id = regexp.MustCompile(`\[[^]]+\] `)

// withoutIDs returns a note without the ids of its memories.
func withoutIDs(note string) string { return id.ReplaceAllString(note, "") }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
