// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import "errors"

// Every package of this module returns these errors, wrapped with what it was doing. Test
// for them with [errors.Is].
var (
	// ErrNoScope is returned when the request, the context and the configuration all
	// leave open the partition that the call needs. There is no shared default: pass a
	// [Scope] with a UserID (or AgentID, or Workspace).
	ErrNoScope = errors.New("no scope")

	// ErrInvalid is returned for input that can never succeed: a scope part with
	// a control character, an unknown filter operator, invalid UTF-8, NaN.
	ErrInvalid = errors.New("invalid")

	// ErrNotFound is returned when the partition was read and lacks the id. A failure to
	// read is never reported as ErrNotFound.
	ErrNotFound = errors.New("not found")

	// ErrConflict is returned when an expected version, a lease or a fencing token is out
	// of date. Read again and retry.
	ErrConflict = errors.New("conflict")

	// ErrUnavailable is returned when a store, a model or an embedder is out of reach or
	// exceeds its time. Retrying later may succeed.
	ErrUnavailable = errors.New("unavailable")

	// ErrDimension is returned when vectors differ from the ones in a partition: another
	// dimension or another embedding model. Re-embed the partition to change its model.
	ErrDimension = errors.New("dimension mismatch")

	// ErrForgotten is returned for a write that began before the person whose words it
	// has was forgotten. The whole write is refused; do not repeat it. A write that
	// begins after the forgetting is stored.
	ErrForgotten = errors.New("forgotten")

	// ErrDenied is returned when the caller lacks the right to add to a workspace, or to
	// change or delete one of its memories. The author may. So may the program, which
	// names the workspace and no user. A backend's configuration can say otherwise.
	ErrDenied = errors.New("denied")

	// ErrModel is returned when a model's answer stays unreadable after a repair and a
	// retry. It never means that there was nothing to remember.
	ErrModel = errors.New("model output not understood")
)
