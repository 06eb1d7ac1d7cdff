// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/examples/internal/trial"
)

// measurement is how searches of a workload did.
type measurement struct {
	*workload
	bed    *bed
	ranker *recall.Ranker // what the warm searches ask
	row    trial.Search
}

// take takes the measures.
func (m *measurement) take(ctx context.Context) error {
	defer func() {
		if m.ranker != nil {
			_ = m.ranker.Close()
		}
	}()
	if err := m.cold(ctx); err != nil {
		return err
	}
	if err := m.warm(ctx); err != nil {
		return err
	}
	if m.content.vectors && m.partitions == 1 {
		return m.recall(ctx)
	}
	return nil
}

// coldRuns and coldFor bound how often a cold search is repeated: a big partition
// takes seconds each time.
const (
	coldRuns = 5
	coldFor  = 10 * time.Second
)

// cold times the first search of each partition, in a new ranker; and again in
// others, when there are few. The last one stays, and with it what it holds.
func (m *measurement) cold(ctx context.Context) error {
	var times []time.Duration
	for begin := time.Now(); len(times) == 0 || len(times) < coldRuns && time.Since(begin) < coldFor; {
		if m.ranker != nil {
			_ = m.ranker.Close()
			m.ranker = nil
		}
		before := trial.Heap()
		ranker, err := m.workload.ranker(ctx, m.bed)
		if err != nil {
			return err
		}
		m.ranker = ranker
		for p := range m.partitions {
			took, err := m.search(ctx, p, m.corpus.Queries[p%len(m.corpus.Queries)], nil)
			if err != nil {
				return err
			}
			times = append(times, took)
		}
		m.row.Held = max(0, trial.Heap()-before) / int64(m.total()) // few are lost in what else there is
	}
	m.row.Cold = trial.QuantilesOf(times)
	return nil
}

// warm times searches of what is loaded, each query in a partition by chance.
func (m *measurement) warm(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(4, 4))
	var times []time.Duration
	for _, q := range m.corpus.Queries {
		took, err := m.search(ctx, rnd.IntN(m.partitions), q, nil)
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	m.row.Warm = trial.QuantilesOf(times)
	return nil
}

// recall compares what queries find that vectors alone answer with what is nearest
// to them.
func (m *measurement) recall(ctx context.Context) error {
	var sum float64
	nearest := m.nearest()
	for i, exact := range nearest {
		var found []int
		if _, err := m.search(ctx, 0, m.corpus.Strange[i], &found); err != nil {
			return err
		}
		sum += trial.Recall(exact, found)
	}
	mean := sum / float64(len(nearest))
	m.row.Recall10 = &mean
	return nil
}

// search times one search, and writes the numbers of what it found.
func (m *measurement) search(ctx context.Context, partition int, query string, found *[]int) (time.Duration, error) {
	var resp *backends.SearchResponse
	took, err := trial.Time(func() (err error) {
		resp, err = m.ranker.Search(ctx, userOf(partition), &backends.SearchRequest{Query: query, TopK: 10})
		return err
	})
	if err == nil {
		err = resp.Degraded
	}
	if err != nil || found == nil {
		return took, err
	}
	for i := range resp.Hits {
		*found = append(*found, numberOf(resp.Hits[i].ID))
	}
	return took, nil
}
