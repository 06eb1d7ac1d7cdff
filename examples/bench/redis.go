// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// printRedis measures memory in Redis beside memory in a SQLite file: searches of one
// user and of many, warm and cold; writes by many clients at once; bytes.
func printRedis(ctx context.Context, b *bench) error {
	all, err := systems(ctx, b.url)
	if err != nil {
		return err
	}
	full := trial.Full()
	return errors.Join(full.Print(ctx, b.out, all), b.draw("latency", &full.Latency))
}

// systems returns einomem in each place, with and without vectors.
func systems(ctx context.Context, url string) ([]*trial.System, error) {
	stores, err := places(ctx, url)
	var out []*trial.System
	for _, p := range stores {
		out = append(out, system(p, "lexical", false, false), system(p, "float32", true, false), system(p, "int8", true, true))
	}
	return out, err
}

func system(p place, how string, vectors, rounded bool) *trial.System {
	create := func(ctx context.Context, c *trial.Corpus) (*trial.Place, error) {
		s, err := p.open(ctx)
		if err != nil {
			return nil, err
		}
		cfg := &recall.Config{Records: s, Int8: rounded, MaxBytes: 16 << 30}
		if vectors {
			cfg.Embedder, cfg.EmbeddingModel = embedder{c}, "made-up"
		}
		open := func(ctx context.Context) (trial.Memories, error) {
			ranker, err := recall.New(ctx, cfg)
			return &memories{ranker, s, 10}, err
		}
		return &trial.Place{Open: open, Bytes: s.bytes, Remove: s.remove}, nil
	}
	return &trial.System{Name: p.name, How: how, Vectors: vectors, Most: p.most, New: create}
}

// memories are stored by one batch a call, and found by a Ranker.
type memories struct {
	*recall.Ranker
	records store.Records
	top     int // how many a query finds at most
}

// Prepare implements trial.Memories.
func (m *memories) Prepare(ctx context.Context, ids, texts []string) (trial.Put, error) {
	vectors, space, err := m.Embed(ctx, texts)
	return func(ctx context.Context, user, begin, end int) error {
		batch := &store.Batch{Embedding: space}
		for i := begin; i < end; i++ {
			rec := &store.Record{Memory: backends.Memory{ID: ids[i], Kind: backends.KindFact, Text: texts[i]}}
			if vectors != nil {
				rec.Vector = vectors[i]
			}
			batch.Mutations = append(batch.Mutations, store.Put(rec))
		}
		_, err := m.records.Apply(ctx, userOf(user), batch)
		return err
	}, err
}

// Search implements trial.Memories.
func (m *memories) Search(ctx context.Context, user int, query string) (found []string, err error) {
	resp, err := m.Ranker.Search(ctx, userOf(user), &backends.SearchRequest{Query: query, TopK: m.top})
	if err != nil {
		return nil, err
	}
	for i := range resp.Hits {
		found = append(found, resp.Hits[i].ID)
	}
	return found, resp.Degraded
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
