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
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// topK is how many memories an attempt begins with: more than there will be.
const topK = 30

// workspace is where the memories are; an attempt has the cellar's session besides.
var workspace = backends.Scope{AgentID: agentName, Workspace: "cellars"}

// memory is what an agent with memory has besides the agent. It learns while it
// trains; when it is tested it only remembers, but for what task.Retry keeps.
type memory struct {
	store    *sqlitestore.Store
	backend  *reme.Backend
	mem      *middleware.MemoryMiddleware
	runner   *hooks.Runner // the agent with memory around it
	plain    runner        // the same agent, for task.Retry, which brings the memories itself
	learning bool          // whether calls of tools are learnt from
}

// newMemory gives a player a memory, which ends with this process: a file instead of
// ":memory:", or redisstore, would keep it.
func newMemory(ctx context.Context) (m *memory, err error) {
	m = &memory{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(ctx))
		}
	}()
	if m.store, err = sqlitestore.Open(ctx, ":memory:", nil); err != nil {
		return m, err
	}
	m.backend, err = reme.New(ctx, &reme.Config{
		Store: m.store, Model: teacher(), NoPersonal: true,
		Tools: tool.Config{NoRefresh: true}, // learn writes guidelines, so that it is always at the same point
	})
	if err != nil {
		return m, err
	}
	m.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: m.backend, Mode: modes.StaticControl, TopK: topK, NoteTokens: 4000, AwaitWrite: true,
		RecordTool: func(string) bool { return m.learning },
	})
	if err != nil {
		return m, err
	}
	agent, err := newAgent(ctx, m.mem.WrapModel(player()), instruction, m.mem.AgentMiddleware())
	if err != nil {
		return m, err
	}
	m.runner = m.mem.WrapRunner(agent)
	m.plain, err = newAgent(ctx, player(), instruction)
	return m, err
}

// at returns the scope of the attempts at a cellar: the session is the cellar's.
func at(c *cellar) backends.Scope {
	s := workspace
	s.SessionID = c.name
	return s
}

// attempt has one attempt at a cellar with what is known.
func (m *memory) attempt(ctx context.Context, c *cellar) (*visit, error) {
	v, _, err := attempt(middleware.WithScope(ctx, at(c)), m.runner, c, c.task())
	return v, err
}

// train learns from an attempt at each cellar. In the end it learns nothing more of
// tools, and forgets what did not prove itself, if the arm does that.
func (m *memory) train(ctx context.Context, all []*cellar, a *arm) error {
	m.learning = a.tools
	for _, c := range all {
		if err := m.learn(ctx, c); err != nil {
			return err
		}
	}
	m.learning = false
	if !a.forgets {
		return nil
	}
	_, err := m.backend.Task().Forget(ctx, &task.ForgetRequest{Scope: workspace})
	return err
}

// learn has an attempt with what is known so far, and learns from it.
func (m *memory) learn(ctx context.Context, c *cellar) error {
	scope := at(c)
	known, err := m.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.task(), TopK: topK})
	if err != nil {
		return err
	}
	v, err := m.attempt(ctx, c)
	if err != nil {
		return err
	}
	if _, err = m.mem.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: scope, Score: v.score()}); err != nil {
		return err
	}
	_, err = m.backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: known.IDs(), AllUseful: v.out})
	if err != nil || !m.learning {
		return err
	}
	if err = m.mem.Flush(ctx); err != nil {
		return err
	}
	_, err = m.backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
	return err
}

// test has one attempt at a cellar, or several until one succeeds, each with the lessons
// of those before it: what they taught stays if one succeeded.
func (m *memory) test(ctx context.Context, c *cellar, attempts int) (visits []*visit, err error) {
	if attempts == 1 {
		v, err := m.attempt(ctx, c)
		return []*visit{v}, err
	}
	_, err = m.backend.Task().Retry(ctx, &task.RetryRequest{
		Scope: workspace, TaskID: c.name, Query: c.task(), TopK: topK, Attempts: attempts,
		Run: func(ctx context.Context, a *task.Attempt) (*task.Trajectory, error) {
			v, said, err := attempt(ctx, m.plain, c, again(c, a.N, a.Of), schema.UserMessage(a.Answer))
			if err != nil {
				return nil, err
			}
			visits = append(visits, v)
			return &task.Trajectory{Messages: said, Score: v.score()}, nil
		},
	})
	return visits, err
}

func (m *memory) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // also after an interrupt
	var errs []error
	if m.mem != nil {
		errs = append(errs, m.mem.Close(ctx))
	}
	if m.backend != nil {
		errs = append(errs, m.backend.Close(ctx))
	}
	if m.store != nil {
		errs = append(errs, m.store.Close())
	}
	return errors.Join(errs...)
}
