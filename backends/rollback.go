// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"context"
	"slices"
	"time"
)

// Rollbacker is implemented by backends that can take back what was learnt from somewhere.
type Rollbacker interface {
	// Rollback takes back what a session, messages or a source taught, as if it had never been
	// learnt: what was added is erased, what was superseded or retracted by it holds again, and
	// a memory that gave way to it gives way to what came next. The log keeps what was said.
	//
	// What was edited since stays, and is listed under Conflicts, as are core blocks and what
	// the caller may not delete. A repeat takes back nothing more. ErrInvalid for a request
	// that names neither a session nor a source.
	Rollback(ctx context.Context, r *RollbackRequest) (*RollbackReport, error)
}

// RollbackRequest says what is to be taken back. Conditions are joined by and.
type RollbackRequest struct {
	Scope    Scope     `json:"scope"`              // Required. Its SessionID does not count.
	Session  *string   `json:"session,omitempty"`  // Required without Source. What this session taught.
	Messages []string  `json:"messages,omitempty"` // Optional. Of Session, what these messages taught, or what agents noted down in these turns.
	Source   string    `json:"source,omitempty"`   // Required without Session. What this source taught: see [Memory.IsFrom].
	Since    time.Time `json:"since,omitzero"`     // Optional. What was learnt from then on. Defaults to ever.
	DryRun   bool      `json:"dry_run,omitempty"`  // Optional. List what would be taken back, and change nothing.
}

// RollbackReport lists what was taken back.
type RollbackReport struct {
	// Items are deleted where a memory was added, with what it said, and updated where one is
	// as it was before: Memory is how it is now, Previous how it was when the rollback began.
	Items     []Item   `json:"items"`
	Conflicts []string `json:"conflicts,omitempty"` // what stays, and why
}

// Taught reports whether a memory comes from what is to be taken back.
func (r *RollbackRequest) Taught(m *Memory) bool {
	named := func(id string) bool { return id != "" && slices.Contains(r.Messages, id) }
	return (r.Session == nil || m.Origin.Session == *r.Session) && (r.Source == "" || m.IsFrom(r.Source)) && !m.Created.Before(r.Since) &&
		(len(r.Messages) == 0 || named(m.Origin.Turn) || slices.ContainsFunc(m.Origin.MessageIDs, named))
}

// Changed reports whether a change comes from what is to be taken back. Changes name the
// session that taught them, and no source.
func (r *RollbackRequest) Changed(e *Event) bool {
	return r.Session != nil && r.Source == "" && e.Session == *r.Session && !e.Time.Before(r.Since) &&
		(len(r.Messages) == 0 || slices.ContainsFunc(e.Messages, func(id string) bool { return slices.Contains(r.Messages, id) }))
}
