// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
)

// Backend is ReMe-style memory. Search and Add report to Eino's callbacks as component
// Memory of type "ReMe". It is safe for concurrent use.
//
// The calls of [backends.Manager] look into the partition of the speaker, then into the workspace,
// as far as the scope names them. DeleteAll, Export and Import reach one partition as a whole: the
// user's, else the agent's own, else the workspace's. [Backend.Library] handles workspaces in
// ReMe's format.
//
// ReembedAll(ctx, namespace, progress) gives all memories of a namespace vectors of the embedder
// after the embedding model changed ([backends.ErrDimension]).
type Backend struct {
	*manager
	*learning
	config *Config
	keeper *keeper.Keeper
	model  *ask.Model // nil if the configuration has none

	task     *task.Memory
	personal *Personal
	tools    *tool.Memory
	recorder
	stop    func(ctx context.Context) error // of the recorder
	library *Library

	traced backends.Backend // search and add, seen by Eino's callbacks
}

// manager has the methods of [backends.Manager], and Export, Import and Retain.
type manager = keeper.Manager

// learning is what task and tool memory share with the backend.
type learning = learner.Holder

// recorder has the methods of [backends.ToolRecorder]. It stores calls soon, in the background, and
// writes guidelines anew once enough calls are new.
type recorder = backends.ToolRecorder

var errNoRequest = fmt.Errorf("reme: %w: no request", backends.ErrInvalid)

var (
	_ backends.Backend       = (*Backend)(nil)
	_ backends.Manager       = (*Backend)(nil)
	_ backends.UseCounter    = (*Backend)(nil)
	_ backends.AlwaysLearner = (*Backend)(nil)
	_ backends.ToolRecorder  = (*Backend)(nil)
	_ backends.ToolGuide     = (*Backend)(nil)
	_ backends.Judge         = (*Backend)(nil)
)

// New returns a backend. It needs no network: the model and the embedder get their first call when
// there is something to learn or to find. An unusable configuration is [backends.ErrInvalid]. Close
// it: calls of tools are recorded beside the agents.
func New(ctx context.Context, cfg *Config) (*Backend, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	b, err := c.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	b.manager = b.keeper.NewManager(func(ctx context.Context, s backends.Scope) ([]keeper.Place, error) {
		at, err := b.places(ctx, s)
		if err != nil {
			return nil, err
		}
		return at.all(), nil
	})
	b.traced = backends.Traced("ReMe", plain{b})
	b.keeper.Start()
	return b, nil
}

// Task returns task memory: experience from trajectories, in a workspace.
func (b *Backend) Task() *task.Memory { return b.task }

// Personal returns personal memory: knowledge about a user.
func (b *Backend) Personal() *Personal { return b.personal }

// Tools returns tool memory: how tools behave, in a workspace.
func (b *Backend) Tools() *tool.Memory { return b.tools }

// Skills returns the procedures that agents made of task memory, in a workspace.
func (b *Backend) Skills() task.Skills { return b.task.Skills() }

// Library returns the workspaces as files: load, dump, copy, delete, list.
func (b *Backend) Library() *Library { return b.library }

// Sessions returns the store's sessions. A middleware without a log of its own keeps its log there,
// so that one write stores the memories and the position in the log.
func (b *Backend) Sessions() store.Sessions { return b.config.Store }

// AlwaysLearns implements [backends.AlwaysLearner]: this backend learns from turns in every mode.
func (b *Backend) AlwaysLearns() bool { return true }

// GuideTools implements [backends.ToolGuide].
func (b *Backend) GuideTools(m model.ToolCallingChatModel, scope func(context.Context) (backends.Scope, error)) model.ToolCallingChatModel {
	return b.tools.GuideTools(m, scope)
}

// Close implements [backends.Backend]. It waits for running calls and for tool calls that are being
// recorded, ends the running sweep of a Retention, and stores the counted uses. The store and the
// models stay open. Calls to Search, Add, RecordOutcome and RecordCalls after it are
// ErrUnavailable.
func (b *Backend) Close(ctx context.Context) error {
	waited := b.keeper.Stop(ctx)
	err := b.stop(ctx)
	if waited == nil { // else the calls need the index; call Close again
		waited = b.keeper.Close(ctx)
	}
	return errors.Join(waited, err)
}

// Search implements [backends.Backend]. It joins knowledge from the speaker's partition with
// experience of tasks and tools from the workspace, the best of both by score. A condition on the
// agent (Filter agent_id) holds for the speaker's partition alone: agents share a workspace. Kinds
// choose: personal, task, tool. Without Kinds it also finds statements of the user that are still
// to be learnt.
func (b *Backend) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	return b.traced.Search(ctx, r)
}

// Add implements [backends.Backend]. It learns personal memory from the words of users. If the
// scope names a workspace, it learns task memory from turns whose outcome Config.Outcome or
// Config.Verdict knows; with Kind task it learns this alone. A request with Verbatim stores
// messages as they are: as task memories if its Kind is task, else as personal ones. Without a
// model the words of users are stored in this way, too. Instructions and Context are for personal
// memory.
func (b *Backend) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	return b.traced.Add(ctx, r)
}

// plain is the backend as its callbacks see it.
type plain struct{ *Backend }

func (p plain) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	return keeper.Call(ctx, p.keeper, r, p.search)
}

func (p plain) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	return keeper.Call(ctx, p.keeper, r, func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		ctx, err := p.keeper.Begin(ctx, r.Scope)
		if err != nil {
			return nil, err
		}
		return p.add(ctx, r)
	})
}
