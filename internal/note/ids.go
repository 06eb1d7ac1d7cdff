// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note

import (
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// IDs returns the ids under which hits are shown beside each other. A long id is cut to
// its last six characters, or as many more as distinguish it from the others. See [Shows].
func IDs(hits []backends.Hit) []string {
	ids := make([]string, len(hits))
	for i := range hits {
		n := shortID
		for slices.ContainsFunc(hits, func(h backends.Hit) bool { return h.ID != hits[i].ID && ending(h.ID, n) == ending(hits[i].ID, n) }) {
			n++
		}
		ids[i] = ending(hits[i].ID, n)
	}
	return ids
}

// IsShort reports whether an id may be a part of a longer one.
func IsShort(shown string) bool { return len(shown) >= shortID && len(shown) <= longID }

// Shows reports whether an id may be shown as another one.
func Shows(shown, id string) bool { return ending(id, len(shown)) == shown }

// An id of up to longID characters is shown whole. So is an id with other characters than a
// UUID's letters, digits and hyphens.
const shortID, longID = 6, 12

func ending(id string, n int) string {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	if len(id) <= max(n, longID) || strings.ContainsFunc(id, other) {
		return id
	}
	return id[len(id)-n:]
}
