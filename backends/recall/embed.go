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
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/fault"
)

const (
	// embedBatch is how many texts go to the embedder in one call: below the limits of
	// the services that are common.
	embedBatch = 100
	// maxEmbedText is how many bytes of a text are embedded: less than the 8,192 tokens
	// that common models take, in any language.
	maxEmbedText = 16 << 10
)

// EmbedText returns the text of a memory that is embedded: its WhenToUse where it has one,
// in the way that the kind's [backends.KindTraits] say; else what it says, after the name
// of its speaker. Core blocks have none: no search looks for them.
func EmbedText(m *backends.Memory) string {
	kind := m.Kind.Traits()
	switch {
	case kind.InPrompt:
		return ""
	case kind.Named && m.WhenToUse != "" && m.Text != "":
		return m.WhenToUse + ": " + m.Text
	case kind.Keywords && m.Text != "":
		return m.Text
	case m.WhenToUse != "":
		return m.WhenToUse
	case m.Origin.Speaker != "" && m.Text != "":
		return m.Origin.Speaker + ": " + m.Text
	}
	return m.Text
}

// Embed returns the stored forms of the vectors of texts, for [store.Record]'s Vector, and
// the space they live in, for the Embedding of the [store.Batch]. Blank texts have no
// vector: nil is in their place. Of a text longer than 16 KiB the first and the last 8
// are embedded, so that it fits the models. Without an embedder, and for no texts,
// everything is nil.
//
// Errors: ErrUnavailable when the embedder fails or returns another number of vectors than
// of texts, ErrInvalid when it refuses a text, or a vector is zero or holds NaN or an
// infinity, ErrDimension when its vectors differ in dimension.
func (r *Ranker) Embed(ctx context.Context, texts []string) ([][]byte, *store.Embedding, error) {
	vectors, err := r.vectors(ctx, texts)
	if err != nil || vectors == nil {
		return nil, nil, err
	}
	out := make([][]byte, len(texts))
	var space *store.Embedding
	for i, v := range vectors {
		if v == nil {
			continue
		}
		out[i] = encodeVector(v, r.config.Int8, r.config.EmbeddingModel)
		space = &store.Embedding{Model: r.config.EmbeddingModel, Dim: len(v)}
	}
	return out, space, nil
}

// embedQuery sets the vector of the query where the partition has vectors to compare it
// with. degraded is the reason why it could not.
func (r *Ranker) embedQuery(ctx context.Context, p *partition, q *query) (degraded, err error) {
	if r.config.Embedder == nil {
		return nil, nil
	}
	p.mu.RLock()
	some, err := p.index.comparable(), p.index.checkVectors(r.config.EmbeddingModel, 0)
	p.mu.RUnlock()
	if err != nil || !some { // a mismatch is known without a call
		return nil, err
	}
	vectors, err := r.vectors(ctx, []string{q.text})
	switch {
	case err == nil:
		q.vector = vectors[0]
		return nil, nil
	case ctx.Err() != nil, errors.Is(err, backends.ErrDimension):
		return nil, err
	}
	return fmt.Errorf("the ranking is lexical alone: %w", err), nil
}

// vectors returns the normalised vectors of texts, nil for blank ones. Those that the work
// of ctx has already are not made again: see [WithVectors].
func (r *Ranker) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	if r.config.Embedder == nil || len(texts) == 0 {
		return nil, nil
	}
	out := make([][]float32, len(texts))
	known, dim := vectorsOf(ctx), 0
	var places []int // of the texts that are not blank
	for i, t := range texts {
		if v, ok := known.byText.Load(t); ok {
			out[i] = v.([]float32)
			dim = len(out[i])
		} else if strings.TrimSpace(t) != "" {
			places = append(places, i)
		}
	}
	for batch := range slices.Chunk(places, embedBatch) {
		part := make([]string, len(batch))
		for i, place := range batch {
			part[i] = shorten(texts[place], maxEmbedText)
		}
		vectors, err := r.callEmbedder(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("embedding %d texts: %w", len(part), err)
		}
		for i, v := range vectors {
			if dim != 0 && len(v) != dim {
				return nil, fmt.Errorf("the embedder returned vectors of %d and of %d components: %w", dim, len(v), backends.ErrDimension)
			}
			dim, out[batch[i]] = len(v), v
			known.byText.Store(texts[batch[i]], v)
		}
		known.Made.Add(int64(len(batch)))
	}
	return out, nil
}

// callEmbedder returns the normalised vectors of one batch. Handlers that the agent around
// the call installed do not see it: they would report it as a step of the agent.
func (r *Ranker) callEmbedder(ctx context.Context, texts []string) ([][]float32, error) {
	info := &callbacks.RunInfo{Name: "memory", Type: "Embedder", Component: components.ComponentOfEmbedding}
	if name, ok := components.GetType(r.config.Embedder); ok {
		info.Type = name
	}
	raw, err := r.config.Embedder.EmbedStrings(callbacks.InitCallbacks(ctx, info), texts)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, fault.Of(err)
	case len(raw) != len(texts):
		return nil, fmt.Errorf("%w: the embedder returned %d vectors", backends.ErrUnavailable, len(raw))
	}
	out := make([][]float32, len(raw))
	for i, v := range raw {
		if out[i], err = normalise(v); err != nil {
			return nil, fmt.Errorf("vector %d of the embedder: %w: %w", i, backends.ErrInvalid, err)
		}
	}
	return out, nil
}

// shorten returns a text of up to size bytes as it is, and of a longer one the first
// and the last half of so many: a question stands before or after what was pasted
// with it.
func shorten(text string, size int) string {
	if len(text) <= size {
		return text
	}
	head, tail := text[:size/2], text[len(text)-size/2:]
	return strings.ToValidUTF8(head, "") + "\n" + strings.ToValidUTF8(tail, "")
}

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
