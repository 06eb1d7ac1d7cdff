// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"bytes"
	"cmp"
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
// Errors: ErrUnavailable when the embedder fails, takes longer than two minutes for 100
// texts, is left alone because it failed five times in a row, or returns another number of
// vectors than of texts, ErrInvalid when it refuses a text, or a vector is zero or holds NaN
// or an infinity, ErrDimension when its vectors differ in dimension.
func (r *Ranker) Embed(ctx context.Context, texts []string) ([][]byte, *store.Embedding, error) {
	vectors, err := r.vectors(ctx, r.storing, texts)
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
	if err == nil && some { // a mismatch is known without a call
		embedder := r.querying
		if learns(ctx) {
			embedder = r.storing
		}
		var vectors [][]float32
		if vectors, err = r.vectors(ctx, embedder, []string{q.text}); err == nil {
			q.vector = vectors[0]
		}
	}
	if err == nil || ctx.Err() != nil {
		return nil, err
	}
	return lexicalAlone(err), nil
}

func lexicalAlone(reason error) error {
	return fmt.Errorf("the ranking is lexical alone: %w", reason)
}

// vectors returns the normalised vectors of texts, nil for blank ones, which the embedder
// makes for a search or for the store. Those that the work of ctx has already are not made
// again: see [WithVectors].
func (r *Ranker) vectors(ctx context.Context, s *service, texts []string) ([][]float32, error) {
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
		vectors, err := call(ctx, s, func(ctx context.Context) ([][]float32, error) { return r.callEmbedder(ctx, part) })
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
	case err != nil:
		return nil, err
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
// batch. It returns how many memories have a vector then. Searches go on meanwhile: by words
// alone until the batch is stored if the model changed, else with the former vectors.
// Memories that others write in the meantime are embedded, too, before it returns.
//
// Errors: ErrInvalid without an embedder; those of [Ranker.Embed], then nothing was changed;
// ErrConflict when others changed the partition during every one of 20 attempts. A partition
// of more than [store.MaxBatch] memories takes several batches: until the last one is stored,
// the rest is found by words alone.
func (r *Ranker) Reembed(ctx context.Context, p backends.Partition) (int, error) {
	return r.reembed(ctx, []backends.Partition{p}, false, nil)
}

// ReembedAll gives each memory of a namespace, which "" is the default one, a vector of the
// configured embedder, one partition after the other. Vectors of its model stay, so that a
// call that failed goes on where it stopped when it is repeated. It returns how many memories
// have a vector then; progress, which may be nil, is told how many of the partitions are
// done. Errors are those of [Ranker.Reembed]; the first one ends it.
func (r *Ranker) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	var all []backends.Partition
	for page := (store.Page{}); ; {
		found, err := r.config.Records.Partitions(ctx, cmp.Or(namespace, backends.DefaultNamespace), page)
		if err != nil {
			return 0, fmt.Errorf("re-embedding: listing the partitions: %w", err)
		}
		all = append(all, found.Partitions...)
		if page.Cursor = found.Next; page.Cursor == "" {
			return r.reembed(ctx, all, true, progress)
		}
	}
}

func (r *Ranker) reembed(ctx context.Context, partitions []backends.Partition, keep bool, progress func(done, total int)) (int, error) {
	_, space, err := r.Embed(ctx, []string{"dimension"})
	switch {
	case err != nil:
		return 0, fmt.Errorf("re-embedding: %w", err)
	case space == nil:
		return 0, fmt.Errorf("re-embedding: %w: Config.Embedder is not set", backends.ErrInvalid)
	}
	total := 0
	for i, p := range partitions {
		job := reembedding{ranker: r, partition: p, space: *space, keep: keep}
		job.startOver()
		n, err := job.run(ctx)
		if err != nil {
			return total, fmt.Errorf("re-embedding partition %s: %w", p, err)
		}
		total += n
		if progress != nil {
			progress(i+1, len(partitions))
		}
	}
	return total, nil
}

// reembedding is one run of Reembed.
type reembedding struct {
	ranker    *Ranker
	partition backends.Partition
	space     store.Embedding // of the embedder
	keep      bool            // vectors of that space stay
	cursor    string
	stored    *store.Embedding         // of the partition
	records   map[string]*store.Record // with their new vectors
	pending   map[string]bool          // ids of those whose new vector is not stored
}

func (j *reembedding) startOver() {
	j.records, j.pending = map[string]*store.Record{}, map[string]bool{}
}

// run embeds and writes until nothing is pending.
func (j *reembedding) run(ctx context.Context) (int, error) {
	if err := j.partition.Validate(); err != nil {
		return 0, err
	}
	for range reembedAttempts {
		if err := j.catchUp(ctx); err != nil {
			return 0, err
		}
		if len(j.pending) == 0 && (j.stored == nil || *j.stored == j.space) {
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
		j.stored = c.Embedding
		if err := j.embed(ctx, c.Records); err != nil {
			return err
		}
		for _, id := range c.Removed {
			delete(j.records, id)
			delete(j.pending, id)
		}
		j.cursor = c.Cursor
		if !c.More {
			return nil
		}
	}
}

// embed takes records in, with new vectors where their text is new.
func (j *reembedding) embed(ctx context.Context, records []store.Record) error {
	vectors := make([][]byte, len(records))
	decode := Decoder(j.space)
	var texts []string
	var places []int
	for i := range records {
		text := EmbedText(&records[i].Memory)
		if old := j.records[records[i].ID]; old != nil && EmbedText(&old.Memory) == text {
			vectors[i] = old.Vector
			continue
		}
		if j.keep && j.stored != nil && *j.stored == j.space {
			if _, err := decode(records[i].Vector); err == nil {
				vectors[i] = records[i].Vector
				continue
			}
		}
		texts, places = append(texts, text), append(places, i)
	}
	made, _, err := j.ranker.Embed(ctx, texts)
	if err != nil {
		return err
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
		batch := &store.Batch{Embedding: &j.space, Reembed: start == 0}
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
