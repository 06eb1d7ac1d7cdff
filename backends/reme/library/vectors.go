// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// vectorUse says what is done with the vectors that come along.
type vectorUse int

const (
	vectorsUnknown vectorUse = iota
	vectorsKept              // they are of the space that the embedder makes
	vectorsDropped
)

// embed gives the records their vectors: those that came along, where they fit,
// else new ones.
func (ld *loading) embed(ctx context.Context, records []*store.Record) error {
	if err := ld.chooseVectors(ctx, records); err != nil {
		return err
	}
	var bare []*store.Record
	for _, r := range records {
		if ld.vectors == vectorsDropped {
			r.Vector = nil
		}
		if len(r.Vector) == 0 {
			bare = append(bare, r)
		} else {
			ld.embedded = ld.source.space()
		}
	}
	space, err := ld.keeper.Embed(ctx, bare, &ld.out.Usage)
	switch {
	case err != nil:
		return err
	case space != nil && ld.embedded != nil && *space != *ld.embedded:
		return fmt.Errorf("%w: vectors of %s with %d dimensions came along, the embedder now makes those of %s with %d: load WithoutVectors",
			backends.ErrDimension, ld.embedded.Model, ld.embedded.Dim, space.Model, space.Dim)
	case space != nil:
		ld.embedded = space
	}
	return nil
}

// chooseVectors decides once what becomes of vectors that come along. Where there
// is an embedder, it is asked for one vector to know its space.
func (ld *loading) chooseVectors(ctx context.Context, records []*store.Record) error {
	if ld.vectors != vectorsUnknown {
		return nil
	}
	ld.vectors = vectorsDropped
	came := ld.source.space()
	if came == nil || ld.request.WithoutVectors {
		return nil
	}
	for _, r := range records {
		if len(r.Vector) == 0 {
			continue
		}
		probe := &store.Record{Memory: r.Memory}
		made, err := ld.keeper.Embed(ctx, []*store.Record{probe}, &ld.out.Usage)
		if err != nil {
			ld.vectors = vectorsUnknown
			return err
		}
		if made == nil || *made == *came {
			ld.vectors = vectorsKept
		}
		return nil
	}
	ld.vectors = vectorsUnknown // none has one yet
	return nil
}
