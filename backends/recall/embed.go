// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// embedBatch is how many texts go to the embedder in one call: below the limits
// of the services that are common.
const embedBatch = 100

// maxEmbedText is how many bytes of a text are embedded: less than the 8,192
// tokens that common models take, in any language.
const maxEmbedText = 16 << 10

// Embed returns the stored forms of the vectors of texts, for [store.Record]'s
// Vector, and the space they live in, for the Embedding of the [store.Batch].
// Blank texts have no vector: nil stands in their place. Of a text longer than 16
// KiB the first and the last 8 are embedded, so that it fits the models. Without an embedder, and
// for no texts, everything is nil.
//
// Errors: ErrUnavailable when the embedder fails or answers with another number
// of vectors than of texts, ErrInvalid when a vector is zero or holds NaN or an
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
		out[i] = encodeVector(v, r.config.Encoding, r.config.EmbeddingModel)
		space = &store.Embedding{Model: r.config.EmbeddingModel, Dim: len(v)}
	}
	return out, space, nil
}

// vectors returns the normalised vectors of texts, nil for blank ones.
func (r *Ranker) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	if r.config.Embedder == nil || len(texts) == 0 {
		return nil, nil
	}
	out := make([][]float32, len(texts))
	var batch []string
	var places []int
	flush := func() error {
		vs, err := r.callEmbedder(ctx, batch)
		for i, v := range vs {
			out[places[i]] = v
		}
		batch, places = batch[:0:0], places[:0]
		return err
	}
	for i, t := range texts {
		if t = shorten(t, maxEmbedText); strings.TrimSpace(t) == "" {
			continue
		}
		batch, places = append(batch, t), append(places, i)
		if len(batch) == embedBatch {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return out, sameDimension(out)
}

func sameDimension(vectors [][]float32) error {
	dim := 0
	for _, v := range vectors {
		if v != nil && dim != 0 && len(v) != dim {
			return fmt.Errorf("the embedder made vectors of %d and of %d components: %w", dim, len(v), backends.ErrDimension)
		}
		dim = max(dim, len(v))
	}
	return nil
}

func (r *Ranker) callEmbedder(ctx context.Context, texts []string) ([][]float32, error) {
	raw, err := r.config.Embedder.EmbedStrings(einox.Detach(ctx, r.embedderType(), components.ComponentOfEmbedding), texts)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("embedding %d texts: %w", len(texts), err)
	case err != nil:
		return nil, fmt.Errorf("embedding %d texts: %w", len(texts), unavailable(err))
	case len(raw) != len(texts):
		return nil, fmt.Errorf("embedding %d texts: %w: the embedder answered with %d vectors", len(texts), backends.ErrUnavailable, len(raw))
	}
	out := make([][]float32, len(raw))
	for i, v := range raw {
		if out[i], err = normalise(v); err != nil {
			return nil, fmt.Errorf("vector %d of the embedder: %w: %w", i, backends.ErrInvalid, err)
		}
	}
	return out, nil
}

// unavailable marks an embedder's error as ErrUnavailable unless it bears a
// sentinel already.
func unavailable(err error) error {
	if errors.Is(err, backends.ErrUnavailable) || errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrDimension) {
		return err
	}
	return fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
}

func (r *Ranker) embedderType() string {
	if t, ok := components.GetType(r.config.Embedder); ok {
		return t
	}
	return "Embedder"
}
