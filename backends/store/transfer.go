// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/einomem/einomem/backends"
)

// TransferCount counts what a [Transfer] wrote. What the target held already does not
// count.
type TransferCount struct {
	Partitions int `json:"partitions"` // those that are complete in the target now
	Records    int `json:"records"`    // memories, with their vectors and histories
	Deleted    int `json:"deleted"`    // deleted memories whose histories were copied
	Sessions   int `json:"sessions"`
	Messages   int `json:"messages"`
	Blobs      int `json:"blobs"`
}

// Transfer copies a partition from one store to another, of any kind: memories with
// their vectors and histories, the histories of deleted memories, sessions with their
// logs, and blobs. It is an [Export] of the partition as a whole, read by [Import], so
// that everything keeps its order, and all fields but those named below are as in the
// source. [Records].Partitions lists what there is to copy.
//
// Stop the agents first: nothing may write to a partition while it is copied. The
// error is ErrConflict if the target holds anything that the source does not; nothing in
// the target is overwritten. To continue a transfer that was interrupted, call it again:
// it writes what is missing, and nothing once the copy is complete. One call at a time may
// copy a partition.
//
// These stay behind: leases (a worker acquires a new one), idempotency keys (let
// retries finish first: a batch repeated on the target is applied there), tombstones,
// and of sessions the Version, Created and Updated. The versions of memories keep
// their order; those that share one in the source may have different ones. Events have none:
// they happened in the source.
func Transfer(ctx context.Context, from, to Store, p backends.Partition) (TransferCount, error) {
	done, err := pipe(ctx, to, &importer{to: from, dry: true, ImportOptions: whole}, p)
	if err == nil {
		done, err = pipe(ctx, from, &importer{to: to, ImportOptions: whole}, p)
	}
	if err != nil {
		err = fmt.Errorf("transfer %s: %w", p, err)
	}
	return done, err
}

// whole keeps what was not learnt from, and lines of any length.
var whole = ImportOptions{Learn: true, MaxLine: math.MaxInt}

// pipe reads what a store holds of a partition into another.
func pipe(ctx context.Context, from Store, i *importer, p backends.Partition) (TransferCount, error) {
	out, in := io.Pipe()
	go func() {
		_, err := export(ctx, from, p, in, false)
		_ = in.CloseWithError(err)
	}()
	err := i.all(ctx, out)
	_ = out.CloseWithError(err)
	return i.done, err
}
