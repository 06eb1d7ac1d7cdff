// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// TransferCount counts what a [Transfer] wrote. It leaves out data that the target held
// already.
type TransferCount struct {
	Partitions int `json:"partitions"` // complete in the target now
	Records    int `json:"records"`    // memories, with their vectors and histories
	Deleted    int `json:"deleted"`    // deleted memories whose histories were copied
	Sessions   int `json:"sessions"`
	Messages   int `json:"messages"`
	Blobs      int `json:"blobs"`
}

// Transfer copies a partition from one store to another, of any kind. It copies memories
// with their vectors and histories, the histories of deleted memories, sessions with
// their logs, and blobs. It is an [Import] of the lines that an [Export] of the partition would have.
// Everything keeps its order, and all fields but the ones named below keep their values.
// [Records].Partitions lists the partitions to copy.
//
// Stop the agents first: a partition must be at rest while it is copied. The error is
// ErrConflict if the target holds anything that the source lacks; data in the target is
// never overwritten. Call Transfer again to continue after an interruption: it writes only
// the missing rest. One call at a time may copy a partition.
//
// These stay behind: leases (a worker acquires a new one), tombstones, idempotency keys, and
// the Version, Created and Updated of sessions. Let retries finish first: a batch repeated
// on the target is applied there. The versions of memories keep their order; memories that
// share one in the source may have different ones. Events have no version: they happened in
// the source.
func Transfer(ctx context.Context, from, to Store, p backends.Partition) (TransferCount, error) {
	whole := ImportOptions{Learn: true}
	done, err := move(ctx, to, &importer{to: from, dry: true, ImportOptions: whole}, p)
	if err == nil {
		done, err = move(ctx, from, &importer{to: to, ImportOptions: whole}, p)
	}
	if err != nil {
		err = fmt.Errorf("transfer %s: %w", p, err)
	}
	return done, err
}

// move hands a partition of one store to an import into another.
func move(ctx context.Context, from Store, i *importer, p backends.Partition) (TransferCount, error) {
	i.ctx = ctx
	all := &walk{ctx: ctx, s: from, owner: p, err: p.Validate()}
	all.lines(p, func(l *line) error {
		text, _ := json.Marshal(l) // for its size alone: the store says what it cannot encode
		return i.take(l, len(text))
	})
	if all.err == nil {
		all.err = i.flush()
	}
	return i.done, all.err
}
