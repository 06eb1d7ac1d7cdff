// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

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

// workload is a corpus in one or in many partitions.
type workload struct {
	corpus     *trial.Corpus
	partitions int
	memories   int // in each
	content    content
	nearest    func() [][]int // the ten nearest memories to each of the first strange queries
}

func (w *workload) total() int { return w.partitions * w.memories }

// measure stores the workload, searches it, and adds what it found.
func (w *workload) measure(ctx context.Context, p *place, r *trial.Report) (err error) {
	b, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.remove()) }()
	empty, err := b.bytes()
	if err != nil {
		return err
	}
	filled, err := trial.Time(func() error { return w.fill(ctx, b) })
	if err != nil {
		return err
	}
	m := &measurement{workload: w, bed: b}
	if err := m.take(ctx); err != nil {
		return err
	}
	full, err := b.bytes()
	if err != nil {
		return err
	}
	m.row.Where, m.row.How, m.row.Partitions, m.row.Memories = p.name, w.content.name, w.partitions, w.memories
	m.row.Fill, m.row.Stored = filled.Seconds(), (full-empty)/int64(w.total())
	r.Searches = append(r.Searches, m.row)
	return nil
}

// embeddingModel is the name under which the made-up vectors are stored.
const embeddingModel = "made-up"

// ranker returns a new Ranker over the workload.
func (w *workload) ranker(ctx context.Context, b *bed) (*recall.Ranker, error) {
	cfg := &recall.Config{Records: b.Store, Encoding: w.content.encoding, MaxBytes: 16 << 30}
	if w.content.vectors {
		cfg.Embedder, cfg.EmbeddingModel = embedder{w.corpus.Topics}, embeddingModel
	}
	return recall.New(ctx, cfg)
}

// fillBatch is how many memories are stored at a time.
const fillBatch = 500

// fill stores the memories, in batches.
func (w *workload) fill(ctx context.Context, b *bed) error {
	ranker, err := w.ranker(ctx, b)
	if err != nil {
		return err
	}
	defer func() { _ = ranker.Close() }()
	for p := range w.partitions {
		for n := 0; n < w.memories; n += fillBatch {
			begin, end := p*w.memories+n, p*w.memories+min(n+fillBatch, w.memories)
			if err := w.put(ctx, b, ranker, p, begin, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// put stores the memories with the numbers from begin to before end in a partition.
func (w *workload) put(ctx context.Context, b *bed, ranker *recall.Ranker, partition, begin, end int) error {
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
	_, err = b.Apply(ctx, userOf(partition), batch)
	return err
}

func userOf(n int) backends.Partition {
	return backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: strconv.Itoa(n)}
}

// numberOf returns the number of a memory by its id.
func numberOf(id string) int {
	n, _ := strconv.Atoi(id[1:])
	return n
}

// embedder makes the vectors of a corpus.
type embedder struct{ *trial.Topics }

// EmbedStrings implements Eino's embedding.Embedder.
func (e embedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		v := e.Vector(t)
		out[i] = make([]float64, len(v))
		for j, x := range v {
			out[i][j] = float64(x)
		}
	}
	return out, nil
}
