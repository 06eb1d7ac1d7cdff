// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package einomem is the short way to a memory for agents of CloudWeGo Eino. Open puts the usual
// parts together: a SQLite file, the facts of package mem0, and the middleware:
//
//	mem, err := einomem.Open(ctx, "memory.db", chatModel, nil)
//	defer mem.Close(ctx)
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Name: "assistant", Description: "helps", Model: chatModel,
//		Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware()}, // the one line
//	})
//	ctx = einomem.WithScope(ctx, einomem.Scope{UserID: "ann"})
//
// New does the same on another store. Package middleware tells what an agent gets; a program that
// learns from work, or wants other parts, begins there.
package einomem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// Scope says whose memory a call has.
type Scope = backends.Scope

// WithScope returns a context whose runs have the memory of a scope: see [middleware.WithScope].
func WithScope(ctx context.Context, s Scope) context.Context { return backends.WithScope(ctx, s) }

// Options are all other settings of the parts. They are copied on entry.
type Options struct {
	// Facts says how memory learns and finds, such as by an Embedder. Open and New set its Store,
	// and its Model if they get one. Optional.
	Facts mem0.Config
	// Agent says how an agent meets its memory, such as by Mode. Open and New set its Backend. If
	// Facts is Small, Mode defaults to modes.StaticControl and NoteTokens to 400: tools and long
	// notes lead small models astray (examples/bench has the figures). Optional.
	Agent middleware.Config
}

// Memory is the middleware together with the parts below it. It is safe for concurrent use. An agent
// takes it by the methods of [middleware.MemoryMiddleware], such as AgentMiddleware, WrapRunner,
// MessageModifier, Prepare, Finish, AsRetriever, AsIndexer, Forget, ForgetPart, Export, Import and
// Rollback, which are a Memory's own, too: go doc ./middleware MemoryMiddleware shows them.
type Memory struct {
	*middleware.MemoryMiddleware

	Facts *mem0.Backend // lists, edits and deletes the memories of users
	Store store.Store   // keeps them, and the log of what was said

	closes func() error // the store, if it is this Memory's own
}

// Open returns a memory in a SQLite file, which is created where it is missing. The path ":memory:"
// keeps it in the process. The model learns facts from what users say, and may be nil: then
// messages are kept as they were said. o may be nil. Errors are those of [sqlitestore.Open],
// [mem0.New] and [middleware.New].
func Open(ctx context.Context, path string, learner model.BaseChatModel, o *Options) (*Memory, error) {
	file, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, fmt.Errorf("einomem: %w", err)
	}
	m, err := New(ctx, file, learner, o)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	m.closes = file.Close
	return m, nil
}

// New returns a memory on a store such as redisstore's, which stays the caller's to close. The
// rest is as with Open.
func New(ctx context.Context, db store.Store, learner model.BaseChatModel, o *Options) (*Memory, error) {
	set := *cmp.Or(o, &Options{})
	set.Facts.Store = db
	if learner != nil {
		set.Facts.Model = learner
	}
	facts, err := mem0.New(ctx, &set.Facts)
	if err != nil {
		return nil, fmt.Errorf("einomem: %w", err)
	}
	if set.Agent.Backend = facts; set.Facts.Small {
		set.Agent.Mode, set.Agent.NoteTokens = cmp.Or(set.Agent.Mode, modes.StaticControl), cmp.Or(set.Agent.NoteTokens, 400)
	}
	mem, err := middleware.New(ctx, &set.Agent)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("einomem: %w", err), facts.Close(ctx))
	}
	return &Memory{MemoryMiddleware: mem, Facts: facts, Store: db}, nil
}

// closeGrace is how long Close writes to the store after its context.
const closeGrace = 10 * time.Second

// Close learns from the turns that wait, as long as ctx lasts. Then it writes to the store what
// was recorded, for ten seconds at most, and closes the parts in their order. The next process
// learns from the rest; such turns are an error here, too. Close may be called once.
func (m *Memory) Close(ctx context.Context) error {
	err := m.Flush(ctx)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if closed := m.MemoryMiddleware.Close(ending); closed != nil {
		err = closed // it also names the writes that Flush missed
	}
	err = errors.Join(err, m.Facts.Close(ending))
	if m.closes != nil {
		err = errors.Join(err, m.closes())
	}
	return err
}
