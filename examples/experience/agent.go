// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/examples/experience/internal/cellar"
)

// The instructions. Careful is that of an agent that has no memory and takes no risk.
const (
	instruction = "You find your way out of cellars with the tools that you have. Heed what is known from earlier cellars, if anything is."
	careful     = instruction + " Inspect ground of a sort that you have not stood on before you step on it."
)

// agentName is the agent's name: the log of what it does is its own.
const agentName = "visitor"

// maxCalls bounds an attempt: there is less strength than that.
const maxCalls = 300

// runner is what an agent is run by: adk.Runner, or hooks.Runner around one.
type runner interface {
	Run(ctx context.Context, messages []adk.Message, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
}

// newAgent returns the agent that plays. All arms have this one; those with memory
// have its middlewares besides.
func newAgent(ctx context.Context, m model.ToolCallingChatModel, instruction string, memory ...adk.AgentMiddleware) (*adk.Runner, error) {
	all, err := tools()
	if err != nil {
		return nil, err
	}
	errs := adk.AgentMiddleware{WrapToolCall: compose.ToolMiddleware{Invokable: answered}}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: agentName, Description: "finds its way out of cellars", Instruction: instruction, Model: m, MaxIterations: maxCalls,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: all}},
		Middlewares: append([]adk.AgentMiddleware{errs}, memory...),
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}), nil
}

// attempt has the agent try a cellar once: with what it is told before the task, if
// anything. It returns what was said and done.
func attempt(ctx context.Context, r runner, c *cellar.Cellar, task string, told ...*schema.Message) (*cellar.Visit, []*schema.Message, error) {
	v := c.Visit()
	said := []*schema.Message{schema.UserMessage(task)}
	events := r.Run(withVisit(ctx, v), append(told, said...))
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.Name(), e.Err)
		}
		if e.Output == nil || e.Output.MessageOutput == nil {
			continue
		}
		m, err := e.Output.MessageOutput.GetMessage()
		if err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.Name(), err)
		}
		said = append(said, m)
	}
	if !v.Over() {
		return nil, nil, fmt.Errorf("cellar %s: the agent gave up after %d calls", c.Name(), v.Steps())
	}
	return v, said, nil
}
