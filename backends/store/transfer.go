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
// their logs, and blobs. It is an [Export] of the whole partition, read by [Import].
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
	done, err := pipe(ctx, to, &importer{to: from, dry: true, ImportOptions: whole}, p)
	if err == nil {
		done, err = pipe(ctx, from, &importer{to: to, ImportOptions: whole}, p)
	}
	if err != nil {
		err = fmt.Errorf("transfer %s: %w", p, err)
	}
	return done, err
}

// whole keeps pending messages pending, and takes lines of any length.
var whole = ImportOptions{Learn: true, MaxLine: math.MaxInt}

// pipe reads a partition of one store into another.
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
