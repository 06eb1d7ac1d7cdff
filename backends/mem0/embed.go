// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// embed fills in the vectors of the records. Without an embedder it does
// nothing.
func (b *Backend) embed(ctx context.Context, records []*store.Record, usage *backends.Usage) (*store.Embedding, error) {
	if b.config.Embedder == nil || len(records) == 0 {
		return nil, nil
	}
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = recall.EmbedText(&r.Memory)
	}
	vectors, space, err := b.ranker.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("mem0: embedding %d texts: %w", len(texts), err)
	}
	usage.EmbeddedTexts += len(texts)
	for i, r := range records {
		r.Vector = vectors[i]
	}
	return space, nil
}

// dropNear turns a new fact into unchanged when it is all but equal to one that
// the model was not shown: same numbers, and a cosine of at least
// Config.NearDuplicate. Of what the model was shown it decided itself, so that
// nothing close but different is lost here.
func (t *batch) dropNear(ctx context.Context) error {
	c := t.backend.config
	if c.Embedder == nil || c.NearDuplicate < 0 {
		return nil
	}
	for i := range t.entries {
		e := &t.entries[i]
		if e.outcome != backends.OutcomeAdded || e.memory.Kind != backends.KindFact {
			continue
		}
		near, err := t.near(ctx, &e.memory)
		if err != nil {
			return err
		}
		if near != nil {
			e.known(near)
		}
	}
	return nil
}

func (t *batch) near(ctx context.Context, m *backends.Memory) (*backends.Memory, error) {
	resp, err := t.backend.ranker.Search(ctx, t.in.partition, &backends.SearchRequest{
		Scope: t.in.scope, Query: m.Text, TopK: 5, Kinds: []backends.Kind{m.Kind},
	})
	if err != nil {
		return nil, fmt.Errorf("mem0: looking for what is known: %w", err)
	}
	t.usage.EmbeddedTexts++
	for i := range resp.Hits {
		h := &resp.Hits[i]
		if !t.plan.shown[h.ID] && h.Parts.Vector >= t.backend.config.NearDuplicate &&
			slices.Equal(numbers(h.Text), numbers(m.Text)) && t.replaces(h.ID) == nil {
			return &h.Memory, nil
		}
	}
	return nil, nil
}

// numbers returns the runs of digits in s, in order.
func numbers(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
}
