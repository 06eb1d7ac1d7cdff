// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Peers gives other memories for Go agents what the bench's measurement redis gives
// einomem: the same memories to search and to write, and the same columns. It is a
// module of its own, so that einomem does not depend on them:
//
//	cd examples/bench/peers
//	go run .
//
// The peers are those that the module proxy has, that need no further server and whose
// memories outlive the process: chromem-go v0.7.0, with vectors, in files that are read
// when it starts.
//
// Not here, as of November 2026: what keeps memories in the process alone and does not
// rank them (memory/inmemory of trpc-agent-go, memory.InMemoryService of adk-go), what has
// no module in the proxy (trpc-agent-go's memory/redis, whose host cannot be reached;
// Protocol-Lattice/go-agent; the retriever and the indexer for Redis of eino-ext), and what
// needs a server with the module RediSearch (langchaingo's vectorstores/redisvector; in
// Python agent-memory-server, redisvl and mem0's store for Redis).
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/philippgille/chromem-go"

	"github.com/einomem/einomem/examples/internal/trial"
)

func main() {
	if err := trial.Full().Print(context.Background(), os.Stdout, peers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var peers = []*trial.System{{Name: "chromem-go", How: "vector", Vectors: true, New: newChromem}}

func newChromem(_ context.Context, c *trial.Corpus) (*trial.Place, error) {
	dir, err := os.MkdirTemp("", "einomem-peers-")
	if err != nil {
		return nil, err
	}
	open := func(context.Context) (trial.Memories, error) {
		db, err := chromem.NewPersistentDB(dir, false)
		return &memories{db, c}, err
	}
	return &trial.Place{
		Open:   open,
		Bytes:  func() (int64, error) { return trial.SizeOf(dir) },
		Remove: func() error { return os.RemoveAll(dir) },
	}, nil
}

// memories are a collection for each user, a file for each memory.
type memories struct {
	db     *chromem.DB
	corpus *trial.Corpus
}

func (m *memories) embed(_ context.Context, text string) ([]float32, error) {
	return m.corpus.Vector(text), nil
}

// Prepare implements trial.Memories.
func (m *memories) Prepare(_ context.Context, ids, texts []string) (trial.Put, error) {
	var documents []chromem.Document
	for i, text := range texts {
		documents = append(documents, chromem.Document{ID: ids[i], Content: text, Embedding: m.corpus.Vector(text)})
	}
	return func(ctx context.Context, user, begin, end int) error {
		c, err := m.db.GetOrCreateCollection(strconv.Itoa(user), nil, m.embed)
		if err != nil {
			return err
		}
		return c.AddDocuments(ctx, documents[begin:end], 1)
	}, nil
}

// Search implements trial.Memories.
func (m *memories) Search(ctx context.Context, user int, query string) (ids []string, err error) {
	c := m.db.GetCollection(strconv.Itoa(user), m.embed)
	found, err := c.Query(ctx, query, min(10, c.Count()), nil, nil)
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids, err
}

// Close implements trial.Memories.
func (m *memories) Close() error { return nil }
