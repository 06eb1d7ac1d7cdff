// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Update implements [backends.Manager]. The memory keeps its id, its scope and
// its place in the chain whatever the metadata says; metadata keys such as
// user_id are the caller's own and name nothing. A new text is embedded anew. A core
// block is ErrInvalid.
func (b *Backend) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if r.Text == nil && r.Metadata == nil && r.Expires == nil && r.Quality == nil {
		return nil, fmt.Errorf("mem0: memory %s: %w: nothing to change", r.ID, backends.ErrInvalid)
	}
	var out *backends.Memory
	err = b.retry(ctx, r.Version == 0, func() error {
		rec, err := b.record(ctx, p, r.ID)
		if err != nil {
			return err
		}
		if err := refuseCore(&rec.Memory); err != nil {
			return err
		}
		batch, err := b.change(ctx, rec, r)
		if err != nil {
			return err
		}
		applied, err := b.store.Apply(ctx, p, batch)
		if err != nil {
			return fmt.Errorf("mem0: updating memory %s: %w", r.ID, err)
		}
		rec.Version = applied.Version
		out = &rec.Memory
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// change applies the request to the record and returns the batch that writes it.
func (b *Backend) change(ctx context.Context, rec *store.Record, r *backends.UpdateRequest) (*store.Batch, error) {
	put := store.Put(rec)
	put.Expect, put.Actor, put.Role = rec.Version, actorCaller, rec.Origin.Role
	if r.Version != 0 {
		put.Expect = r.Version
	}
	batch := &store.Batch{Mutations: []store.Mutation{put}}
	rec.Metadata = mergeMetadata(rec.Metadata, r.Metadata)
	if r.Expires != nil {
		rec.Expires = *r.Expires
	}
	if r.Quality != nil {
		q := *r.Quality
		if !(q >= 0 && q <= 1) {
			return nil, fmt.Errorf("mem0: memory %s: %w: quality %v is not between 0 and 1", r.ID, backends.ErrInvalid, q)
		}
		rec.Quality = &q
	}
	rec.Updated = b.config.Clock()
	if r.Text == nil {
		return batch, nil
	}
	if err := validText(r.ID, 0, *r.Text); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(b.config.Redact(*r.Text))
	if text == "" {
		return nil, fmt.Errorf("mem0: memory %s: %w: blank text; Delete removes a memory", r.ID, backends.ErrInvalid)
	}
	if text == rec.Text {
		return batch, nil
	}
	rec.Text = text
	var err error
	batch.Embedding, err = b.embed(ctx, []*store.Record{rec}, &backends.Usage{})
	return batch, err
}

// mergeMetadata returns old with the changes made; a nil value removes its key.
func mergeMetadata(old, changes map[string]any) map[string]any {
	if len(changes) == 0 {
		return old
	}
	merged := cloneMetadata(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for k, v := range changes {
		if v == nil {
			delete(merged, k)
			continue
		}
		merged[k] = cloneJSON(v)
	}
	return merged
}

// EndOf returns the Expires of a memory that holds through the given day, that
// day included, as mem0's expiration_date does: midnight after it, UTC. Only the
// date of day counts, in day's own location.
func EndOf(day time.Time) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}
