// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"math"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

// memo is what a request found out, so that a second look asks nobody twice.
type memo struct {
	words    map[string]wordSet
	vectors  map[string][]float32
	verdicts map[[2]string]verdict // by the words of what is new and of what is known
}

func newMemo() *memo {
	return &memo{words: map[string]wordSet{}, vectors: map[string][]float32{}, verdicts: map[[2]string]verdict{}}
}

// near returns from where on two texts are near to each other, and from where on
// they count as the same without a model.
func (m *Memory) near() (near, same float64) {
	if m.config.Embeds {
		return m.config.Duplicate, max(m.config.Duplicate, 0.95)
	}
	return m.config.DuplicateWords, max(m.config.DuplicateWords, 0.95)
}

// measure makes ready what [Memory.likeness] of the texts needs: each is embedded
// once a request, all of one look in one call.
func (t *try) measure(ctx context.Context, texts []string) error {
	memo := t.draft.memo
	if !t.m.config.Embeds {
		for _, s := range texts {
			if memo.words[s] == nil {
				memo.words[s] = wordsOf(s)
			}
		}
		return nil
	}
	var missing []string
	for _, s := range texts {
		if _, ok := memo.vectors[s]; !ok {
			memo.vectors[s] = nil
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := t.embed(ctx, missing)
	if err != nil {
		for _, s := range missing {
			delete(memo.vectors, s)
		}
	}
	return err
}

func (t *try) embed(ctx context.Context, texts []string) error {
	encoded, space, err := t.m.keeper.Ranker().Embed(ctx, texts)
	switch {
	case err != nil:
		return fmt.Errorf("task: comparing with what is known: %w", err)
	case space == nil:
		return fmt.Errorf("task: comparing with what is known: %w: Config.Embeds is set, and the ranker has no embedder", backends.ErrInvalid)
	}
	t.draft.run.Embedded(len(texts))
	decode := recall.Decoder(*space)
	for i, e := range encoded {
		if t.draft.memo.vectors[texts[i]], err = decode(e); err != nil {
			return fmt.Errorf("task: comparing with what is known: %w", err)
		}
	}
	return nil
}

// likeness tells how near two measured texts are, 0 to 1.
func (t *try) likeness(a, b string) float64 {
	if !t.m.config.Embeds {
		return dice(t.draft.memo.words[a], t.draft.memo.words[b])
	}
	return max(0, cosine(t.draft.memo.vectors[a], t.draft.memo.vectors[b]))
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
