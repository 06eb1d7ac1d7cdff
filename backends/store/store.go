// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package store is the contract of persistence. Memory behaves the same on every store
// that keeps it. Package storetest is the contract as a test suite; sqlitestore and
// redisstore implement it.
//
// There are only a few nouns. A [Record] is a memory with its vector. A [Batch] of
// mutations is applied to one partition, wholly or not at all. Each batch raises the
// partition's version. [Records.Changes] returns the changes since an earlier one, so an
// index in memory stays current with one cheap call. A [Session] is an append-only log of
// messages with a little state beside it, and with [Blobs]: bytes under names, which end
// with the session.
//
// The session log is the outbox of learning. A turn is appended in one atomic write.
// Later a worker acquires the session's lease, reads the messages after the watermark,
// and applies a batch with the new memories and the new watermark. A crash between any
// two steps loses nothing and repeats nothing: the batch is one write, and must present
// the fencing token of its lease.
//
// A replacement is stored before its original is deleted. Superseding keeps the old
// record, and a record's history keeps every former text until the partition is dropped.
//
// [Transfer] copies partitions from one store to another.
package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/einomem/einomem/backends"
)

// Store keeps records and sessions. All methods are safe for concurrent use by
// goroutines and by processes that share the storage.
//
// Errors are sentinels of package backends. ErrInvalid is for an illegal partition or batch,
// ErrConflict for an outdated version, lease or token. ErrForgotten is for a call of an
// operation that began before its partition was dropped (see [Begin]). ErrUnavailable means
// that the storage is out of reach, locked, full or damaged, and says what to do about it.
// After an error of Apply, Append or Update the store is as before, unless the error is a
// cancelled context or ErrUnavailable. Then the call may be stored, and repeating it is
// harmless (Apply with its idempotency key, Append by its message ids).
type Store interface {
	Records
	Sessions
	// Close frees the store's resources. Calls under way finish first, later ones are ErrUnavailable.
	Close() error
}

// Reclaimer is implemented by stores whose files keep erased bytes until their room is
// used again.
type Reclaimer interface {
	// Reclaim overwrites erased bytes in every file of the store. Other calls go on
	// meanwhile. It returns at once where there is no such byte. ErrUnavailable while a
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

// Page chooses a page of a listing: Limit entries (default 100, at most 1000) from Cursor
// on. Cursor is empty for the first page, and else the Next of the page before. An entry
// that exists throughout a listing is returned exactly once.
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

// retries bounds the tries of [OnConflict]: several processes write at once.
const retries = 16

// OnConflict calls f, which reads and writes, again while it fails with ErrConflict: at most 16
// times in all, until ctx ends. It returns f's last error. It waits a little between the tries,
// ever longer and by chance, so every writer wins at last.
func OnConflict(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !errors.Is(err, backends.ErrConflict) || attempt == retries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(time.Duration(attempt) * time.Millisecond)):
		}
	}
}
