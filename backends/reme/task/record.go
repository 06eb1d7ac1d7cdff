// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// RecordRequest reports that a task used memories, and which of them helped.
type RecordRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	IDs []string // The used memories, as a retrieval returned them. Required.
	// Useful are the IDs that helped. AllUseful says that all did, as after a success that may be
	// due to any of them.
	Useful    []string
	AllUseful bool

	// IdempotencyKey makes a repeated call harmless: each use counts once. At most 480 bytes.
	// Optional.
	IdempotencyKey string
}

// Recorded are the counts of one memory after a [RecordRequest].
type Recorded struct {
	ID      string  // of the counted memory; after a merge the merged one
	Freq    float64 // how often a task used it
	Utility float64 // how often it helped
}

// RecordResponse is the answer to a [RecordRequest].
type RecordResponse struct {
	Recorded []Recorded // in the order of their ids; a repeat has the counts of the first call
	// Unknown are ids whose memory the workspace lacks, has forgotten, or keeps with malformed
	// counts, as foreign libraries may have them. Their memories stay as they are.
	Unknown  []string
	Replayed bool // the idempotency key was known, and the call did nothing
}

// Record counts the uses of memories, and the helpful ones: freq and utility in their metadata,
// each by one. The store adds them in one atomic batch. Parallel calls all count, and the rest of a
// memory stays as it is. An unknown memory is reported, never created. An id counts once a request,
// and so do memories merged into one. (A count at the very moment of a merge may stay with the
// superseded memory.)
func (m *Memory) Record(ctx context.Context, r *RecordRequest) (*RecordResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	ctx, _, p, err := m.keeper.Enter(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if len(r.IdempotencyKey) > maxKey {
		return nil, fmt.Errorf("task: idempotency key of %d bytes: %w: at most %d", len(r.IdempotencyKey), backends.ErrInvalid, maxKey)
	}
	for _, id := range r.IDs {
		if err := store.ValidateID("memory", id); err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
	}
	for _, id := range r.Useful {
		if !slices.Contains(r.IDs, id) {
			return nil, fmt.Errorf("task: memory %s: %w: it is useful and not among IDs", id, backends.ErrInvalid)
		}
	}
	var resp *RecordResponse
	err = store.OnConflict(ctx, func() (err error) {
		resp, err = m.record(ctx, p, r)
		return err
	})
	return resp, err
}

// record is one try: a memory that is deleted or merged between reading and writing is ErrConflict.
func (m *Memory) record(ctx context.Context, p backends.Partition, r *RecordRequest) (*RecordResponse, error) {
	resp := &RecordResponse{}
	useful, err := m.used(ctx, p, r, resp)
	if err != nil {
		return nil, err
	}
	b := &store.Batch{}
	if r.IdempotencyKey != "" {
		b.Key = "task/record/" + r.IdempotencyKey
	}
	for _, id := range slices.Sorted(maps.Keys(useful)) {
		b.Mutations = append(b.Mutations, store.Increment(id, keeper.MetaFreq, 1), store.Increment(id, keeper.MetaUtility, useful[id]))
	}
	if len(b.Mutations) == 0 && b.Key == "" {
		return resp, nil
	}
	applied, err := m.keeper.Store().Apply(ctx, p, b)
	if err != nil {
		return nil, fmt.Errorf("task: recording the use of %d memories: %w", len(useful), err)
	}
	resp.Replayed = applied.Replayed
	for counts := range slices.Chunk(applied.Results, 2) { // freq and utility of each memory
		resp.Recorded = append(resp.Recorded, Recorded{ID: counts[0].ID, Freq: counts[0].Value, Utility: counts[1].Value})
	}
	return resp, nil
}

// used finds the memories to count, and returns the addition to the utility of each.
func (m *Memory) used(ctx context.Context, p backends.Partition, r *RecordRequest, resp *RecordResponse) (map[string]float64, error) {
	held, err := m.keeper.Held(ctx, p, r.IDs...)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	useful := map[string]float64{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(r.IDs))) {
		mem, err := m.head(ctx, p, held[id])
		if err != nil {
			return nil, err
		}
		if mem == nil || !countable(mem.Metadata[keeper.MetaFreq]) || !countable(mem.Metadata[keeper.MetaUtility]) {
			resp.Unknown = append(resp.Unknown, id)
			continue
		}
		helped := 0.0
		if r.AllUseful || slices.Contains(r.Useful, id) {
			helped = 1
		}
		useful[mem.ID] = max(useful[mem.ID], helped)
	}
	return useful, nil
}

// countable reports whether the store can add to a count.
func countable(v any) bool {
	switch v.(type) {
	case nil, float64, int, int64, json.Number:
		return true
	}
	return false
}
