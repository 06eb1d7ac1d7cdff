// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// key returns the idempotency key of the call's batch, empty for none.
func (in *intake) key() string {
	if in.req.IdempotencyKey == "" {
		return ""
	}
	return "mem0/" + in.req.IdempotencyKey
}

// repeated returns the response of the call that came with the same key before,
// nil when there was none, so that a repeated call asks no model.
func (b *Backend) repeated(ctx context.Context, in *intake) (*backends.AddResponse, error) {
	applied, err := b.keep.Replayed(ctx, in.partition, in.key(), in.session)
	if applied == nil || err != nil {
		return nil, err
	}
	return b.replayed(ctx, in, applied, &backends.Usage{})
}

// replayed turns the results of the first call with a key into a response.
func (b *Backend) replayed(ctx context.Context, in *intake, applied *store.Applied, usage *backends.Usage) (*backends.AddResponse, error) {
	ids := make([]string, len(applied.Results))
	for i, r := range applied.Results {
		ids[i] = r.ID
	}
	now, err := b.keep.Held(ctx, in.partition, ids...)
	if err != nil {
		return nil, err
	}
	resp := &backends.AddResponse{Usage: *usage, Replayed: true}
	for _, r := range applied.Results {
		resp.Items = append(resp.Items, replayedItem(r, now[r.ID]))
	}
	if s := applied.Session; s != nil { // the first call may have come without a checkpoint
		resp.Checkpointed = s.Watermark >= *in.session.Watermark
	}
	return resp, nil
}

// replayedItem tells what became of a memory, which is nil when it was deleted
// since.
func replayedItem(r store.Result, now *backends.Memory) backends.Item {
	outcomes := map[backends.EventType]backends.Outcome{
		"": backends.OutcomeUnchanged, backends.EventAdded: backends.OutcomeAdded, backends.EventUpdated: backends.OutcomeUpdated,
		backends.EventSuperseded: backends.OutcomeSuperseded, backends.EventRetracted: backends.OutcomeRetracted,
	}
	item := backends.Item{Outcome: outcomes[r.Event], Memory: backends.Memory{ID: r.ID}}
	if now != nil {
		item.Memory = now.Clone()
	}
	return item
}
