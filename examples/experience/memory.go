// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// instruction is the instruction of all agents.
const instruction = "You find your way out of cellars with the tools that you have. Heed what is known from earlier cellars, if anything is."

// agentName is the agent's name: its log is its own.
const agentName = "visitor"

// maxCalls bounds an attempt: its strength is less.
const maxCalls = 300

// agent plays an arm. One with memory learns during training; during tests it only remembers,
// except for the lessons that task.Retry keeps.
type agent struct {
	*arm
	backend *reme.Backend                // nil for an arm without memory
	mem     *middleware.MemoryMiddleware // nil: memory stays away from the agent
	noted   int                          // tokens of the notes so far
}

// test makes attempts at all test cellars of a course, at each until one succeeds.
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

// repeat makes independent attempts.
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

// attempt lets the agent try a cellar once, with its memories before the task, if any: a skill
// replaces lessons. It returns the messages.
func (a *agent) attempt(ctx context.Context, c *cellar, at string, known ...*schema.Message) (*visit, []*schema.Message, error) {
	v := &visit{cellar: c, at: c.start, left: c.strength}
	runner, err := a.runner(ctx, v)
	var skill *task.Skill
	if err == nil && a.skilled && a.mem == nil {
		skill, known, err = a.skill(ctx, c, at)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, m := range known {
		v.memory += tokens(m.Content)
	}
	before, asked := a.noted, schema.UserMessage(at)
	said, err := demomodel.Messages(runner.Run(middleware.WithScope(ctx, scope(c.name)), append(known, asked)))
	if err == nil && skill != nil {
		_, err = a.backend.Skills().Record(ctx, outcome(skill, v))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cellar %s: %w", c.name, err)
	}
	v.memory += a.noted - before
	return v, append([]*schema.Message{asked}, said...), nil
}

// outcome is the result of an attempt with a skill: a failing skill is withdrawn.
func outcome(s *task.Skill, v *visit) *task.SkillOutcome {
	return &task.SkillOutcome{Scope: scope(""), IDs: []string{s.ID}, Succeeded: v.score == 1}
}

// tokens estimates the size of a text.
func tokens(text string) int { return utf8.RuneCountInString(text) / 4 }

// skill returns the skill for a cellar among the best hits: as a model would choose, by WhenToUse.
// Without one there are lessons.
func (a *agent) skill(ctx context.Context, c *cellar, query string) (*task.Skill, []*schema.Message, error) {
	found, err := a.backend.Skills().Find(ctx, scope(""), query, 3, false)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range found {
		if strings.HasSuffix(s.WhenToUse, "below "+c.rules.house) {
			return &found[i], []*schema.Message{message(&s)}, nil
		}
	}
	lessons, err := a.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope(""), Query: query, TopK: topK})
	if err != nil {
		return nil, nil, err
	}
	return nil, []*schema.Message{schema.UserMessage(lessons.Answer)}, nil
}

// message is a skill as a message.
func message(s *task.Skill) *schema.Message {
	return schema.UserMessage(s.WhenToUse + ":\n" + strings.Join(s.Steps, "\n"))
}

// runner returns the runner of an agent with the tools of a visit, and with memory if a.mem is set.
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

// topK is how many memories an attempt begins with: a few more than a house has, out of hundreds.
const topK = 15

// others is how many other houses have lessons, and a skill each.
const others = 30

// crowd fills the workspace with lessons about other houses.
func (a *agent) crowd(ctx context.Context, c *course) error {
	r := &task.SummaryRequest{Scope: scope("")}
	for n := range others {
		of := c.other(n)
		for _, q := range qualities() {
			e := experience(of.house, q, q != of.pit)
			r.Candidates = append(r.Candidates, backends.Memory{WhenToUse: e["when_to_use"].(string), Text: e["experience"].(string)})
		}
	}
	_, err := a.backend.Task().Summarize(ctx, r)
	return err
}

const workspace = "cellars"

