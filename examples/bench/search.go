// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/examples/internal/trial"
)

// searchRow is how long one sort of search takes, everything in memory.
type searchRow struct {
	search string
	took   trial.Quantiles
}

func printSearch(ctx context.Context, b *bench) error {
	fmt.Fprint(b.out, "| memories | search | p50 / p95 / p99 ms | × bare scan |\n|---|---|---|---|\n")
	for _, n := range []int{1000, 10_000} {
		rows, err := searchTimes(ctx, n, 1536, 200)
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintf(b.out, "| %d | %s | %.3f / %.3f / %.3f | %.2f |\n", n, r.search, r.took.P50, r.took.P95, r.took.P99, r.took.P50/rows[0].took.P50)
		}
	}
	return nil
}

// searchTimes times all sorts of search over n memories in turns, so that what else the
// machine does weighs on all of them.
func searchTimes(ctx context.Context, n, dim, searches int) (rows []searchRow, err error) {
	corpus := trial.NewCorpus(n, 64, dim)
	rows = []searchRow{{search: "bare scan"}}
	calls := []func(query string) error{bareScan(n, dim)}
	for _, c := range contents {
		w := &workload{corpus: corpus, partitions: 1, memories: n, content: c}
		s, err := sqliteFile().open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.remove() }()
		if err := w.fill(ctx, s); err != nil {
			return nil, err
		}
		ranker, err := w.ranker(ctx, s)
		if err != nil {
			return nil, err
		}
		defer func() { _ = ranker.Close() }()
		search := func(query string) error {
			_, err := find(ctx, ranker, 0, query)
			return err
		}
		if err := search(corpus.Queries[0]); err != nil { // it loads the memories
			return nil, err
		}
		rows, calls = append(rows, searchRow{search: c.name}), append(calls, search)
	}
	times := make([][]time.Duration, len(rows))
	for i := range searches {
		for j, call := range calls {
			took, err := trial.Time(func() error { return call(corpus.Queries[i%len(corpus.Queries)]) })
			if err != nil {
				return nil, err
			}
			times[j] = append(times[j], took)
		}
	}
	for j := range rows {
		rows[j].took = trial.QuantilesOf(times[j])
	}
	return rows, nil
}

// bareScan is what a search by vectors costs at least: one dot product a memory.
func bareScan(n, dim int) func(string) error {
	matrix := make([]float32, n*dim)
	for i := range matrix {
		matrix[i] = float32(i % 7)
	}
	var sum float32 // so that the compiler leaves nothing out
	return func(string) error {
		for row := 0; row < len(matrix); row += dim {
			sum += vek32.Dot(matrix[:dim], matrix[row:row+dim])
		}
		return nil
	}
}
