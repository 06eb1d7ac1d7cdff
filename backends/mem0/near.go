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
)

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
	resp, err := t.backend.keep.Ranker().Search(ctx, t.in.partition, &backends.SearchRequest{
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
