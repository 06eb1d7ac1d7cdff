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
	"sync"
	"time"

	"github.com/cloudwego/eino/components"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	// embedBatch is how many texts go to the embedder in one call: below the limits of
	// the services that are common.
	embedBatch = 100
	// maxEmbedText is how many bytes of a text go to the embedder: less than the 8,192 tokens that
	// common models take, in any language.
	maxEmbedText = 16 << 10
)

// EmbedText returns the text that stands for a memory in an embedder: its WhenToUse where it has
// one, in the way that the kind's [backends.KindTraits] say; else its Text, after the name of its
// speaker. Core blocks have the empty text, because searches skip them.
func EmbedText(m *backends.Memory) string {
	kind := m.Kind.Traits()
	switch {
	case kind.InPrompt:
		return ""
	case kind.Named && m.WhenToUse != "" && m.Text != "":
		return m.WhenToUse + ": " + m.Text
	case !kind.Keywords && m.WhenToUse != "", m.Text == "":
		return m.WhenToUse
	case m.Origin.Speaker != "" && m.Text != "":
		return m.Origin.Speaker + ": " + m.Text
	}
	return m.Text
}

// Embed returns the stored forms of the vectors of texts, for [store.Record]'s Vector, and their
// space, for the Embedding of the [store.Batch]. A blank text has nil for a vector. A text longer
// than 16 KiB counts by its first and last 8 KiB, so that it fits the models. Without an embedder,
// and for an empty list, all results are nil.
//
// Errors: ErrUnavailable when the embedder fails, or takes longer than two minutes for 100 texts;
// the same when it rests after five failures in a row, or returns a wrong number of vectors;
// ErrInvalid when it refuses a text, or a vector is zero or holds NaN or an infinity; ErrDimension
// when its vectors differ in dimension.
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

// embedQuery sets the vector of the query where the partition has vectors to compare it with.
// degraded is the reason of a failure.
func (r *Ranker) embedQuery(ctx context.Context, p *partition, q *query) (degraded, err error) {
	if r.config.Embedder == nil {
		return nil, nil
	}
	p.mu.RLock()
	some, err := p.index.comparable(), p.index.checkVectors(r.config.EmbeddingModel, 0)
	p.mu.RUnlock()
	if err == nil && some { // a mismatch shows before any call
		embedder := r.querying
		if learns(ctx) {
			embedder = r.storing
		}
		err = r.embedScaled(ctx, embedder, q)
	}
	if err == nil || ctx.Err() != nil {
		return nil, err
	}
	return lexicalAlone(err), nil
}

func lexicalAlone(reason error) error { return fmt.Errorf("%w: %w", fault.ErrByWords, reason) }

// batches holds how many texts an embedder takes at a time where that is fewer than embedBatch, by
// Config.EmbeddingModel: each process learns it once.
var batches sync.Map

// vectors returns the normalised vectors of texts, nil for blank ones, from the embedder for a
// search or for the store. It reuses the vectors that the work of ctx has already: see
// [WithVectors].
func (r *Ranker) vectors(ctx context.Context, s *service, texts []string) ([][]float32, error) {
	if r.config.Embedder == nil || len(texts) == 0 {
		return nil, nil
	}
	out := make([][]float32, len(texts))
	known, dim := vectorsOf(ctx), 0
	var offsets []int // indexes of the other texts
	for i, t := range texts {
		if v, ok := known.byText.Load(t); ok {
			out[i] = v.([]float32)
			dim = len(out[i])
		} else if strings.TrimSpace(t) != "" {
			offsets = append(offsets, i)
		}
	}
	size, most := embedBatch, embedBatch
	if learnt, ok := batches.Load(r.config.EmbeddingModel); ok {
		size, most = learnt.(int), learnt.(int)
	}
	for rest := offsets; len(rest) > 0; {
		batch := rest[:min(size, len(rest))]
		part := make([]string, len(batch))
		for i, offset := range batch {
			part[i] = text.Ends(texts[offset], maxEmbedText)
		}
		vectors, err := call(ctx, s, func(ctx context.Context) ([][]float32, error) { return r.callEmbedder(ctx, part) })
		if len(part) > 1 && (fault.MayBeForm(err) || errors.Is(err, fault.ErrContent)) { // it may take fewer at a time
			size = fault.Fewer(err, len(part))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("embedding %d texts: %w", len(part), err)
		}
		rest = rest[len(batch):]
		for i, v := range vectors {
			if dim != 0 && len(v) != dim {
				return nil, fmt.Errorf("the embedder returned vectors of %d and of %d components: %w", dim, len(v), backends.ErrDimension)
			}
			dim, out[batch[i]] = len(v), v
			known.byText.Store(texts[batch[i]], v)
		}
		known.Made.Add(int64(len(batch)))
	}
	if size < most { // it took all of them so
		batches.Store(r.config.EmbeddingModel, size)
		work.Learnt(ctx, nil, fmt.Errorf("recall: the embedder %s refused more texts in one request. It gets at most %d from now on", r.config.EmbeddingModel, size))
	}
	return out, nil
}

