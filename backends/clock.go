// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"time"

	"github.com/google/uuid"
)

// Clock tells the time. Every time that is stored comes from one, so that tests
// are exact. A nil Clock in a configuration means [SystemClock].
// It must be safe for concurrent use.
type Clock func() time.Time

// SystemClock is the wall clock in UTC, cut to microseconds so that a time read
// back from any store equals the time written.
func SystemClock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// IDSource makes ids that are unique across processes. A nil IDSource in a
// configuration means [NewID]. It must be safe for concurrent use.
type IDSource func() string

// NewID returns a UUID version 7 (RFC 9562): unique, and ordered by time.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil { // the system's source of randomness failed
		return uuid.NewString()
	}
	return id.String()
}
