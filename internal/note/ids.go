// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note

import (
	"context"
	"fmt"
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

// Find returns the whole id of the memory for which bullets show a part of it. If several memories
// have that part, the error names them; an unknown id is returned as it is, without brackets.
func Find(ctx context.Context, m backends.Manager, scope backends.Scope, shown string) (string, error) {
	if shown = Bare(shown); !IsShort(shown) {
		return shown, nil
	}
	within := backends.Filter{Op: "icontains", Field: "id", Value: shown}
	page, err := m.List(ctx, &backends.ListRequest{Scope: scope, Filter: &within, Limit: 1000})
	if err != nil || page == nil {
		return shown, err
	}
	var ids []string
	for i := range page.Memories {
		if id := page.Memories[i].ID; Shows(shown, id) {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) == 0 || slices.Contains(ids, shown):
		return shown, nil
	case len(ids) > 1:
		return "", fmt.Errorf("memory %q: %w: several memories are shown so, such as %s and %s", shown, backends.ErrInvalid, ids[0], ids[1])
	}
	return ids[0], nil
}

// Bare returns an id freed of the brackets that were copied from a bullet with it.
func Bare(id string) string {
	s := strings.TrimSpace(id)
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}
