// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
)

// TransferOptions say what [Transfer] copies.
type TransferOptions struct {
	Namespace  string               // Optional. Whose partitions are copied. Defaults to backends.DefaultNamespace.
	Partitions []backends.Partition // Optional. Copies these instead of all partitions of Namespace.
}

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

// Transfer copies partitions from one store to another, of any kind: memories with
// their vectors and histories, the histories of deleted memories, sessions with their
// logs, and blobs. It is an [Export] of each partition as a whole, read by [Import], so
// that everything keeps its order, and all fields but those named below are as in the source.
//
// Stop the agents first: nothing may write to a partition while it is copied. The
// error is ErrConflict if the target holds anything that the source does not, or if
// the source changes meanwhile; nothing in the target is overwritten. To continue a
// transfer that was interrupted, call it again: it writes what is missing, and
// nothing once the copy is complete. One call at a time may copy a partition.
//
// These stay behind: leases (a worker acquires a new one), idempotency keys (let
// retries finish first: a batch repeated on the target is applied there), tombstones,
// and of sessions the Version, Created and Updated. The versions of memories keep
// their order; those that share one in the source may have different ones.
//
// To copy partitions in parallel, call it for each.
func Transfer(ctx context.Context, from, to Store, o *TransferOptions) (done TransferCount, err error) {
	if o == nil {
		o = &TransferOptions{}
	}
	err = each(func(page Page) ([]backends.Partition, string, error) {
		if o.Partitions != nil {
			return o.Partitions, "", nil
		}
		out, err := from.Partitions(ctx, cmp.Or(o.Namespace, backends.DefaultNamespace), page)
		if err != nil {
			return nil, "", err
		}
		return out.Partitions, out.Next, nil
	}, func(p backends.Partition) error {
		n, err := transfer(ctx, from, to, p)
		done.add(n)
		if err != nil {
			return fmt.Errorf("transfer %s: %w", p, err)
		}
		return nil
	})
	return done, err
}

// transfer copies a partition, if the target holds nothing that the source does not.
func transfer(ctx context.Context, from, to Store, p backends.Partition) (TransferCount, error) {
	if _, err := pipe(ctx, to, &importer{to: from, dry: true}, p); err != nil {
		return TransferCount{}, err
	}
	return pipe(ctx, from, &importer{to: to}, p)
}

// pipe reads what a store holds of a partition into another.
func pipe(ctx context.Context, from Store, i *importer, p backends.Partition) (TransferCount, error) {
	out, in := io.Pipe()
	go func() {
		x := &export{holdings: holdings{ctx, from, p}, out: json.NewEncoder(in)}
		_ = in.CloseWithError(x.whole())
	}()
	err := i.all(ctx, out)
	_ = out.CloseWithError(err)
	return i.done, err
}

// errDiffers is returned for what source and target do not have in common.
var errDiffers = fmt.Errorf("%w: source and target are not the same: stop all writers and repeat; "+
	"if nothing in the target is needed, drop the partition there first", backends.ErrConflict)

func (n *TransferCount) add(more TransferCount) {
	n.Partitions, n.Records, n.Deleted = n.Partitions+more.Partitions, n.Records+more.Records, n.Deleted+more.Deleted
	n.Sessions, n.Messages, n.Blobs = n.Sessions+more.Sessions, n.Messages+more.Messages, n.Blobs+more.Blobs
}
