// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Peers gives other memories for Go agents what the bench's measurement redis gives
// einomem: the same memories to search and to write, and the same columns. It is a
// module of its own, so that einomem does not depend on them:
//
//	cd examples/bench/peers
//	go run . [-json] [-sizes 1000,10000,100000] [-users 1000] [-dim 1536]
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
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/einomem/einomem/examples/internal/trial"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// config is what is measured.
type config struct {
	sizes, clients                    trial.Numbers
	users, each, dim, queries, writes int
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	cfg := &config{sizes: trial.Numbers{1000, 10_000, 100_000}, clients: trial.Numbers{1, 8, 64}}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Var(&cfg.sizes, "sizes", "how many memories of one user, separated by commas")
	flags.Var(&cfg.clients, "clients", "how many write at the same time, separated by commas")
	flags.IntVar(&cfg.users, "users", 1000, "how many users, when there are many; 0 leaves that out")
	flags.IntVar(&cfg.each, "each", 100, "how many memories of each of these")
	flags.IntVar(&cfg.dim, "dim", 1536, "components of a vector")
	flags.IntVar(&cfg.queries, "queries", 200, "searches of each sort")
	flags.IntVar(&cfg.writes, "writes", 2000, "writes of each sort")
	asJSON := flags.Bool("json", false, "print JSON instead of Markdown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := cfg.measure(ctx, progress)
	if err != nil {
		return err
	}
	return r.Print(out, *asJSON)
}

// measure has each peer search and write.
func (cfg *config) measure(ctx context.Context, progress io.Writer) (*trial.Report, error) {
	workloads := [][2]int{}
	for _, n := range cfg.sizes {
		workloads = append(workloads, [2]int{1, n})
	}
	if cfg.users > 0 {
		workloads = append(workloads, [2]int{cfg.users, cfg.each})
	}
	var searches []trial.Search
	for _, w := range workloads {
		corpus := trial.NewCorpus(w[0]*w[1], cfg.queries, cfg.dim)
		for _, p := range peers {
			fmt.Fprintf(progress, "%s: %d × %d memories\n", p.name, w[0], w[1])
			row, err := p.search(ctx, corpus, w[0], w[1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			searches = append(searches, *row)
		}
	}
	var writes []trial.Write
	corpus := trial.NewCorpus(cfg.writes, 1, cfg.dim)
	for _, p := range peers {
		fmt.Fprintf(progress, "%s: writes\n", p.name)
		for _, clients := range cfg.clients {
			row, err := p.write(ctx, corpus, clients)
			if err != nil {
				return nil, fmt.Errorf("%s, %d clients: %w", p.name, clients, err)
			}
			writes = append(writes, *row)
		}
	}
	return &trial.Report{
		About: []string{
			trial.Machine() + "; the memories and queries of the bench's measurement redis",
			fmt.Sprintf("%d searches of each sort, TopK 10 where there is one; vectors of %d components", cfg.queries, cfg.dim),
		},
		Tables: []trial.Table{
			{Title: "Searches, in milliseconds; bytes are a memory's", Rows: searches},
			{Title: "Writes; the times of one in milliseconds", Rows: writes},
		},
	}, nil
}
