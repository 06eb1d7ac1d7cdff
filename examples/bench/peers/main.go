// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Peers gives other memories for Go agents what the bench's measurement redis gives
// einomem: the same memories to search and to write, and the same columns. It is a
// module of its own, so that einomem does not depend on them:
//
//	cd examples/bench/peers
//	go run .
//
// The peers are those that the module proxy has and that need nothing around
// them. Each keeps memories in its process: none of them shares with another.
//
//   - chromem-go v0.7.0: vectors, in files that are read when it starts.
//   - trpc-agent-go v1.0.0, memory/inmemory: words, and nothing on disk. Words are
//     looked for in the texts; what holds any is found, in no order.
//   - adk v1.0.0, memory.InMemoryService: likewise.
//
// Not here, as of November 2026: what has no module in the proxy (trpc-agent-go's
// memory/redis, whose host cannot be reached; Protocol-Lattice/go-agent; the
// retriever and the indexer for Redis of eino-ext), and what needs a server with
// the module RediSearch (langchaingo's vectorstores/redisvector; in Python
// agent-memory-server, redisvl and mem0's store for Redis).
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/einomem/einomem/examples/internal/trial"
)

func main() {
	m := &measurement{sizes: [][2]int{{1000, 1}, {10_000, 1}, {100_000, 1}, {100, 1000}}, clients: []int{1, 8, 64}, dim: 1536, queries: 200, writes: 2000}
	if err := m.print(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measurement is what is measured.
type measurement struct {
	sizes                [][2]int // how many memories of each of how many users
	clients              []int
	dim, queries, writes int
}

// print has each peer search and write.
func (m *measurement) print(ctx context.Context, out io.Writer) error {
	fmt.Fprint(out, trial.Machine(), trial.SearchHeader)
	for _, size := range m.sizes {
		corpus := trial.NewCorpus(size[0]*size[1], m.queries, m.dim)
		for _, p := range peers {
			row, err := p.search(ctx, corpus, size[1], size[0])
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			fmt.Fprint(out, row)
		}
	}
	fmt.Fprint(out, "\n", trial.WriteHeader)
	corpus := trial.NewCorpus(m.writes, 1, m.dim)
	for _, p := range peers {
		for _, clients := range m.clients {
			row, err := p.write(ctx, corpus, clients)
			if err != nil {
				return fmt.Errorf("%s, %d clients: %w", p.name, clients, err)
			}
			fmt.Fprint(out, row)
		}
	}
	return nil
}
