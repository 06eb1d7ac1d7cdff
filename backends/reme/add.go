// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/einox"
)

// taskKey follows an idempotency key where the request writes to the workspace.
const taskKey = "/task"

// add learns from a request. It makes all model calls first. Then it stores what the workspace
// learns, and last the facts about the speaker, with the checkpoint of the log. After a crash
// between the two the caller repeats the request, and the idempotency key makes the first write
// harmless.
func (b *Backend) add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case "", backends.KindPersonal:
	case backends.KindTask:
		if at.workspace == nil {
			return nil, fmt.Errorf("reme: %w: experience lives in a workspace: set Scope.Workspace", backends.ErrNoScope)
		}
		if r.Verbatim {
			return b.addTask(ctx, at, r)
		}
		return b.learn(ctx, at, r)
	default:
		return nil, fmt.Errorf("reme: kind %q: %w: personal and task memories are added; tool memory learns from calls", r.Kind, backends.ErrInvalid)
	}
	if r.Verbatim || b.model == nil && !b.config.NoPersonal {
		return b.addVerbatim(ctx, at, r)
	}
	return b.learn(ctx, at, r)
}

// learn learns from the words of a user, and from the outcomes of the turns.
func (b *Backend) learn(ctx context.Context, at *places, r *backends.AddRequest) (*backends.AddResponse, error) {
	out := &backends.AddResponse{}
	attempts, err := b.attempts(ctx, at, r)
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	var said *reconcile.Call
	if at.personal != nil && r.Kind != backends.KindTask && !b.config.NoPersonal {
		if said, err = b.personal.draft(ctx, personalRequest(at, r)); err != nil {
			return nil, err
		}
		defer said.Release()
	}
	if len(attempts) > 0 {
		key := r.IdempotencyKey
		if key != "" {
			key += taskKey
		}
		out, err = b.learnTasks(ctx, &task.SummaryRequest{
			Scope: at.scope, Trajectories: attempts, Metadata: r.Metadata, Expires: r.Expires, Author: r.Author, IdempotencyKey: key,
		})
		if err != nil {
			return nil, err
		}
	}
	if said != nil {
		resp, err := said.Store(ctx)
		if err != nil && len(attempts) > 0 {
			// The caller must repeat the call as it is: parts of it under other keys would be
			// learnt by the workspace a second time.
			return nil, fmt.Errorf("%w; the experience of the workspace is stored: repeat the call under its key (%w)", err, backends.ErrUnavailable)
		}
		if err != nil {
			return nil, err
		}
		b.keeper.ShowItems(at.scope, *at.personal, resp.Items)
		out.Items = append(out.Items, resp.Items...)
		out.Checkpointed = resp.Checkpointed
		out.Replayed = resp.Replayed && (len(attempts) == 0 || out.Replayed) // both writes were replays
		out.Usage.Add(resp.Usage)
	}
	return out, nil
}

// attempts returns the turns whose outcome is known, if there is a workspace to learn from them. A
// note that an agent writes down is not an attempt.
func (b *Backend) attempts(ctx context.Context, at *places, r *backends.AddRequest) ([]task.Trajectory, error) {
	if at.workspace == nil || b.model == nil || r.Author == backends.AuthorAgent || b.config.Outcome == nil && b.config.Verdict == nil {
		return nil, nil
	}
	err := b.keeper.Allow(ctx, backends.OpAdd, at.scope, *at.workspace, nil)
	if errors.Is(err, backends.ErrDenied) && r.Kind != backends.KindTask {
		return nil, nil // the user's words are learnt all the same
	}
	if err != nil {
		return nil, err
	}
	turns, err := b.ended(ctx, at.scope, r)
	if err != nil {
		return nil, err
	}
	var out []task.Trajectory
	for _, t := range turns {
		if !t.teaches() {
			continue
		}
		o, err := b.outcome(ctx, t)
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, t.trajectory(o))
		}
	}
	return out, nil
}

func personalRequest(at *places, r *backends.AddRequest) *PersonalSummaryRequest {
	out := &PersonalSummaryRequest{AddRequest: *r}
	out.Scope = at.scope
	return out
}

// addVerbatim stores messages as they are, about the people who said them.
func (b *Backend) addVerbatim(ctx context.Context, at *places, r *backends.AddRequest) (*backends.AddResponse, error) {
	if at.personal == nil {
		return nil, fmt.Errorf("reme: %w: messages belong to a user or an agent: name one, or use kind task to share them in the workspace", backends.ErrNoScope)
	}
	request := personalRequest(at, r)
	request.Verbatim = true
	resp, err := b.personal.Summarize(ctx, request)
	if err != nil {
		return nil, err
	}
	return &resp.AddResponse, nil
}

// addTask shares ready-made experience: each message is one.
func (b *Backend) addTask(ctx context.Context, at *places, r *backends.AddRequest) (*backends.AddResponse, error) {
	var notes []backends.Memory
	for _, m := range r.Messages {
		if m.Message == nil || einox.IsNote(m.Message) {
			continue
		}
		if text := strings.TrimSpace(einox.Text(m.Message)); text != "" {
			notes = append(notes, backends.Memory{WhenToUse: text, Text: text, Observed: m.Time, Origin: backends.Origin{Session: at.scope.SessionID, Turn: m.Turn}})
		}
	}
	return b.learnTasks(ctx, &task.SummaryRequest{Scope: at.scope, Candidates: notes, Metadata: r.Metadata, Expires: r.Expires, Author: r.Author, IdempotencyKey: r.IdempotencyKey})
}

// learnTasks lets task memory learn.
func (b *Backend) learnTasks(ctx context.Context, r *task.SummaryRequest) (*backends.AddResponse, error) {
	resp, err := b.task.Summarize(ctx, r)
	if err != nil {
		return nil, err
	}
	return &backends.AddResponse{Items: resp.Items, Usage: resp.Report.Usage, Replayed: resp.Replayed}, nil
}
