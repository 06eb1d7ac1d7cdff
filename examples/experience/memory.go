// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
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
		v, _, err := a.attempt(ctx, c, c.task(n+1, a.attempts))
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
	v := &visit{cellar: c, at: c.start, left: c.strength}
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

// topK is how many memories an attempt begins with: more than there will be.
const topK = 30

// scope is where the memories are; the attempts at a cellar are a session.
func scope(session string) backends.Scope {
	return backends.Scope{AgentID: agentName, Workspace: "cellars", SessionID: session}
}

// withMemory gives an agent a memory, which ends with use: a file instead of ":memory:",
// or redisstore, would keep it.
func (a *arm) withMemory(ctx context.Context, use func(*agent) error) (err error) {
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	backend, err := reme.New(ctx, &reme.Config{
		Store: db, Model: teacher(), NoPersonal: true,
		Task:  task.Config{DuplicateWords: 1}, // of the same ground the teacher says the same words
		Tools: tool.Config{NoRefresh: true},   // learn writes guidelines, so that it is always at the same point
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend, Mode: modes.StaticControl, TopK: topK, NoteTokens: 4000, AwaitWrite: true,
		AgentMemory: true, // the agent works for nobody in particular
		RecordTool:  func(string) bool { return a.tools },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	return use(&agent{arm: a, backend: backend, mem: mem})
}

// train learns from an attempt at each cellar. In the end it forgets what did not prove
// itself, if the arm does that.
func (a *agent) train(ctx context.Context, c *course) error {
	cellars := c.train
	if a.foreign {
		cellars = c.foreign
	}
	for _, at := range cellars {
		if err := a.learn(ctx, at); err != nil {
			return err
		}
	}
	if !a.forgets {
		return nil
	}
	_, err := a.backend.Task().Forget(ctx, &task.ForgetRequest{Scope: scope("")})
	return err
}

// learn has an attempt with what is known so far, and learns from it.
func (a *agent) learn(ctx context.Context, c *cellar) error {
	scope := scope(c.name)
	known, err := a.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.task(1, 1), TopK: topK})
	if err != nil {
		return err
	}
	v, _, err := a.attempt(ctx, c, c.task(1, 1))
	if err != nil {
		return err
	}
	if _, err = a.mem.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: scope, Score: v.score}); err != nil {
		return err
	}
	_, err = a.backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: known.IDs(), AllUseful: v.score == 1})
	if err != nil || !a.tools {
		return err
	}
	if err = a.mem.Flush(ctx); err != nil {
		return err
	}
	_, err = a.backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
	return err
}

// retry has attempts of which each knows what those before it taught: that stays if one
// succeeds.
func (a *agent) retry(ctx context.Context, c *cellar, r *result) error {
	bare := &agent{arm: a.arm} // Retry brings the memories
	_, err := a.backend.Task().Retry(ctx, &task.RetryRequest{
		Scope: scope(""), TaskID: c.name, Query: c.task(1, 1), TopK: topK, Attempts: a.attempts,
		Run: func(ctx context.Context, attempt *task.Attempt) (*task.Trajectory, error) {
			v, said, err := bare.attempt(ctx, c, c.task(attempt.N, attempt.Of), schema.UserMessage(attempt.Answer))
			if err != nil {
				return nil, err
			}
			r.add(v)
			return &task.Trajectory{Messages: said, Score: v.score}, nil
		},
	})
	return err
}
