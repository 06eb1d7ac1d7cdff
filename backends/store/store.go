// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

// Store keeps records and sessions. All methods are safe for concurrent use by
// goroutines and by processes that share the storage.
//
// Errors are those of package backends: ErrInvalid for a partition or a batch
// that is not legal, ErrConflict for a version, lease or token that is not
// current, ErrUnavailable if the storage cannot be reached, is locked, is full
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
	switch {
	case p.Limit <= 0:
		return 100
	case p.Limit > 1000:
		return 1000
	}
	return p.Limit
}
