// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"sync"
	"sync/atomic"
)

// Vectors keeps the vectors of texts for one piece of work, so that a text that is both
// searched with and stored is embedded once. It lasts as long as the work does: nothing is
// dropped. The zero value is empty. It is safe for concurrent use.
type Vectors struct {
	Made   atomic.Int64 // how many vectors an embedder was asked for
	byText sync.Map     // of string and []float32, normalised
}

type vectorsKey struct{}

// WithVectors returns a context in which searches and [Ranker.Embed] take the vectors that v
// has, and add those that they make. It is for one ranker: vectors of several embedders
// do not mix. Since no reply waits for such work, its searches wait for the embedder as
// Embed does, and not for Config.EmbedTimeout.
func WithVectors(ctx context.Context, v *Vectors) context.Context {
	return context.WithValue(ctx, vectorsKey{}, v)
}

// learns reports whether a search belongs to work that learns.
func learns(ctx context.Context) bool { return ctx.Value(vectorsKey{}) != nil }

// vectorsOf returns the vectors of the work that ctx belongs to.
func vectorsOf(ctx context.Context) *Vectors {
	if v, ok := ctx.Value(vectorsKey{}).(*Vectors); ok {
		return v
	}
	return &Vectors{}
}
