// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/philippgille/chromem-go"

	"github.com/einomem/einomem/examples/internal/trial"
)

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
