// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package store is the contract of persistence: what every store must do so that
// memory behaves the same on each of them. Package storetest is the contract as a
// test suite; sqlitestore and redisstore implement it.
//
// There are only a few nouns. A [Record] is a memory with its vector. A [Batch]
// of mutations is applied to one partition, wholly or not at all; each batch
// raises the partition's version, and [Records.Changes] returns what changed since
// an earlier one, so that an index in memory stays current with one cheap call.
// A [Session] is an append-only log of messages with a little state beside it, and
// with [Blobs]: bytes under names, which end with the session.
//
// The session log is the outbox of learning: a turn is appended in one atomic
// write; later a worker acquires the session's lease, reads the messages after the
// watermark, and applies a batch that holds both what was learnt and the new
// watermark. A crash between any two steps loses nothing and repeats nothing,
// because the batch is one write, and because a lease has a fencing token that the
// batch must present.
//
// Nothing is deleted before its replacement is stored. Superseding keeps the old
// record, and every change of a record's text is kept in its history until the
// partition is dropped.
//
// [Transfer] copies partitions from one store to another.
package store

import "context"

// Store keeps records and sessions. All methods are safe for concurrent use by
// goroutines and by processes that share the storage.
//
// Errors are those of package backends: ErrInvalid for a partition or a batch
// that is not legal, ErrConflict for a version, lease or token that is not
// current, ErrForgotten for a call of an operation that began before its partition was
// dropped (see [Begin]), ErrUnavailable if the storage cannot be reached, is locked, is full
// or is damaged, with what to do about it. After an error of Apply, Append or
// Update nothing of the call is stored, unless the error is a cancelled context
// or ErrUnavailable: then it may be, and repeating the call is harmless (Apply
// with its idempotency key, Append by its message ids).
type Store interface {
	Records
	Sessions
	// Close frees the store's resources. Calls under way finish first.
	Close() error
}

// Reclaimer is implemented by stores whose files keep the bytes of what was erased until
// their room is used again.
type Reclaimer interface {
	// Reclaim overwrites what was erased, in every file of the store. Its cost does not
	// stop other calls. Where nothing was erased it does nothing. ErrUnavailable while a
	// reader of another process is in the way: repeat it.
	Reclaim(ctx context.Context) error
}

// DropCount counts what a Drop removed.
type DropCount struct {
	Records  int // records and tombstones
	Sessions int
	Messages int
	Blobs    int
}

// Page chooses a page of a listing: Limit entries (default 100, at most 1000) from
// Cursor on, which is empty for the first page and else the Next of the page
// before. An entry that exists throughout a listing is returned exactly once.
type Page struct {
	Limit  int
	Cursor string
}

// Size returns the limit with its default and maximum applied.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, 1000)
}
