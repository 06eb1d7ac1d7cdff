// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
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

// attempt has the agent try a cellar once, with what it knows before the task, if
// anything. It returns what was said and done.
func attempt(ctx context.Context, r runner, c *cellar, task string, known ...*schema.Message) (*visit, []*schema.Message, error) {
	v := c.visit()
	said := []*schema.Message{schema.UserMessage(task)}
	events := r.Run(context.WithValue(ctx, visitKey{}, v), append(known, said...))
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.name, e.Err)
		}
		if e.Output == nil || e.Output.MessageOutput == nil {
			continue
		}
		m, err := e.Output.MessageOutput.GetMessage()
		if err != nil {
			return nil, nil, fmt.Errorf("cellar %s: %w", c.name, err)
		}
		said = append(said, m)
	}
	if !v.over {
		return nil, nil, fmt.Errorf("cellar %s: the agent gave up", c.name)
	}
	return v, said, nil
}

// visitKey is the key of the visit in the context of a run: the tools are used there.
type visitKey struct{}

// The arguments of the tools.
type (
	toward struct {
		Direction string `json:"direction" jsonschema:"required" jsonschema_description:"north, east, south or west"`
	}
	within struct {
		Radius int `json:"radius" jsonschema:"required" jsonschema_description:"how far to scan, in cells, from 1 to 5"`
	}
	coloured struct {
		Colour string `json:"colour" jsonschema:"required" jsonschema_description:"the colour of the door"`
	}
)

// infer makes a tool of what can be done on a visit.
func infer[T any](name, description string, do func(v *visit, argument T) (*view, error)) (tool.BaseTool, error) {
	return utils.InferTool(name, description, func(ctx context.Context, argument T) (*view, error) {
		v, _ := ctx.Value(visitKey{}).(*visit)
		if v == nil {
			return nil, errors.New("there is no cellar here")
		}
		return do(v, argument)
	})
}

// tools returns what the agent can do in a cellar. The descriptions do not say what
// the rules of its family are.
func tools() ([]tool.BaseTool, error) {
	var out []tool.BaseTool
	var errs []error
	add := func(t tool.BaseTool, err error) { out, errs = append(out, t), append(errs, err) }
	add(infer("look", "Tells what is next to you.", func(v *visit, _ struct{}) (*view, error) { return v.look() }))
	add(infer("move", "Goes one cell, and tells what is next to you there.", func(v *visit, a toward) (*view, error) { return v.move(a.Direction) }))
	add(infer("inspect", "Tells whether the ground next to you holds.", func(v *visit, a toward) (*view, error) { return v.inspect(a.Direction) }))
	add(infer("scan", "Tells where the key, the door and the exit are, as far as they are near enough.",
		func(v *visit, a within) (*view, error) { return v.scan(a.Radius) }))
	add(infer("open_door", "Opens the door next to you with the key that you have.",
		func(v *visit, a coloured) (*view, error) { return v.openDoor(a.Colour) }))
	return out, errors.Join(errs...)
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
