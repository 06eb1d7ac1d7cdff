// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/examples/internal/trial"
)

// searchTimes times searches over made-up memories in SQLite, in memory, beside a bare
// scan of as many vectors.
type searchTimes struct {
	sizes         trial.Numbers
	dim, searches int
}

func (m *searchTimes) flags(f *flag.FlagSet) {
	m.sizes = trial.Numbers{1000, 10_000}
	f.Var(&m.sizes, "sizes", "how many memories, separated by commas")
	f.IntVar(&m.dim, "dim", 1536, "components of a vector")
	f.IntVar(&m.searches, "searches", 200, "searches of each sort")
}

// searchRow is how long one sort of search takes, in microseconds.
type searchRow struct {
	Memories int     `json:"memories" col:"memories"`
	Search   string  `json:"search" col:"search"`
	P50      float64 `json:"p50_us" col:"p50;%.0f"`
	P95      float64 `json:"p95_us" col:"p95;%.0f"`
	P99      float64 `json:"p99_us" col:"p99;%.0f"`
	Ratio    float64 `json:"ratio,omitempty" col:"x bare scan;%.2f;blank"` // p50 over that of the bare scan
}

func (m *searchTimes) measure(ctx context.Context, _ io.Writer) (*trial.Report, error) {
	if err := positive("-dim and -searches", m.dim, m.searches); err != nil {
		return nil, err
	}
	var rows []searchRow
	for _, n := range m.sizes {
		more, err := m.rows(ctx, n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return &trial.Report{
		About:  []string{trial.Machine(), fmt.Sprintf("%d searches of each sort, vectors of %d components", m.searches, m.dim)},
		Tables: []trial.Table{{Title: "Warm searches, in microseconds", Rows: rows}},
	}, nil
}

// rows times every sort of search over n memories. The sorts take turns, so that what
// else the machine does hits all of them alike.
func (m *searchTimes) rows(ctx context.Context, n int) (rows []searchRow, err error) {
	corpus := trial.NewCorpus(n, 64, m.dim)
	type sort struct {
		name   string
		search func(query string) error
	}
	sorts := []sort{{"bare scan", bareScan(n, m.dim)}}
	for _, c := range contents {
		w := &workload{corpus: corpus, partitions: 1, memories: n, content: c}
		s, err := inMemory().open(ctx)
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
		name := c.name
		if c.vectors {
			name = "vector " + name
		}
		sorts = append(sorts, sort{name, search})
	}
	times := make([][]time.Duration, len(sorts))
	for i := range m.searches {
		for j, s := range sorts {
			took, err := trial.Time(func() error { return s.search(corpus.Queries[i%len(corpus.Queries)]) })
			if err != nil {
				return nil, err
			}
			times[j] = append(times[j], took)
		}
	}
	for j, s := range sorts {
		q := trial.QuantilesOf(times[j])
		rows = append(rows, searchRow{Memories: n, Search: s.name, P50: 1000 * q.P50, P95: 1000 * q.P95, P99: 1000 * q.P99})
		if j > 1 { // vectors
			rows[j].Ratio = rows[j].P50 / rows[0].P50
		}
	}
	return rows, nil
}

// bareScan returns the least that an exact vector search can do: one dot product for
// each memory.
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
