// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// rankPool stores the memories of a pool in an empty store and returns what the
// query of each task finds, best first.
func (p *place) rankPool(ctx context.Context, pool *pool, fields remeFields) (found [][]backends.Hit, err error) {
	bed, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.remove()) }()
	workspace := backends.Partition{Namespace: "bench", Kind: backends.PartitionWorkspace, ID: pool.name}
	batch := &store.Batch{}
	for i := range pool.memories {
		m := pool.memories[i]
		if fields == whenAlone {
			m.Text = ""
		}
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
	}
	if _, err := bed.Apply(ctx, workspace, batch); err != nil {
		return nil, err
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: bed})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	for i := range pool.tasks {
		resp, err := ranker.Search(ctx, workspace, &backends.SearchRequest{Query: pool.tasks[i].query, TopK: len(pool.memories)})
		if err != nil {
			return nil, err
		}
		found = append(found, resp.Hits)
	}
	return found, nil
}

func idsOf(hits []backends.Hit) []string {
	out := make([]string, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}
