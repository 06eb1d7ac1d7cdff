// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"trpc.group/trpc-go/trpc-agent-go/memory"
	"trpc.group/trpc-go/trpc-agent-go/memory/inmemory"

	"github.com/einomem/einomem/examples/internal/trial"
)

// trpcMemories finds memories by the words in them. It chooses their ids itself.
type trpcMemories struct{ service *inmemory.MemoryService }

func openTRPC(context.Context, string, *trial.Corpus) (memories, error) {
	const enough = 1 << 30 // memories of a user; its own limit is 1000
	return &trpcMemories{inmemory.NewMemoryService(inmemory.WithMemoryLimit(enough))}, nil
}

func (m *trpcMemories) put(ctx context.Context, user int, _, text string, _ []float32) error {
	return m.service.AddMemory(ctx, memory.UserKey{AppName: app, UserID: nameOf(user)}, text, nil)
}

func (m *trpcMemories) search(ctx context.Context, user int, query string) ([]string, error) {
	found, err := m.service.SearchMemories(ctx, memory.UserKey{AppName: app, UserID: nameOf(user)}, query)
	var out []string
	for _, f := range found[:min(10, len(found))] {
		out = append(out, f.ID)
	}
	return out, err
}