// callEmbedder returns the normalised vectors of one batch. The call stays hidden from handlers
// that the agent around it installed: they would report it as a step of the agent.
func (r *Ranker) callEmbedder(ctx context.Context, texts []string) ([][]float32, error) {
	name, _ := components.GetType(r.config.Embedder)
	raw, err := r.config.Embedder.EmbedStrings(work.Detach(ctx, cmp.Or(name, "Embedder"), components.ComponentOfEmbedding), texts)
	switch {
	case err != nil:
		return nil, fault.Quiet(err)
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

// reembedAttempts is how often Reembed writes, at most, when others write to the partition at the
// same time. It embeds each text once, however often it tries.
const reembedAttempts = 20

// Reembed gives all memories of a partition a vector of the configured embedder, in one atomic
// batch with the name of its model. Vectors of that model stay. It returns how many memories have a
// vector then. Searches go on meanwhile: by words alone until the batch is stored if the model
// changed. Memories that others write in the meantime get a vector, too, before it returns.
//
// Errors: ErrInvalid without an embedder; the errors of [Ranker.Embed], which leave the partition
// as it was; ErrConflict when others changed the partition during every one of 20 attempts. A
// partition of more than [store.MaxBatch] memories takes several batches: until the last one is
// stored, words alone find the rest.
func (r *Ranker) Reembed(ctx context.Context, p backends.Partition) (int, error) {
	_, space, err := r.Embed(ctx, []string{"dimension"})
	if err == nil && space == nil {
		err = fmt.Errorf("%w: Config.Embedder is not set", backends.ErrInvalid)
	}
	if err == nil {
		err = p.Validate()
	}
	n := 0
	if err == nil {
		n, err = r.reembed(WithVectors(ctx, &Vectors{}), p, *space) // a second look embeds only what is new
	}
	if err != nil {
		return 0, fmt.Errorf("re-embedding partition %s: %w", p, err)
	}
	return n, nil
}

// ReembedAll calls [Ranker.Reembed] for all partitions of a namespace, one after the other; "" is
// the default namespace. Repeating a failed call goes on where it stopped. ReembedAll tells
// progress, which may be nil, how many of the partitions are done. The first error ends it.
func (r *Ranker) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	var all []backends.Partition
	err := store.Each(func(page store.Page) (*store.PartitionPage, error) {
		return r.config.Records.Partitions(ctx, cmp.Or(namespace, backends.DefaultNamespace), page)
	}, func(p backends.Partition) error { all = append(all, p); return nil })
	if err != nil {
		return 0, fmt.Errorf("re-embedding: listing the partitions: %w", err)
	}
	ctx = WithVectors(ctx, &Vectors{}) // one call asks for the dimension
	total := 0
	for i, p := range all {
		n, err := r.Reembed(ctx, p)
		if err != nil {
			return total, err
		}
		total += n
		if progress != nil {
			progress(i+1, len(all))
		}
	}
	return total, nil
}

// reembed looks at the partition and writes missing vectors, until a look finds all of them.
func (r *Ranker) reembed(ctx context.Context, p backends.Partition, space store.Embedding) (int, error) {
	for range reembedAttempts {
		records, stored, err := store.All(ctx, r.config.Records, p, nil)
		if err != nil {
			return 0, err
		}
		same := stored == nil || *stored == space
		n, puts, err := r.lacking(ctx, records, space)
		if err != nil || same && len(puts) == 0 {
			return n, err
		}
		if err := r.replace(ctx, p, space, puts); err != nil && !errors.Is(err, backends.ErrConflict) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%w: it changed during each of %d attempts; try again when less is written", backends.ErrConflict, reembedAttempts)
}

// lacking returns how many of the records have a vector in the end, and the mutations that put the
// missing ones.
func (r *Ranker) lacking(ctx context.Context, records map[string]*store.Record, space store.Embedding) (n int, puts []store.Mutation, err error) {
	decode := Decoder(space)
	var texts, ids []string
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if _, err := decode(records[id].Vector); err == nil {
			n++
			continue
		}
		ids, texts = append(ids, id), append(texts, EmbedText(&records[id].Memory))
	}
	made, _, err := r.Embed(ctx, texts)
	for i, vector := range made {
		if len(vector) > 0 {
			n++
		}
		if record := records[ids[i]]; !bytes.Equal(record.Vector, vector) {
			record.Vector = vector
			put := store.Put(record)
			put.Expect, put.Actor = record.Version, "reembed"
			puts = append(puts, put)
		}
	}
	return n, puts, err
}

// replace stores new vectors, unless a record changed meanwhile.
func (r *Ranker) replace(ctx context.Context, p backends.Partition, space store.Embedding, puts []store.Mutation) error {
	for start := 0; start == 0 || start < len(puts); start += store.MaxBatch {
		batch := &store.Batch{Embedding: &space, Reembed: start == 0, Mutations: puts[start:min(len(puts), start+store.MaxBatch)]}
		if _, err := r.config.Records.Apply(ctx, p, batch); err != nil {
			return err
		}
	}
	return nil
}

// storeTimeout is how long an embedder may take for the vectors of up to embedBatch texts while
// replies go on without them.
const storeTimeout = 2 * time.Minute

// A service rests after so many failures in a row: few where each costs a reply, more where calls
// come in parallel.
const (
	openForSearches = 2
	openForStoring  = 5
)

// service is an embedder, a reranker or a rewriter as the ranker calls it: with a deadline even
// where it ignores its context, and with a rest while it fails.
type service struct {
	timeout time.Duration
	breaker *fault.Breaker
	// prober is set where replies wait: a call takes at most half of the remaining time, and a
	// probe runs beside a search, which goes on.
	prober *Ranker
}

func newService(name string, timeout time.Duration, openAfter int, prober *Ranker) *service {
	// The breaker takes the system clock: a replay of old conversations has another one, but pauses
	// are real time.
	return &service{timeout, fault.NewBreaker(name, openAfter, backends.SystemClock), prober}
}

// call makes a call of a service. It returns ErrUnavailable for a service that fails, takes too
// long or rests, and ErrInvalid for one that refuses the texts.
func call[T any](ctx context.Context, s *service, f func(context.Context) (T, error)) (out T, err error) {
	limit := s.timeout
	if deadline, bounded := ctx.Deadline(); bounded && s.prober != nil {
		limit = min(limit, deadline.Sub(backends.SystemClock())/2)
	}
	due, err := s.breaker.Open()
	switch {
	case err == nil, s.prober == nil:
		out, err = fault.Call(ctx, s.breaker, limit, f)
	case due:
		closed := s.prober.life.Go(ctx, "probe", func(ctx context.Context) error {
			_, _ = fault.Call(ctx, s.breaker, limit, f) // the breaker knows how it ended
			return nil
		})
		if closed != nil {
			return out, closed
		}
	}
	return out, err
}
