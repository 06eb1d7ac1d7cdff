// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
)

// timing is one row of the command search, in microseconds.
type timing struct {
	Memories int     `json:"memories"`
	Search   string  `json:"search"`
	P50      float64 `json:"p50_us"`
	P95      float64 `json:"p95_us"`
	P99      float64 `json:"p99_us"`
	Ratio    float64 `json:"ratio,omitempty"` // p50 over that of the bare scan
}

type searchConfig struct {
	sizes    trial.Numbers
	dim      int
	searches int
}

func searchCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("search", flag.ContinueOnError)
	flags.SetOutput(errs)
	cfg := searchConfig{sizes: trial.Numbers{1000, 10_000}}
	flags.Var(&cfg.sizes, "sizes", "how many memories, separated by commas")
	flags.IntVar(&cfg.dim, "dim", 1536, "components of a vector")
	flags.IntVar(&cfg.searches, "searches", 200, "searches of each sort")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if cfg.dim <= 0 || cfg.searches <= 0 {
		return fmt.Errorf("%w: -dim and -searches are above 0", errUsage)
	}
	var rows []timing
	for _, n := range cfg.sizes {
		r, err := timeSearches(ctx, cfg, n)
		if err != nil {
			return err
		}
		rows = append(rows, r...)
	}
	if *asJSON {
		return json.NewEncoder(out).Encode(rows)
	}
	return printTimings(out, cfg, rows)
}

func printTimings(out io.Writer, cfg searchConfig, rows []timing) error {
	fmt.Fprintf(out, "%d searches each, vectors of %d components; in microseconds\n", cfg.searches, cfg.dim)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "memories\tsearch\tp50\tp95\tp99\tx bare scan\t")
	for _, r := range rows {
		ratio := ""
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%.0f\t%s\t\n", r.Memories, r.Search, r.P50, r.P95, r.P99, ratio)
	}
	return w.Flush()
}

// timeSearches times every sort of search over n memories. The sorts take turns,
// so that what else the machine does hits all of them alike.
func timeSearches(ctx context.Context, cfg searchConfig, n int) ([]timing, error) {
	world := makeUp(n, cfg.dim)
	sorts := []*sample{{name: "bare scan", run: world.bareScan}}
	for _, s := range []struct {
		name     string
		vectors  bool
		encoding recall.Encoding
	}{{"lexical", false, recall.Float32}, {"vector float32", true, recall.Float32}, {"vector int8", true, recall.Int8}} {
		rc := &recall.Config{Encoding: s.encoding}
		if s.vectors {
			rc.Embedder, rc.EmbeddingModel = world, embeddingModel
		}
		search, closeAll, err := world.searcher(ctx, rc)
		if err != nil {
			return nil, err
		}
		defer closeAll()
		sorts = append(sorts, &sample{name: s.name, run: search})
	}
	for i := range cfg.searches {
		for _, s := range sorts {
			begin := time.Now()
			if err := s.run(world.queries[i%len(world.queries)]); err != nil {
				return nil, err
			}
			s.times = append(s.times, time.Since(begin))
		}
	}
	return timings(n, sorts), nil
}

// searcher stores the memories in a database of their own and returns how to
// search them. The first search, which loads them, is done.
func (w *world) searcher(ctx context.Context, cfg *recall.Config) (search func(string) error, closeAll func(), err error) {
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return nil, nil, err
	}
	cfg.Records = db
	ranker, err := recall.New(ctx, cfg)
	if err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	closeAll = func() { _, _ = ranker.Close(), db.Close() }
	p := backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: "ann"}
	search = func(query string) error {
		resp, err := ranker.Search(ctx, p, &backends.SearchRequest{Query: query, TopK: 10})
		if err == nil {
			err = resp.Degraded
		}
		return err
	}
	if err = w.store(ctx, db, ranker, p); err == nil {
		err = search(w.queries[0])
	}
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return search, closeAll, nil
}

func (w *world) store(ctx context.Context, records store.Records, ranker *recall.Ranker, p backends.Partition) error {
	vectors, space, err := ranker.Embed(ctx, w.texts)
	if err != nil {
		return err
	}
	batch := &store.Batch{Embedding: space}
	for i, text := range w.texts {
		r := &store.Record{Memory: backends.Memory{ID: fmt.Sprintf("m%06d", i), Kind: backends.KindFact, Text: text}}
		if vectors != nil {
			r.Vector = vectors[i]
		}
		batch.Mutations = append(batch.Mutations, store.Put(r))
	}
	_, err = records.Apply(ctx, p, batch)
	return err
}