// scope is the scope of the memories; the attempts at a cellar are a session.
func scope(session string) backends.Scope {
	return backends.Scope{AgentID: agentName, Workspace: workspace, SessionID: session}
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
		Task:  task.Config{DuplicateWords: 1}, // the teacher repeats its words for the same ground
		Tools: tool.Config{NoRefresh: true},   // learn writes guidelines, so that it is always at the same point
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	remembers := &agent{arm: a, backend: backend}
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend, Mode: modes.StaticControl, TopK: topK, NoteTokens: 4000, AwaitWrite: true,
		Threshold:   -1,   // a task has many words that lessons lack
		AgentMemory: true, // the agent works for itself, without a user
		RecordTool:  func(string) bool { return a.tools },
		OnNote:      func(_ context.Context, n hooks.Note) { remembers.noted += tokens(n.Text) },
	})
	if err != nil {
		return err
	}
	remembers.mem = mem
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	return use(remembers)
}

// train learns from an attempt at each cellar, beside the lessons of other houses. Then it prepares
// the memory that the arm tests.
func (a *agent) train(ctx context.Context, c *course) error {
	cellars := c.train
	if a.foreign {
		cellars = c.foreign
	}
	if err := a.crowd(ctx, c); err != nil {
		return err
	}
	var succeeded []task.Trajectory
	for _, at := range cellars {
		said, score, err := a.learn(ctx, at)
		if err != nil {
			return err
		}
		if score == 1 {
			succeeded = append(succeeded, task.Trajectory{Messages: said, Score: score})
		}
	}
	switch {
	case a.forgets:
		_, err := a.backend.Task().Forget(ctx, &task.ForgetRequest{Scope: scope("")})
		return err
	case a.reflects:
		return a.reflect(ctx)
	case a.skilled:
		return a.makeSkill(ctx, c, succeeded)
	}
	return nil
}

// reflect tidies the workspace until everything is done: a lesson falls by its second vote.
func (a *agent) reflect(ctx context.Context) error {
	r, err := reflection.New(&reflection.Config{Backend: a.backend, Model: teacher()})
	for range 2 {
		var plan *reflection.Plan
		if err == nil {
			plan, err = r.Draft(ctx, &reflection.Request{Scope: backends.Scope{Workspace: workspace}})
		}
		if err == nil {
			_, err = r.Apply(ctx, plan, false)
		}
	}
	return err
}

// makeSkill drafts a skill, and has it proved by an attempt at a training cellar, beside the skills
// for other houses. From then on the agent gets it instead of lessons, while it does well.
func (a *agent) makeSkill(ctx context.Context, c *course, succeeded []task.Trajectory) error {
	for n := range others {
		of := c.other(n)
		skill := procedure(of.house, []string{of.pit}, forms[of.form].name)
		if _, err := a.backend.Skills().Add(ctx, scope(""), skill, true); err != nil {
			return err
		}
	}
	bare, at := &agent{arm: &arm{attempts: 1}}, c.train[0]
	_, err := a.backend.Skills().Draft(ctx, &task.DraftRequest{
		Scope: scope(""), Task: "find the way out of a cellar below " + at.rules.house, Trajectories: succeeded, TopK: topK,
		Verify: func(ctx context.Context, s *task.Skill) (bool, error) {
			v, _, err := bare.attempt(ctx, at, at.task(1, 1), message(s))
			return err == nil && v.score == 1, err
		},
	})
	a.mem = nil
	return err
}

// learn makes an attempt with the memories so far, and learns from it.
func (a *agent) learn(ctx context.Context, c *cellar) ([]*schema.Message, float64, error) {
	scope := scope(c.name)
	known, err := a.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.task(1, 1), TopK: topK})
	if err != nil {
		return nil, 0, err
	}
	v, said, err := a.attempt(ctx, c, c.task(1, 1))
	if err != nil {
		return nil, 0, err
	}
	if _, err = a.mem.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: scope, Score: v.score}); err != nil {
		return nil, 0, err
	}
	_, err = a.backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: known.IDs(), AllUseful: v.score == 1})
	if err != nil || !a.tools {
		return said, v.score, err
	}
	if err = a.mem.Flush(ctx); err == nil {
		_, err = a.backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
	}
	return said, v.score, err
}

// retry makes attempts that know the lessons of the ones before: these stay if one succeeds.
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
