// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
)

// instruction is that of all agents.
const instruction = "You find your way out of cellars with the tools that you have. Heed what is known from earlier cellars, if anything is."

// agentName is the agent's name: the log of what it does is its own.
const agentName = "visitor"

// maxCalls bounds an attempt: there is less strength than that.
const maxCalls = 300

// agent plays an arm. One with memory learns while it trains; when it is tested it only
// remembers, but for what task.Retry keeps.
type agent struct {
	*arm
	backend *reme.Backend                // nil: no memory
	mem     *middleware.MemoryMiddleware // nil: nothing reaches the agent from memory
}

// test has attempts at all test cellars of a course, at each until one succeeds.
func (a *agent) test(ctx context.Context, c *course) (r result, err error) {
	try := a.repeat
	if a.backend != nil && a.attempts > 1 {
		try = a.retry
	}
	for _, at := range c.test {
		if err := try(ctx, at, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// repeat has attempts that know nothing of one another.
func (a *agent) repeat(ctx context.Context, c *cellar, r *result) error {
	for n := range a.attempts {
		v, _, err := a.attempt(ctx, c, c.again(n+1, a.attempts))
		if err != nil {
			return err
		}
		if r.add(v); v.score == 1 {
			break
		}
	}
	return nil
}

// attempt has the agent try a cellar once, with what it knows before the task, if
// anything. It returns what was said and done.
func (a *agent) attempt(ctx context.Context, c *cellar, task string, known ...*schema.Message) (*visit, []*schema.Message, error) {
	v := c.visit()
	runner, err := a.runner(ctx, v)
	if err != nil {
		return nil, nil, err
	}
	asked := schema.UserMessage(task)
	said, err := demomodel.Messages(runner.Run(middleware.WithScope(ctx, scope(c.name)), append(known, asked)))
	if err != nil {
		return nil, nil, fmt.Errorf("cellar %s: %w", c.name, err)
	}
	return v, append([]*schema.Message{asked}, said...), nil
}

// runner returns what runs an agent with the tools of a visit, and with memory where a.mem
// is.
func (a *agent) runner(ctx context.Context, v *visit) (*adk.Runner, error) {
	tools, err := v.tools()
	if err != nil {
		return nil, err
	}
	config := &adk.ChatModelAgentConfig{
		Name: agentName, Description: "finds its way out of cellars", Instruction: instruction + a.request, Model: player(),
		MaxIterations: maxCalls, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	}
	if a.mem != nil {
		config.Model = a.mem.WrapModel(player())
		config.Middlewares = []adk.AgentMiddleware{a.mem.AgentMiddleware()}
	}
	inner, err := adk.NewChatModelAgent(ctx, config)
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: inner}), err
}
