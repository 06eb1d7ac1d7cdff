// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import "time"

// EndOf returns the Expires of a memory that holds through the given day, that
// day included, as mem0's expiration_date does: midnight after it, UTC. Only the
// date of day counts, in day's own location.
func EndOf(day time.Time) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}
