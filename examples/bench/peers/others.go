// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"iter"
	"time"

	"github.com/philippgille/chromem-go"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
	trpcmemory "trpc.group/trpc-go/trpc-agent-go/memory"
	"trpc.group/trpc-go/trpc-agent-go/memory/inmemory"

	"github.com/einomem/einomem/examples/internal/trial"
)

// adkMemories finds events of sessions by the words in them. Each memory is a
// session of one event: adding to a session means adding all of it again.
type adkMemories struct{ service memory.Service }

func openADK(context.Context, string, *trial.Corpus) (memories, error) {
	return &adkMemories{memory.InMemoryService()}, nil
}

func (m *adkMemories) put(ctx context.Context, user int, id, text string, _ []float32) error {
	event := &session.Event{ID: id, Author: "user", LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)}}
	return m.service.AddSessionToMemory(ctx, &oneEvent{event, nameOf(user)})
}

func (m *adkMemories) search(ctx context.Context, user int, query string) ([]string, error) {
	found, err := m.service.SearchMemory(ctx, &memory.SearchRequest{AppName: app, UserID: nameOf(user), Query: query})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range found.Memories[:min(10, len(found.Memories))] {
		out = append(out, f.ID)
	}
	return out, nil
}

// oneEvent is a session that consists of an event.
type oneEvent struct {
	event *session.Event
	user  string
}

func (s *oneEvent) ID() string                { return s.event.ID }
func (s *oneEvent) AppName() string           { return app }
func (s *oneEvent) UserID() string            { return s.user }
func (s *oneEvent) State() session.State      { return nil }
func (s *oneEvent) Events() session.Events    { return s }
func (s *oneEvent) LastUpdateTime() time.Time { return s.event.Timestamp }

// All implements session.Events.
func (s *oneEvent) All() iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) { yield(s.event) }
}

// Len implements session.Events.
func (s *oneEvent) Len() int { return 1 }

// At implements session.Events.
func (s *oneEvent) At(int) *session.Event { return s.event }

// chromemMemories has a collection for each user, a file for each memory.
type chromemMemories struct {
	db    *chromem.DB
	embed chromem.EmbeddingFunc
}

func openChromem(_ context.Context, dir string, corpus *trial.Corpus) (memories, error) {
	db, err := chromem.NewPersistentDB(dir, false)
	if err != nil {
		return nil, err
	}
	embed := func(_ context.Context, text string) ([]float32, error) { return corpus.Vector(text), nil }
	return &chromemMemories{db, embed}, nil
}

func (m *chromemMemories) put(ctx context.Context, user int, id, text string, vector []float32) error {
	c, err := m.db.GetOrCreateCollection(nameOf(user), nil, m.embed)
	if err != nil {
		return err
	}
	return c.AddDocument(ctx, chromem.Document{ID: id, Content: text, Embedding: vector})
}

func (m *chromemMemories) search(ctx context.Context, user int, query string) ([]string, error) {
	c := m.db.GetCollection(nameOf(user), m.embed)
	found, err := c.Query(ctx, query, min(10, c.Count()), nil, nil)
	var out []string
	for _, f := range found {
		out = append(out, f.ID)
	}
	return out, err
}

// trpcMemories finds memories by the words in them. It chooses their ids itself.
type trpcMemories struct{ service *inmemory.MemoryService }

func openTRPC(context.Context, string, *trial.Corpus) (memories, error) {
	const enough = 1 << 30 // memories of a user; its own limit is 1000
	return &trpcMemories{inmemory.NewMemoryService(inmemory.WithMemoryLimit(enough))}, nil
}

func (m *trpcMemories) put(ctx context.Context, user int, _, text string, _ []float32) error {
	return m.service.AddMemory(ctx, trpcmemory.UserKey{AppName: app, UserID: nameOf(user)}, text, nil)
}

func (m *trpcMemories) search(ctx context.Context, user int, query string) ([]string, error) {
	found, err := m.service.SearchMemories(ctx, trpcmemory.UserKey{AppName: app, UserID: nameOf(user)}, query)
	var out []string
	for _, f := range found[:min(10, len(found))] {
		out = append(out, f.ID)
	}
	return out, err
}
