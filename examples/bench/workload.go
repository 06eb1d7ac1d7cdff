// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// workload is a corpus in one or in many partitions, stored in one of the ways.
type workload struct {
	corpus     *trial.Corpus
	partitions int
	memories   int // in each
	content    content
}

// content is what a store holds of each memory.
type content struct {
	name     string
	vectors  bool
	encoding recall.Encoding
}

var contents = []content{
	{name: "lexical"},
	{name: "float32", vectors: true, encoding: recall.Float32},
	{name: "int8", vectors: true, encoding: recall.Int8},
}

func (w *workload) total() int { return w.partitions * w.memories }

// ranker returns a new Ranker over the workload.
func (w *workload) ranker(ctx context.Context, records store.Records) (*recall.Ranker, error) {
	cfg := &recall.Config{Records: records, Encoding: w.content.encoding, MaxBytes: 16 << 30}
	if w.content.vectors {
		cfg.Embedder, cfg.EmbeddingModel = embedder{w.corpus}, "made-up"
	}
	return recall.New(ctx, cfg)
}

// fill stores the memories, in batches.
func (w *workload) fill(ctx context.Context, s store.Store) (err error) {
	ranker, err := w.ranker(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	const most = 500 // in a batch
	for begin := 0; begin < w.total(); {
		partition := begin / w.memories
		end := min(begin+most, (partition+1)*w.memories)
		vectors, space, err := ranker.Embed(ctx, w.corpus.Texts[begin:end])
		if err != nil {
			return err
		}
		batch := &store.Batch{Embedding: space}
		for i, text := range w.corpus.Texts[begin:end] {
			rec := &store.Record{Memory: backends.Memory{ID: fmt.Sprintf("m%06d", begin+i), Kind: backends.KindFact, Text: text}}
			if vectors != nil {
				rec.Vector = vectors[i]
			}
			batch.Mutations = append(batch.Mutations, store.Put(rec))
		}
		if _, err := s.Apply(ctx, userOf(partition), batch); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// measure stores the workload in a place and searches it.
func (w *workload) measure(ctx context.Context, p *place) (row *trial.Search, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	empty, err := s.bytes()
	if err != nil {
		return nil, err
	}
	if err := w.fill(ctx, s); err != nil {
		return nil, err
	}
	row = &trial.Search{Where: p.name, How: w.content.name, Partitions: w.partitions, Memories: w.memories}
	ranker, err := w.cold(ctx, s, row)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	err = row.Search(w.corpus, w.content.vectors, func(partition int, query string) ([]int, error) {
		return find(ctx, ranker, partition, query)
	})
	if err != nil {
		return nil, err
	}
	full, err := s.bytes()
	row.Stored = (full - empty) / int64(w.total())
	return row, err
}

// coldRuns and coldFor bound how often a cold search is repeated: a big partition
// takes seconds each time.
const (
	coldRuns = 5
	coldFor  = 10 * time.Second
)

// cold times the first search of each partition in a new ranker, several times when
// that is fast. It returns the last ranker, and notes what it holds.
func (w *workload) cold(ctx context.Context, records store.Records, row *trial.Search) (ranker *recall.Ranker, err error) {
	var times []time.Duration
	for begin := time.Now(); len(times) == 0 || len(times) < coldRuns && time.Since(begin) < coldFor; {
		if ranker != nil {
			if err := ranker.Close(); err != nil {
				return nil, err
			}
		}
		ranker = nil // so that what it holds is freed
		before := trial.Heap()
		if ranker, err = w.ranker(ctx, records); err != nil {
			return nil, err
		}
		for p := range w.partitions {
			took, err := trial.Time(func() error {
				_, err := find(ctx, ranker, p, w.corpus.Queries[p%len(w.corpus.Queries)])
				return err
			})
			if err != nil {
				return nil, errors.Join(err, ranker.Close())
			}
			times = append(times, took)
		}
		row.Held = max(0, trial.Heap()-before) / int64(w.total())
	}
	row.Cold = trial.QuantilesOf(times)
	return ranker, nil
}

// find searches a partition and returns the numbers of the memories that it finds.
func find(ctx context.Context, ranker *recall.Ranker, partition int, query string) ([]int, error) {
	resp, err := ranker.Search(ctx, userOf(partition), &backends.SearchRequest{Query: query, TopK: 10})
	if err == nil {
		err = resp.Degraded
	}
	if err != nil {
		return nil, err
	}
	found := make([]int, 0, len(resp.Hits))
	for i := range resp.Hits {
		n, err := strconv.Atoi(resp.Hits[i].ID[1:])
		if err != nil {
			return nil, err
		}
		found = append(found, n)
	}
	return found, nil
}

func userOf(n int) backends.Partition {
	return backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: strconv.Itoa(n)}
}

// embedder makes the vectors of a corpus.
type embedder struct{ *trial.Corpus }

// EmbedStrings implements Eino's embedding.Embedder.
func (e embedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		for _, x := range e.Vector(t) {
			out[i] = append(out[i], float64(x))
		}
	}
	return out, nil
}
