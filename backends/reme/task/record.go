// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// RecordRequest tells that memories were used in a task, and which of them helped.
type RecordRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	IDs []string // Required. The memories that were used, as a retrieval gave them.
	// Useful are those of IDs that helped. AllUseful says that all did, as when the
	// task succeeded and nobody knows what it owes to which.
	Useful    []string
	AllUseful bool

	// IdempotencyKey makes a repeated call harmless: nothing is counted twice. At most
	// 480 bytes. Optional.
	IdempotencyKey string
}

// Recorded are the counts of one memory after a [RecordRequest].
type Recorded struct {
	ID string // as asked for
	// As is the memory that was counted: the one that ID was joined into, where it no
	// longer holds, else ID itself.
	As      string
	Freq    float64 // how often it was used
	Utility float64 // how often it helped
}

// RecordResponse tells what became of a [RecordRequest].
type RecordResponse struct {
	Recorded []Recorded
	Unknown  []string // no task memories of the workspace, or forgotten: nothing was written for them
	Replayed bool     // the idempotency key was known, and nothing was done
}

// Record counts that memories were used, and that some of them helped: freq and
// utility in their metadata, each by one, added by the store in one atomic batch.
// Whoever records at the same time, nothing is lost, and nothing else of a memory
// changes. What is unknown is told and never created. An id counts once a request, and
// so do those that were joined into one. (A count that comes in the very moment in
// which its memory is joined with another may stay with the one that was replaced.)
func (m *Memory) Record(ctx context.Context, r *RecordRequest) (*RecordResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	_, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		resp, err := m.record(ctx, p, r)
		if !errors.Is(err, backends.ErrConflict) || attempt == maxTries || ctx.Err() != nil {
			return resp, err
		}
	}
}

func (r *RecordRequest) validate() error {
	if len(r.IdempotencyKey) > maxKey {
		return fmt.Errorf("task: idempotency key of %d bytes: %w: at most %d", len(r.IdempotencyKey), backends.ErrInvalid, maxKey)
	}
	for _, id := range r.IDs {
		if err := store.ValidateID("memory", id); err != nil {
			return fmt.Errorf("task: %w", err)
		}
	}
	for _, id := range r.Useful {
		if !slices.Contains(r.IDs, id) {
			return fmt.Errorf("task: memory %s: %w: it is useful and not among IDs", id, backends.ErrInvalid)
		}
	}
	return nil
}

// record is one try: a memory that is deleted or joined between the look and the
// write is a conflict.
func (m *Memory) record(ctx context.Context, p backends.Partition, r *RecordRequest) (*RecordResponse, error) {
	resp := &RecordResponse{}
	useful, err := m.used(ctx, p, r, resp)
	if err != nil {
		return nil, err
	}
	if err := m.repair(ctx, p, slices.Sorted(maps.Keys(useful))); err != nil {
		return nil, err
	}
	b := &store.Batch{}
	if r.IdempotencyKey != "" {
		b.Key = "task/record/" + r.IdempotencyKey
	}
	for _, id := range slices.Sorted(maps.Keys(useful)) { // two that were joined count once
		b.Mutations = append(b.Mutations, store.Increment(id, MetaFreq, 1), store.Increment(id, MetaUtility, useful[id]))
	}
	if len(b.Mutations) == 0 && b.Key == "" {
		return resp, nil
	}
	applied, err := m.keeper.Store().Apply(ctx, p, b)
	if err != nil {
		return nil, fmt.Errorf("task: recording the use of %d memories: %w", len(resp.Recorded), err)
	}
	resp.counts(applied)
	return resp, nil
}

// used finds the memories that are to be counted, and returns what is to be added to
// the utility of each.
func (m *Memory) used(ctx context.Context, p backends.Partition, r *RecordRequest, resp *RecordResponse) (map[string]float64, error) {
	found, err := m.keeper.Held(ctx, p, r.IDs...)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	useful := map[string]float64{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(r.IDs))) {
		mem := found[id]
		if mem != nil {
			if mem, err = m.head(ctx, p, mem); err != nil {
				return nil, err
			}
		}
		if mem == nil {
			resp.Unknown = append(resp.Unknown, id)
			continue
		}
		resp.Recorded = append(resp.Recorded, Recorded{ID: id, As: mem.ID})
		if r.AllUseful || slices.Contains(r.Useful, id) {
			useful[mem.ID] = 1
		} else if _, counted := useful[mem.ID]; !counted {
			useful[mem.ID] = 0
		}
	}
	return useful, nil
}

// repair makes numbers of counts that are none, such as the texts of a foreign library:
// nothing can be added to them.
func (m *Memory) repair(ctx context.Context, p backends.Partition, ids []string) error {
	held, err := m.keeper.Held(ctx, p, ids...)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return held[id] == nil || countable(held[id]) })
	if len(ids) == 0 {
		return nil
	}
	records, err := m.keeper.Records(ctx, p, ids...)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	b := &store.Batch{}
	for i := range records {
		rec := &records[i]
		for _, key := range counters {
			rec.Metadata[key] = number(&rec.Memory, key)
		}
		put := store.Put(rec)
		put.Expect = rec.Version
		b.Mutations = append(b.Mutations, put)
	}
	if _, err := m.keeper.Store().Apply(ctx, p, b); err != nil {
		return fmt.Errorf("task: making numbers of the counts of %d memories: %w", len(ids), err)
	}
	return nil
}

// counts fills in what the store counted. A repeat gets what the first call with the
// key counted, whatever it asks for itself.
func (resp *RecordResponse) counts(applied *store.Applied) {
	type count struct{ freq, utility float64 }
	counts := map[string]count{}
	for i := 0; i+1 < len(applied.Results); i += 2 {
		counts[applied.Results[i].ID] = count{applied.Results[i].Value, applied.Results[i+1].Value}
	}
	if applied.Replayed {
		resp.Replayed, resp.Recorded = true, nil
		for _, id := range slices.Sorted(maps.Keys(counts)) {
			resp.Recorded = append(resp.Recorded, Recorded{ID: id, As: id})
		}
	}
	for i := range resp.Recorded {
		r := &resp.Recorded[i]
		r.Freq, r.Utility = counts[r.As].freq, counts[r.As].utility
	}
}
