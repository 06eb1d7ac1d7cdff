// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"

	"github.com/cloudwego/eino/components/embedding"
)

// EmbedStrings implements [embedding.Embedder].
func (e *embedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts += len(texts)
	if e.fail != nil {
		if err := e.fail(e.texts); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, len(texts))
	for i, text := range texts {
		out[i] = []float64{1, 0, 0, 0, 0, 0, 0, 0}
		for _, r := range text {
			out[i][int(r)%8]++
		}
	}
	return out, nil
}
