// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// unrelated are sentences about different things, in two languages. By their cosines an embedder
// shows how it rates unrelated texts.
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
	usual   float64 // of two unrelated texts
	related float64 // two texts with this cosine or more are related
}

// above returns the share of the way from a value to 1 that a cosine covers: 0 up to the value.
func above(value, cosine float64) float64 { return max(0, (cosine-value)/(1-value)) }

// scales holds the scales of an embedder, one for each language of the unrelated sentences.
type scales [len(unrelated)]scale

// highest bounds the cosines of a scale: equal texts are related for every embedder.
const highest = 0.99

// newScales makes the scales of the vectors of these sentences, one language after the other. The
// usual cosine is the mean of their cosines. Texts are related from three standard deviations above
// it.
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

// embedScaled sets the vectors of a query and of its parts by a Rewriter, and their scale. The
// first query of a process asks for the scales in the same request. If an embedder is too slow
// for so many texts, it is asked for the scales beside the searches, with the timeout of storing.
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
		closed := r.life.Go(ctx, "embedder", func(ctx context.Context) error {
			defer r.scaling.Store(false)
			if vectors, err := r.vectors(ctx, r.storing, texts[n:]); err == nil {
				r.scales.Store(newScales(vectors))
			}
			return nil // the breaker knows how it ended
		})
		if closed != nil {
			return closed
		}
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
	if hasHan(query) {
		return s[1]
	}
	return s[0]
}
