// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// reembedAttempts is how often Reembed starts over because somebody wrote to the
// partition meanwhile. What is embedded already is not embedded again.
const reembedAttempts = 10

// Reembed makes the vectors of all memories of a partition anew with the
// configured embedder and replaces those that are there, with the name of their
// model, in one batch. It returns how many it embedded. Searches go on meanwhile:
// with ErrDimension until the batch is stored if the model changed, else with the
// former vectors. Memories written meanwhile with vectors of the former model are
// found by their words until the next Reembed.
//
// Without an embedder it is ErrInvalid; with one that fails nothing is changed.
// A partition of more than [store.MaxBatch] memories takes several batches.
func (r *Ranker) Reembed(ctx context.Context, p backends.Partition) (int, error) {
	if r.config.Embedder == nil {
		return 0, fmt.Errorf("re-embedding partition %s: %w: no embedder is configured", p, backends.ErrInvalid)
	}
	job := reembedding{ranker: r, partition: p, records: map[string]*store.Record{}, texts: map[string]string{}}
	for range reembedAttempts {
		if err := job.catchUp(ctx); err != nil {
			return 0, fmt.Errorf("re-embedding partition %s: %w", p, err)
		}
		n, err := job.write(ctx)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, backends.ErrConflict) {
			return 0, fmt.Errorf("re-embedding partition %s: %w", p, err)
		}
	}
	return 0, fmt.Errorf("re-embedding partition %s: %w: it was written to all the time", p, backends.ErrConflict)
}

// reembedding is one run of Reembed.
type reembedding struct {
	ranker    *Ranker
	partition backends.Partition
	cursor    string
	records   map[string]*store.Record // with their new vectors
	texts     map[string]string        // id → text that its vector is of
	space     *store.Embedding
}

// catchUp reads what changed since it was last called and embeds it.
func (j *reembedding) catchUp(ctx context.Context) error {
	for {
		c, err := j.ranker.config.Records.Changes(ctx, j.partition, j.cursor)
		if err != nil {
			return err
		}
		if c.Reset {
			j.records, j.texts = map[string]*store.Record{}, map[string]string{}
		}
		if err := j.embed(ctx, c.Records); err != nil {
			return err
		}
		for _, id := range c.Removed {
			delete(j.records, id)
		}
		j.cursor = c.Cursor
		if !c.More {
			return nil
		}
	}
}

func (j *reembedding) embed(ctx context.Context, records []store.Record) error {
	var todo []*store.Record
	var texts []string
	for i := range records {
		rec := &records[i]
		text := EmbedText(&rec.Memory)
		old, known := j.records[rec.ID]
		j.records[rec.ID] = rec
		if known && j.texts[rec.ID] == text {
			rec.Vector = old.Vector
			continue
		}
		j.texts[rec.ID] = text
		todo, texts = append(todo, rec), append(texts, text)
	}
	vectors, space, err := j.ranker.Embed(ctx, texts)
	if err != nil {
		return err
	}
	for i := range vectors {
		todo[i].Vector = vectors[i]
	}
	if space != nil {
		j.space = space
	}
	return nil
}

// write stores the records with their new vectors, unless one changed meanwhile.
func (j *reembedding) write(ctx context.Context) (int, error) {
	if j.space == nil {
		return 0, nil
	}
	var all []store.Mutation
	for _, id := range slices.Sorted(maps.Keys(j.records)) {
		rec := j.records[id]
		put := store.Put(rec)
		put.Expect = rec.Version
		put.Actor = "reembed"
		all = append(all, put)
	}
	for start := 0; start < len(all); start += store.MaxBatch {
		batch := &store.Batch{
			Mutations: all[start:min(len(all), start+store.MaxBatch)],
			Embedding: j.space,
			Reembed:   start == 0,
		}
		if _, err := j.ranker.config.Records.Apply(ctx, j.partition, batch); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
