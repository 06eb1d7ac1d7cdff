// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/middleware"
)

// The instructions: that of all agents, and that of one that takes no risk.
const (
	instruction = "You find your way out of cellars with the tools that you have. Heed what is known from earlier cellars, if anything is."
	careful     = instruction + " Inspect ground of a sort that you have not stood on before you step on it."
)

// agentName is the agent's name: the log of what it does is its own.
const agentName = "visitor"

// maxCalls bounds an attempt: there is less strength than that.
const maxCalls = 300

// agent is what all arms have in common.
type agent struct {
	careful bool
	mem     *middleware.MemoryMiddleware // of those with memory
}

// attempts has attempts at a cellar until one succeeds.
func (a *agent) attempts(ctx context.Context, c *cellar, most int) (visits []*visit, err error) {
	for n := range most {
		v, _, err := a.attempt(ctx, c, c.again(n+1, most))
		if err != nil {
			return nil, err
		}
		if visits = append(visits, v); v.score == 1 {
			break
		}
	}
	return visits, nil
}

// attempt has the agent try a cellar once, with what it knows before the task, if
// anything. It returns what was said and done.
func (a *agent) attempt(ctx context.Context, c *cellar, task string, known ...*schema.Message) (*visit, []*schema.Message, error) {
	v := c.visit()
	said := []*schema.Message{schema.UserMessage(task)}
	events, err := a.run(middleware.WithScope(ctx, scope(c.name)), v, append(known, said...))
	if err != nil {
		return nil, nil, err
	}
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.name, e.Err)
		}
		m, _, err := adk.GetMessage(e)
		if err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.name, err)
		}
		if m != nil {
			said = append(said, m)
		}
	}
	if !v.over {
		return nil, nil, fmt.Errorf("cellar %s: the agent gave up", c.name)
	}
	return v, said, nil
}

// run runs an agent with the tools of a visit. Memory is where a.mem is.
func (a *agent) run(ctx context.Context, v *visit, messages []*schema.Message) (*adk.AsyncIterator[*adk.AgentEvent], error) {
	tools, err := v.tools()
	if err != nil {
		return nil, err
	}
	config := &adk.ChatModelAgentConfig{
		Name: agentName, Description: "finds its way out of cellars", Instruction: instruction, Model: player(), MaxIterations: maxCalls,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		Middlewares: []adk.AgentMiddleware{{WrapToolCall: compose.ToolMiddleware{Invokable: answered}}},
	}
	if a.careful {
		config.Instruction = careful
	}
	if a.mem != nil {
		config.Model = a.mem.WrapModel(player())
		config.Middlewares = append(config.Middlewares, a.mem.AgentMiddleware())
	}
	inner, err := adk.NewChatModelAgent(ctx, config)
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: inner})
	if a.mem != nil {
		return a.mem.WrapRunner(runner).Run(ctx, messages), nil
	}
	return runner.Run(ctx, messages), nil
}

// failure begins the answer of a call that failed.
const failure = "error: "

// answered makes an answer of a tool's error, which would end the run: the model is
// to see it and go on.
func answered(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, in)
		if err != nil && ctx.Err() == nil {
			return &compose.ToolOutput{Result: failure + err.Error()}, nil
		}
		return out, err
	}
}
