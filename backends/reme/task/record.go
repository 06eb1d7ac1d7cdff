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

// RecordRequest reports that memories were used in a task, and which of them helped.
type RecordRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	IDs []string // The memories that were used, as a retrieval returned them. Required.
	// Useful are those of IDs that helped. AllUseful says that all did, as when the task
	// succeeded and it is unknown which of them it owes that to.
	Useful    []string
	AllUseful bool

	// IdempotencyKey makes a repeated call harmless: nothing is counted twice. At most 480
	// bytes. Optional.
	IdempotencyKey string
}

// Recorded are the counts of one memory after a [RecordRequest].
type Recorded struct {
	ID      string  // of the memory that was counted: where one was merged, of what it was merged into
	Freq    float64 // how often it was used
	Utility float64 // how often it helped
}

// RecordResponse is the answer to a [RecordRequest].
type RecordResponse struct {
	Recorded []Recorded // in the order of their ids; of a repeat what the first call counted
	// Unknown are no task memories of the workspace, forgotten, or have counts that are no
	// numbers, as foreign libraries may have them: nothing was written for them.
	Unknown  []string
	Replayed bool // the idempotency key was known, and nothing was done
}

// Record counts that memories were used, and that some of them helped: freq and utility
// in their metadata, each by one, added by the store in one atomic batch. However many
// record at the same time, nothing is lost, and nothing else of a memory changes. An
// unknown memory is reported and never created. An id counts once a request, and so do
// those that were merged into one. (A count that comes in the very moment in which its
// memory is merged may stay with the one that was superseded.)
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

// record is one try: a memory that is deleted or merged between reading and writing is
// ErrConflict.
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

// used finds the memories that are counted, and returns what is added to the utility of
// each.
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
