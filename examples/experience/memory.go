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

// memory is an agent with memory. It learns while it trains; when it is tested it only
// remembers, but for what task.Retry keeps.
type memory struct {
	agent
	backend  *reme.Backend
	learning bool // whether calls of tools are recorded
}

// withMemory gives an agent a memory, which ends with use: a file instead of ":memory:",
// or redisstore, would keep it.
func withMemory(ctx context.Context, use func(*memory) error) (err error) {
	closing := context.WithoutCancel(ctx) // also after an interrupt
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	backend, err := reme.New(ctx, &reme.Config{
		Store: db, Model: teacher(), NoPersonal: true,
		Tools: tool.Config{NoRefresh: true}, // learn writes guidelines, so that it is always at the same point
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(closing)) }()
	m := &memory{backend: backend}
	m.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: backend, Mode: modes.StaticControl, TopK: topK, NoteTokens: 4000, AwaitWrite: true,
		RecordTool: func(string) bool { return m.learning },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.mem.Close(closing)) }()
	return use(m)
}

// train learns from an attempt at each cellar. In the end it learns nothing more of
// tools, and forgets what did not prove itself, if the arm does that.
func (m *memory) train(ctx context.Context, a *arm, c *course) error {
	cellars := c.train
	if a.foreign {
		cellars = c.foreign
	}
	m.learning = a.tools
	for _, at := range cellars {
		if err := m.learn(ctx, at); err != nil {
			return err
		}
	}
	m.learning = false
	if !a.forgets {
		return nil
	}
	_, err := m.backend.Task().Forget(ctx, &task.ForgetRequest{Scope: scope("")})
	return err
}

// learn has an attempt with what is known so far, and learns from it.
func (m *memory) learn(ctx context.Context, c *cellar) error {
	scope := scope(c.name)
	known, err := m.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.task(), TopK: topK})
	if err != nil {
		return err
	}
	v, _, err := m.attempt(ctx, c, c.task())
	if err != nil {
		return err
	}
	if _, err = m.mem.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: scope, Score: v.score}); err != nil {
		return err
	}
	_, err = m.backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: known.IDs(), AllUseful: v.score == 1})
	if err != nil || !m.learning {
		return err
	}
	if err = m.mem.Flush(ctx); err != nil {
		return err
	}
	_, err = m.backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
	return err
}

// test has one attempt at a cellar, or several until one succeeds, each with what those
// before it taught: that stays if one succeeded.
func (m *memory) test(ctx context.Context, c *cellar, attempts int) (visits []*visit, err error) {
	if attempts == 1 {
		return m.attempts(ctx, c, attempts)
	}
	bare := &agent{} // Retry brings the memories
	_, err = m.backend.Task().Retry(ctx, &task.RetryRequest{
		Scope: scope(""), TaskID: c.name, Query: c.task(), TopK: topK, Attempts: attempts,
		Run: func(ctx context.Context, a *task.Attempt) (*task.Trajectory, error) {
			v, said, err := bare.attempt(ctx, c, c.again(a.N, a.Of), schema.UserMessage(a.Answer))
			if err != nil {
				return nil, err
			}
			visits = append(visits, v)
			return &task.Trajectory{Messages: said, Score: v.score}, nil
		},
	})
	return visits, err
}
