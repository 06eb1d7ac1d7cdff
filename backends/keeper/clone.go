// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"slices"

	"github.com/einomem/einomem/backends"
)

// Clone returns a copy that shares nothing with m that can be changed: a memory
// handed out is the caller's own.
func Clone(m *backends.Memory) backends.Memory {
	c := *m
	c.Metadata, _ = CloneJSON(m.Metadata).(map[string]any)
	c.Origin.MessageIDs = slices.Clone(m.Origin.MessageIDs)
	if m.Quality != nil {
		q := *m.Quality
		c.Quality = &q
	}
	return c
}

// CloneJSON returns a copy of a JSON value, such as metadata, whose type it keeps.
// Lists and objects of other types than []any and map[string]any are shared.
func CloneJSON(v any) any {
	switch x := v.(type) {
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for k, e := range x {
			c[k] = CloneJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = CloneJSON(e)
		}
		return c
	}
	return v
}
