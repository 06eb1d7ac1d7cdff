// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/examples/experience/internal/cellar"
	"github.com/einomem/einomem/examples/experience/internal/teacher"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// topK is how many memories an attempt begins with: more than there will be.
const topK = 30

// remembering is an agent with memory. It learns while it trains; when it is tested
// it only remembers, but for what task.Retry keeps.
type remembering struct {
	arm      *arm
	scope    backends.Scope
	place    *place
	teacher  *counted
	backend  *reme.Backend
	mem      *middleware.MemoryMiddleware
	runner   *hooks.Runner // with memory around it
	plain    runner        // the same agent, for task.Retry, which brings the memories itself
	learning bool          // whether calls of tools are learnt from
	deleted  int
}

func newRemembering(ctx context.Context, o *options, c *course, a *arm, player *counted) (r *remembering, err error) {
	r = &remembering{arm: a, teacher: newCounted(&teacher.Model{}), learning: a.tools}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(ctx))
		}
	}()
	if r.place, err = openPlace(ctx, o.redis); err != nil {
		return r, err
	}
	r.scope = r.place.scope(fmt.Sprintf("cellars-%d", c.seed))
	r.backend, err = reme.New(ctx, &reme.Config{
		Store: r.place.store, Model: r.teacher,
		Task: task.Config{
			OnDelete: func(context.Context, backends.Partition, task.Forgotten) { r.deleted++ },
			Log:      slog.New(slog.DiscardHandler),
		},
		Tools: tool.Config{NoRefresh: true}, // learn writes guidelines, so that it is always at the same point
	})
	if err != nil {
		return r, err
	}
	r.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: r.backend, Mode: modes.StaticControl, TopK: topK, NoteTokens: 4000, AwaitWrite: true,
		RecordTool: func(string) bool { return r.learning },
	})
	if err != nil {
		return r, err
	}
	agent, err := newAgent(ctx, r.mem.WrapModel(player), instruction, r.mem.AgentMiddleware())
	if err != nil {
		return r, err
	}
	r.runner = r.mem.WrapRunner(agent)
	r.plain, err = newAgent(ctx, player, instruction)
	return r, err
}

// at returns the scope of the attempts at a cellar: the session is the cellar's.
func (r *remembering) at(c *cellar.Cellar) backends.Scope {
	s := r.scope
	s.SessionID = c.Name()
	return s
}

// train learns from an attempt at each cellar. In the end it learns nothing more of
// tools, and forgets what did not prove itself, if the arm does that.
func (r *remembering) train(ctx context.Context, all []*cellar.Cellar) error {
	for _, c := range all {
		if err := r.learn(ctx, c); err != nil {
			return err
		}
	}
	r.learning = false
	if !r.arm.forgets {
		return nil
	}
	_, err := r.backend.Task().Forget(ctx, &task.ForgetRequest{Scope: r.scope})
	return err
}

// learn has an attempt with what is known so far, and learns from it.
func (r *remembering) learn(ctx context.Context, c *cellar.Cellar) error {
	scope := r.at(c)
	known, err := r.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: c.Task(), TopK: topK})
	if err != nil {
		return err
	}
	v, _, err := attempt(middleware.WithScope(ctx, scope), r.runner, c, c.Task())
	if err != nil {
		return err
	}
	if _, err = r.mem.RecordOutcome(ctx, &backends.OutcomeRequest{Scope: scope, Score: v.Score()}); err != nil {
		return err
	}
	_, err = r.backend.Task().Record(ctx, &task.RecordRequest{Scope: scope, IDs: known.IDs(), AllUseful: v.Score() == 1})
	if err != nil || !r.arm.tools {
		return err
	}
	if err = r.mem.Flush(ctx); err != nil {
		return err
	}
	_, err = r.backend.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: scope})
	return err
}

func (r *remembering) test(ctx context.Context, c *cellar.Cellar, res *result) (bool, error) {
	if r.arm.attempts > 1 {
		return r.retry(ctx, c, res)
	}
	v, _, err := attempt(middleware.WithScope(ctx, r.at(c)), r.runner, c, c.Task())
	if err != nil {
		return false, err
	}
	res.add(v)
	return v.Score() == 1, nil
}

// retry has attempts at a cellar until one succeeds, each with the lessons of those
// before it. What they taught stays if one did.
func (r *remembering) retry(ctx context.Context, c *cellar.Cellar, res *result) (bool, error) {
	resp, err := r.backend.Task().Retry(ctx, &task.RetryRequest{
		Scope: r.scope, TaskID: c.Name(), Query: c.Task(), TopK: topK, Attempts: r.arm.attempts,
		Run: func(ctx context.Context, a *task.Attempt) (*task.Trajectory, error) {
			v, said, err := attempt(ctx, r.plain, c, again(c, a.N, a.Of), schema.UserMessage(a.Answer))
			if err != nil {
				return nil, err
			}
			res.add(v)
			return &task.Trajectory{Messages: said, Score: v.Score()}, nil
		},
	})
	if err != nil {
		return false, err
	}
	return resp.Succeeded, nil
}

func (r *remembering) tally(ctx context.Context, res *result) error {
	res.taught, res.deleted = int(r.teacher.calls.Load()), r.deleted
	all, err := r.memories(ctx)
	for i := range all {
		if all[i].Active() {
			res.stored++
			res.memories = append(res.memories, all[i])
		} else {
			res.superseded++
		}
	}
	return err
}

// memories returns all that the workspace holds, and what it held before.
func (r *remembering) memories(ctx context.Context) ([]backends.Memory, error) {
	var out []backends.Memory
	for cursor := ""; ; {
		page, err := r.backend.List(ctx, &backends.ListRequest{Scope: r.scope, IncludeSuperseded: true, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Memories...)
		if cursor = page.Next; cursor == "" {
			return out, nil
		}
	}
}

func (r *remembering) close(ctx context.Context) error {
	var errs []error
	if r.mem != nil {
		errs = append(errs, r.mem.Close(ctx))
	}
	if r.backend != nil {
		errs = append(errs, r.backend.Close(ctx))
	}
	if r.place != nil {
		errs = append(errs, r.place.close(ctx, r.scope))
	}
	return errors.Join(errs...)
}
