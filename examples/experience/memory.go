// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

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
	known, err := a.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.task(), TopK: topK})
	if err != nil {
		return err
	}
	v, _, err := a.attempt(ctx, c, c.task())
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
		Scope: scope(""), TaskID: c.name, Query: c.task(), TopK: topK, Attempts: a.attempts,
		Run: func(ctx context.Context, attempt *task.Attempt) (*task.Trajectory, error) {
			v, said, err := bare.attempt(ctx, c, c.again(attempt.N, attempt.Of), schema.UserMessage(attempt.Answer))
			if err != nil {
				return nil, err
			}
			r.add(v)
			return &task.Trajectory{Messages: said, Score: v.score}, nil
		},
	})
	return err
}
