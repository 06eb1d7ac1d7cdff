// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// reembedAttempts is how often Reembed writes, at most, when others write to the partition
// at the same time. What it embedded once it does not embed again.
const reembedAttempts = 20

// Reembed makes the vectors of all memories of a partition anew with the configured
// embedder and replaces those that are there, with the name of their model, in one atomic
// batch. It returns how many memories have a vector then. Searches go on meanwhile: with
// ErrDimension until the batch is stored if the model changed, else with the former vectors.
// Memories that others write in the meantime are embedded, too, before it returns.
//
// Errors: ErrInvalid without an embedder; those of [Ranker.Embed], then nothing was changed;
// ErrConflict when others changed the partition during every one of 20 attempts. A partition
// of more than [store.MaxBatch] memories takes several batches: until the last one is stored,
// the rest is found by words alone.
func (r *Ranker) Reembed(ctx context.Context, p backends.Partition) (int, error) {
	if r.config.Embedder == nil {
		return 0, fmt.Errorf("re-embedding partition %s: %w: Config.Embedder is not set", p, backends.ErrInvalid)
	}
	if err := p.Validate(); err != nil {
		return 0, fmt.Errorf("re-embedding: %w", err)
	}
	job := reembedding{ranker: r, partition: p}
	job.startOver()
	n, err := job.run(ctx)
	if err != nil {
		return 0, fmt.Errorf("re-embedding partition %s: %w", p, err)
	}
	return n, nil
}

// reembedding is one run of Reembed.
type reembedding struct {
	ranker    *Ranker
	partition backends.Partition
	cursor    string
	stored    *store.Embedding         // of the partition
	space     *store.Embedding         // of the embedder
	records   map[string]*store.Record // with their new vectors
	pending   map[string]bool          // ids of those whose new vector is not stored
}

func (j *reembedding) startOver() {
	j.records, j.pending = map[string]*store.Record{}, map[string]bool{}
}

// run embeds and writes until nothing is pending.
func (j *reembedding) run(ctx context.Context) (int, error) {
	for range reembedAttempts {
		if err := j.catchUp(ctx); err != nil {
			return 0, err
		}
		if len(j.pending) == 0 && (j.space == nil || j.stored != nil && *j.stored == *j.space) {
			return j.embedded(), nil
		}
		if err := j.write(ctx); err != nil && !errors.Is(err, backends.ErrConflict) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%w: it changed during each of %d attempts; try again when less is written", backends.ErrConflict, reembedAttempts)
}

// catchUp reads what changed since it was last called and embeds it.
func (j *reembedding) catchUp(ctx context.Context) error {
	for {
		c, err := j.ranker.config.Records.Changes(ctx, j.partition, j.cursor)
		if err != nil {
			return err
		}
		if c.Reset {
			j.startOver()
		}
		if err := j.embed(ctx, c.Records); err != nil {
			return err
		}
		for _, id := range c.Removed {
			delete(j.records, id)
			delete(j.pending, id)
		}
		j.cursor, j.stored = c.Cursor, c.Embedding
		if !c.More {
			return j.probe(ctx)
		}
	}
}

// embed takes records in, with new vectors where their text is new.
func (j *reembedding) embed(ctx context.Context, records []store.Record) error {
	vectors := make([][]byte, len(records))
	var texts []string
	var places []int
	for i := range records {
		text := EmbedText(&records[i].Memory)
		if old := j.records[records[i].ID]; old != nil && EmbedText(&old.Memory) == text {
			vectors[i] = old.Vector
			continue
		}
		texts, places = append(texts, text), append(places, i)
	}
	made, space, err := j.ranker.Embed(ctx, texts)
	if err != nil {
		return err
	}
	if space != nil {
		j.space = space
	}
	for i, v := range made {
		vectors[places[i]] = v
	}
	for i := range records {
		r := records[i]
		delete(j.pending, r.ID)
		if !bytes.Equal(r.Vector, vectors[i]) {
			r.Vector = vectors[i]
			j.pending[r.ID] = true
		}
		j.records[r.ID] = &r
	}
	return nil
}

// probe asks the embedder for its space where no memory has a text to embed, but the
// partition still has the name of another model.
func (j *reembedding) probe(ctx context.Context) error {
	if j.space != nil || j.stored == nil {
		return nil
	}
	_, space, err := j.ranker.Embed(ctx, []string{"dimension"})
	j.space = space
	return err
}

func (j *reembedding) embedded() int {
	n := 0
	for _, r := range j.records {
		if len(r.Vector) > 0 {
			n++
		}
	}
	return n
}

// write stores the pending records, unless one of them changed meanwhile.
func (j *reembedding) write(ctx context.Context) error {
	ids := slices.Sorted(maps.Keys(j.pending))
	for start := 0; start == 0 || start < len(ids); start += store.MaxBatch {
		batch := &store.Batch{Embedding: j.space, Reembed: start == 0}
		for _, id := range ids[start:min(len(ids), start+store.MaxBatch)] {
			put := store.Put(j.records[id])
			put.Expect, put.Actor = j.records[id].Version, "reembed"
			batch.Mutations = append(batch.Mutations, put)
		}
		if _, err := j.ranker.config.Records.Apply(ctx, j.partition, batch); err != nil {
			return err
		}
	}
	return nil
}
