// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// DeleteRequest asks to empty a workspace.
type DeleteRequest struct {
	Scope backends.Scope // Required: it is not taken from the context.
	// Erase removes everything that the workspace holds, with the history of its
	// memories, its core blocks, its sessions and the log of tool calls: nothing of it
	// is left. Optional.
	Erase    bool
	Progress Progress // Optional. Defaults to that of the Config.
}

// Delete removes the memories of a workspace, but for core blocks, and returns how
// many. Their history stays. More than 50,000 take several writes; after an error the
// call may be repeated. What a dead load left is finished first. With Erase the traces
// of memories that were removed before count, too.
func (l *Library) Delete(ctx context.Context, r *DeleteRequest) (int, error) {
	if r == nil {
		r = &DeleteRequest{}
	}
	at, err := named(r.Scope)
	if err != nil {
		return 0, err
	}
	remove := l.deleteAll
	if r.Erase {
		remove = l.erase
	}
	n, err := remove(ctx, at, l.reporter(r.Progress))
	if err != nil {
		return n, fmt.Errorf("library: deleting workspace %s: %w", at.partition.ID, err)
	}
	return n, nil
}

func (l *Library) erase(ctx context.Context, at *place, _ Progress) (int, error) {
	dropped, err := l.keeper.Store().Drop(ctx, at.partition)
	return dropped.Records, err
}

func (l *Library) deleteAll(ctx context.Context, at *place, tell Progress) (int, error) {
	if _, err := l.settle(ctx, at); err != nil {
		return 0, err
	}
	var all []string
	if err := l.each(ctx, at.partition, func(ids []string) error { all = append(all, ids...); return nil }); err != nil {
		return 0, err
	}
	done := 0
	for part := range slices.Chunk(all, mostInOneBatch) {
		removed, err := l.remove(ctx, at, part)
		if err != nil {
			return done, err
		}
		done += len(removed)
		tell(done, len(all), StageRemove)
	}
	return done, nil
}

// remove deletes memories and returns the ids of those that were there.
func (l *Library) remove(ctx context.Context, at *place, ids []string) ([]string, error) {
	batch := &store.Batch{}
	for _, id := range ids {
		batch.Mutations = append(batch.Mutations, remove(id))
	}
	applied, err := l.keeper.Store().Apply(ctx, at.partition, batch)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, result := range applied.Results {
		if result.Event != "" {
			out = append(out, result.ID)
		}
	}
	return out, nil
}

// DeleteIDsRequest asks to remove memories.
type DeleteIDsRequest struct {
	Scope backends.Scope // Required. Names the workspace. Defaults to that of the context.
	IDs   []string       // Required. At most 50,000.
}

// DeleteIDsResponse tells what was removed.
type DeleteIDsResponse struct {
	Deleted []string // in the order asked for
	Missing []string // ids that the workspace does not hold
}

// DeleteIDs removes memories by their ids, in one write. Those that the workspace
// does not hold are told; core blocks count as such. Histories stay.
func (l *Library) DeleteIDs(ctx context.Context, r *DeleteIDsRequest) (*DeleteIDsResponse, error) {
	if r == nil {
		r = &DeleteIDsRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	out, err := l.deleteIDs(ctx, at, r.IDs)
	if err != nil {
		return nil, fmt.Errorf("library: deleting memories of workspace %s: %w", at.partition.ID, err)
	}
	return out, nil
}

func (l *Library) deleteIDs(ctx context.Context, at *place, ids []string) (*DeleteIDsResponse, error) {
	if len(ids) == 0 || len(ids) > mostInOneBatch {
		return nil, fmt.Errorf("%w: %d ids: name from 1 to %d", backends.ErrInvalid, len(ids), mostInOneBatch)
	}
	held, err := l.keeper.Records(ctx, at.partition, ids...)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	first := func(id string) bool { again := told[id]; told[id] = true; return !again }
	var there []string
	for i := range held {
		if held[i].Kind != backends.KindCore && first(held[i].ID) {
			there = append(there, held[i].ID)
		}
	}
	out := &DeleteIDsResponse{}
	if len(there) > 0 {
		if out.Deleted, err = l.remove(ctx, at, there); err != nil {
			return nil, err
		}
	}
	clear(told)
	for _, id := range out.Deleted {
		told[id] = true
	}
	for _, id := range ids {
		if first(id) {
			out.Missing = append(out.Missing, id)
		}
	}
	return out, nil
}
