// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// Agent returns an agent with the instruction "You are NAME." change, which may be nil,
// changes its configuration.
func Agent(t testing.TB, name string, m model.ToolCallingChatModel, change func(*adk.ChatModelAgentConfig), tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	cfg := &adk.ChatModelAgentConfig{
		Name: name, Description: "an agent", Instruction: "You are " + name + ".", Model: m, MaxIterations: 100,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	}
	if change != nil {
		change(cfg)
	}
	return must(adk.NewChatModelAgent(context.Background(), cfg))(t)
}

// Runner returns a runner of an agent; points may be nil.
func Runner(a adk.Agent, streaming bool, points adk.CheckPointStore) *adk.Runner {
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: points})
}

// Run is the common part of adk.Runner and hooks.Runner.
type Run interface {
	Run(ctx context.Context, messages []adk.Message, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
	Query(ctx context.Context, query string, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
	Resume(ctx context.Context, id string, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error)
}

// Drain reads a run to its end. It returns the messages of its events as [Line] shows
// them, "error: …" for errors, "broken stream: …" for streams that fail, and
// "interrupted".
func Drain(events *adk.AsyncIterator[*adk.AgentEvent]) []string {
	var out []string
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			out = append(out, "error: "+e.Err.Error())
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			if m, err := e.Output.MessageOutput.GetMessage(); err != nil {
				out = append(out, "broken stream: "+err.Error())
			} else {
				out = append(out, Line(m))
			}
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			out = append(out, "interrupted")
		}
	}
	return out
}

// Last returns the last element of a run's lines, or "".
func Last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// Resume goes on with a run and reads it to its end.
func Resume(t testing.TB, ctx context.Context, r Run, id string) []string {
	t.Helper()
	return Drain(must(r.Resume(ctx, id))(t))
}

// Line is the text of a message: "assistant: text calls tool".
func Line(m *schema.Message) string {
	s := string(m.Role) + ": " + m.Content
	for _, c := range m.ToolCalls {
		s += " calls " + c.Function.Name
	}
	return s
}

// Lines are the texts of messages.
func Lines(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, Line(m))
	}
	return out
}

// Brief shortens lines so that a difference can be read, and keeps their lengths.
func Brief(lines []string) []string {
	out := make([]string, len(lines))
	for i, s := range lines {
		out[i] = fmt.Sprintf("%.40s (%d)", s, len(s))
	}
	return out
}

// Say returns messages of a user.
func Say(texts ...string) []*schema.Message {
	out := make([]*schema.Message, len(texts))
	for i, s := range texts {
		out[i] = schema.UserMessage(s)
	}
	return out
}

// Trap checks that a trap of Eino is there. The test checks its workaround next.
func Trap(t testing.TB, there bool) {
	t.Helper()
	require.True(t, there, "the trap is gone from Eino: its workaround may go as well")
}

// OldTrap is Trap for one that newer releases of Eino have lost: it is in 0.7 alone.
func OldTrap(t testing.TB, there bool) {
	t.Helper()
	_, newer := reflect.TypeFor[adk.ChatModelAgentConfig]().FieldByName("Handlers") // since 0.8
	require.Equal(t, !newer, there)
}

// Checkpoints is an adk.CheckPointStore in a folder, which processes may share.
type Checkpoints string

// Get implements compose.CheckPointStore.
func (c Checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(string(c), id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Set implements compose.CheckPointStore.
func (c Checkpoints) Set(_ context.Context, id string, data []byte) error {
	return os.WriteFile(filepath.Join(string(c), id), data, 0o600)
}
