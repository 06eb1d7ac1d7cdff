// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"slices"

	"github.com/einomem/einomem/backends"
)

// clone returns a copy that shares nothing with m: a memory handed out is the
// caller's own.
func clone(m *backends.Memory) backends.Memory {
	c := *m
	c.Metadata = cloneMetadata(m.Metadata)
	c.Origin.MessageIDs = slices.Clone(m.Origin.MessageIDs)
	if m.Quality != nil {
		q := *m.Quality
		c.Quality = &q
	}
	return c
}

func cloneMetadata(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	return cloneJSON(m).(map[string]any)
}

func cloneJSON(v any) any {
	switch x := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(x))
		for k, e := range x {
			c[k] = cloneJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = cloneJSON(e)
		}
		return c
	}
	return v
}
