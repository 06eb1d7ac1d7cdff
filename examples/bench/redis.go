// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/einomem/einomem/examples/internal/trial"
)

// redisConfig is what the command redis measures.
type redisConfig struct {
	url       string
	sizes     trial.Numbers // memories in one partition
	users     int           // partitions, of each memories each
	each      int
	dim       int
	queries   int
	clients   trial.Numbers
	writes    int
	yardstick int // the most memories that SQLite is given, too
}

func redisCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	cfg, asJSON, err := parseRedis(args, errs)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	r, err := measureRedis(ctx, cfg, errs)
	if err != nil {
		return err
	}
	return r.Print(out, asJSON)
}

func parseRedis(args []string, errs io.Writer) (cfg *redisConfig, asJSON bool, err error) {
	cfg = &redisConfig{sizes: trial.Numbers{1000, 10_000, 100_000}, clients: trial.Numbers{1, 8, 64}}
	flags := flag.NewFlagSet("redis", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&cfg.url, "redis", "redis://localhost:6379/0", "the `URL` of a server that nobody else uses")
	flags.Var(&cfg.sizes, "sizes", "how many memories in one partition, separated by commas")
	flags.IntVar(&cfg.users, "users", 1000, "how many partitions, when there are many; 0 leaves that out")
	flags.IntVar(&cfg.each, "each", 100, "how many memories in each of these")
	flags.IntVar(&cfg.dim, "dim", 1536, "components of a vector")
	flags.IntVar(&cfg.queries, "queries", 200, "searches of each sort")
	flags.Var(&cfg.clients, "clients", "how many write at the same time, separated by commas")
	flags.IntVar(&cfg.writes, "writes", 2000, "writes of each sort")
	flags.IntVar(&cfg.yardstick, "yardstick", 10_000, "the most memories that are given to SQLite, too")
	flags.BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	if err := flags.Parse(args); err != nil {
		return nil, false, err
	}
	if min(cfg.dim, cfg.queries, cfg.writes, cfg.each) <= 0 || min(cfg.users, cfg.yardstick) < 0 {
		return nil, false, fmt.Errorf("-dim, -queries, -writes and -each are above 0, -users and -yardstick not below")
	}
	return cfg, asJSON, nil
}

// measureRedis takes all measures, of the server and of SQLite in turns.
func measureRedis(ctx context.Context, cfg *redisConfig, progress io.Writer) (*trial.Report, error) {
	r := &trial.Report{About: []string{
		fmt.Sprintf("%s, %s/%s, %d processors; search with TopK 10, %d searches of each sort", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), cfg.queries),
		fmt.Sprintf("made-up memories of 10 to 29 words; vectors of %d components that follow from 64 numbers, 50 memories a topic", cfg.dim),
		"warm: what was searched before, the question for news included; cold: the first search in a new process, which loads the partition",
	}}
	places, err := redisAndYardstick(ctx, cfg.url, r)
	if err != nil {
		return nil, err
	}
	say := func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) }
	for _, w := range workloads(cfg) {
		for _, p := range places {
			if p.yardstick && w.total() > cfg.yardstick {
				continue
			}
			say("%s: %d × %d memories, %s", p.name, w.partitions, w.memories, w.content.name)
			if err := w.measure(ctx, p, r); err != nil {
				return nil, fmt.Errorf("%s, %d memories, %s: %w", p.name, w.total(), w.content.name, err)
			}
		}
	}
	for _, p := range places {
		say("%s: writes", p.name)
		if err := measureWrites(ctx, p, cfg, r); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	r.Compare(yardstickName)
	noteEncodings(r)
	r.Notes = append(r.Notes, fmt.Sprintf("The yardstick, x, is %s; it got up to %d memories (-yardstick).", yardstickName, cfg.yardstick))
	return r, nil
}

// recallQueries is how many queries are compared with the exact answer.
const recallQueries = 50

// workloads returns what is to be searched, the small first.
func workloads(cfg *redisConfig) []*workload {
	var out []*workload
	add := func(partitions, memories int) {
		corpus := trial.NewCorpus(partitions*memories, cfg.queries, cfg.dim)
		nearest := sync.OnceValue(func() [][]int { return corpus.Exact(corpus.Strange[:min(recallQueries, cfg.queries)], 10) })
		for _, c := range contents {
			w := &workload{corpus: corpus, partitions: partitions, memories: memories, content: c, nearest: nearest}
			out = append(out, w)
		}
	}
	for _, n := range cfg.sizes {
		add(1, n)
	}
	if cfg.users > 0 {
		add(cfg.users, cfg.each)
	}
	return out
}
