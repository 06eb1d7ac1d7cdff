// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"sync"
)

// Vectors keeps the vectors of texts for one piece of work, so that a text that is both
// searched with and stored is embedded once. It lasts as long as the work does: nothing is
// ever dropped. It is safe for concurrent use.
type Vectors struct {
	count func(texts int)

	mu     sync.Mutex
	byText map[string][]float32
}

// NewVectors returns an empty one. count is called with the number of texts that an
// embedder was given on its account; it may be nil.
func NewVectors(count func(texts int)) *Vectors {
	return &Vectors{count: count, byText: map[string][]float32{}}
}

type vectorsKey struct{}

// WithVectors returns a context in which searches and [Ranker.Embed] take the vectors that v
// has, and add those that they make. It is for one ranker: vectors of several embedders
// do not mix.
func WithVectors(ctx context.Context, v *Vectors) context.Context {
	return context.WithValue(ctx, vectorsKey{}, v)
}

func vectorsOf(ctx context.Context) *Vectors {
	v, _ := ctx.Value(vectorsKey{}).(*Vectors)
	return v
}

// of returns the vector of a text, nil if there is none.
func (v *Vectors) of(text string) []float32 {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.byText[text]
}

// keep takes in the vector that was made for a text.
func (v *Vectors) keep(text string, vector []float32) {
	if v == nil {
		return
	}
	if v.count != nil {
		v.count(1)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byText[text] = vector
}
