// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"time"
)

// Rollbacker is implemented by backends that can take back what a session or a source
// taught.
type Rollbacker interface {
	// Rollback takes back the memories that a session, its messages or a source taught. It
	// erases the memories that were added; superseded and retracted ones hold again. A memory
	// that gave way to an erased one gives way to the erased one's successor. The log keeps
	// all words.
	//
	// A memory that was edited since stays, and is listed under Conflicts. So are core
	// blocks, and memories that the caller may not delete. A repeat is harmless. ErrInvalid
	// for a request that lacks both a session and a source.
	Rollback(ctx context.Context, r *RollbackRequest) (*RollbackReport, error)
}

// RollbackRequest selects what to take back. Conditions are joined by and.
type RollbackRequest struct {
	Scope    Scope     `json:"scope"`              // Required. Its SessionID is ignored.
	Session  *string   `json:"session,omitempty"`  // Required unless Source is set. Take back what this session taught.
	Messages []string  `json:"messages,omitempty"` // Optional. Only what these messages of Session taught, or what agents noted down in these turns.
	Source   string    `json:"source,omitempty"`   // Required unless Session is set. Take back what this source taught: a Trust constant, or one with a name, such as "tool search_web".
	Since    time.Time `json:"since,omitzero"`     // Optional. Only what was learnt from then on. Defaults to ever.
	DryRun   bool      `json:"dry_run,omitempty"`  // Optional. Only list what would be taken back.
}

// RollbackReport lists what was taken back.
type RollbackReport struct {
	// Items has deleted items for added memories, with their texts, and updated items for
	// restored ones. In these, Memory is the state now, and Previous the state when the
	// rollback began.
	Items     []Item   `json:"items"`
	Conflicts []string `json:"conflicts,omitempty"` // the memories that stay, and why
}
