// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"hash/fnv"
	"regexp"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/cloudwego/eino/components/embedding"
)

// Embedder hashes the words of a text (and the characters of Chinese) into a vector:
// texts that share words are near each other. It tests the path of vectors, never
// retrieval. It is safe for concurrent use.
type Embedder struct {
	Dim      int // Required.
	Err      error
	Requests atomic.Int64                // successful ones so far
	Texts    atomic.Int64                // embedded texts so far
	Vector   func(text string) []float64 // Optional. Replaces the hashing.
}

var _ embedding.Embedder = (*Embedder)(nil)

// EmbedStrings implements embedding.Embedder.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.Requests.Add(1)
	e.Texts.Add(int64(len(texts)))
	out := make([][]float64, len(texts))
	for i, t := range texts {
		if e.Vector != nil {
			out[i] = e.Vector(t)
			continue
		}
		out[i] = e.hash(t)
	}
	return out, nil
}

func (e *Embedder) hash(text string) []float64 {
	v := make([]float64, e.Dim)
	for _, w := range words(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(w))
		v[h.Sum32()%uint32(e.Dim)]++
	}
	v[0] += 1e-3 // keeps every text off the zero vector
	return v
}

var han = regexp.MustCompile(`\p{Han}`)

func words(text string) []string {
	text = han.ReplaceAllString(strings.ToLower(text), " $0 ")
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}
