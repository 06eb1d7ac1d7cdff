// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import "errors"

// These errors are returned, wrapped with what was being done, by every package
// of this module. Test for them with [errors.Is].
var (
	// ErrNoScope is returned when nothing in the request, the context or the
	// configuration names the partition that the call needs. There is no shared
	// default: pass a [Scope] with a UserID (or AgentID, or Workspace).
	ErrNoScope = errors.New("no scope")

	// ErrInvalid is returned for input that can never succeed: a scope part with
	// a control character, an unknown filter operator, invalid UTF-8, NaN.
	ErrInvalid = errors.New("invalid")

	// ErrNotFound is returned when the partition was read and the id is not in
	// it. A failure to read is never reported as ErrNotFound.
	ErrNotFound = errors.New("not found")

	// ErrConflict is returned when an expected version, a lease or a fencing
	// token is no longer current. Read again and retry.
	ErrConflict = errors.New("conflict")

	// ErrUnavailable is returned when a store, a model or an embedder cannot be
	// reached or does not answer in time. Retrying later may succeed.
	ErrUnavailable = errors.New("unavailable")

	// ErrDimension is returned when vectors do not fit those that a partition
	// holds: another dimension or another embedding model. Re-embed the
	// partition to change its model.
	ErrDimension = errors.New("dimension mismatch")

	// ErrForgotten is returned for a write that began before the person whose words
	// it has was forgotten. Nothing of it is stored; do not repeat it. What begins
	// after the forgetting is stored.
	ErrForgotten = errors.New("forgotten")

	// ErrDenied is returned when the caller may not add to a workspace, or change or
	// delete something in it. Its author may, and the program, which names the workspace
	// and no user; a backend's configuration can say otherwise.
	ErrDenied = errors.New("denied")

	// ErrModel is returned when a model answered, but not with anything that
	// could be understood after a repair and a retry. It never means that there
	// was nothing to remember.
	ErrModel = errors.New("model output not understood")
)
