// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/viterin/vek/vek32"
)

// unrelated are sentences of which none has to do with another one, in two languages: an
// embedder shows by them what it makes of texts that are not related.
var unrelated = [2][]string{
	{
		"The train leaves at nine.", "Water boils at one hundred degrees.", "The committee approved the budget.", "A triangle has three sides.",
		"The bridge was closed for repairs.", "Copper conducts electricity.", "The novel has twelve chapters.", "Rain is expected in the north.",
	},
	{
		"图书馆晚上八点关门。", "三角形有三条边。", "铜可以导电。", "这座桥正在维修。",
		"委员会批准了预算。", "水在一百度沸腾。", "这本小说有十二章。", "预计北方有雨。",
	},
}

// scale says what cosines mean, for an embedder and a language.
type scale struct {
	usual   float64 // of two texts that are not related
	related float64 // from here on two texts are
}

// above returns what of a cosine lies above a value: 0 up to it, 1 at 1.
func above(value, cosine float64) float64 { return max(0, (cosine-value)/(1-value)) }

// scales are those of an embedder, one for each language of the unrelated sentences.
type scales [len(unrelated)]scale

// highest is the highest cosine of a scale: equal texts are related whatever the embedder.
const highest = 0.99

// newScales makes them by the vectors of these sentences, one language after the other:
// what is usual is the mean of their cosines, and three standard deviations above it texts
// are related.
func newScales(vectors [][]float32) *scales {
	var s scales
	for i := range s {
		n, sum, squares := 0.0, 0.0, 0.0
		for j := range unrelated[i] {
			for _, other := range vectors[:j] {
				c := float64(vek32.Dot(vectors[j], other))
				n, sum, squares = n+1, sum+c, squares+c*c
			}
		}
		mean := sum / n
		deviation := math.Sqrt(max(0, squares/n-mean*mean))
		s[i] = scale{max(0, min(highest, mean)), max(0, min(highest, mean+3*deviation))}
		vectors = vectors[len(unrelated[i]):]
	}
	return &s
}

// embedScaled sets the vectors of a query and of what a Rewriter made of it, and their scale, which
// the first query of a process asks for in the same request. For an embedder that is too slow for so
// many texts the scales are asked for beside the searches, with the time that storing has.
func (r *Ranker) embedScaled(ctx context.Context, s *service, q *query) error {
	known, texts := r.scales.Load(), []string(nil)
	for _, question := range q.questions {
		texts = append(texts, question.text)
	}
	n := len(texts)
	if known == nil {
		texts = slices.Concat(texts, unrelated[0], unrelated[1])
	}
	vectors, err := r.vectors(ctx, s, texts)
	switch {
	case err == nil && known == nil:
		known = newScales(vectors[n:])
		r.scales.Store(known)
	case errors.Is(err, context.DeadlineExceeded) && known == nil && r.scaling.CompareAndSwap(false, true):
		beside, finish, closed := r.background(ctx)
		if closed != nil {
			return closed
		}
		go func() {
			defer finish()
			defer r.scaling.Store(false)
			if vectors, err := r.vectors(beside, r.storing, texts[n:]); err == nil {
				r.scales.Store(newScales(vectors))
			}
		}()
	}
	if err != nil {
		return err
	}
	for i, question := range q.questions {
		question.vector, question.scale = vectors[i], known.of(question.text)
	}
	return nil
}

// of returns the scale for the language of a query.
func (s *scales) of(query string) scale {
	if strings.ContainsFunc(query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return s[1]
	}
	return s[0]
}
