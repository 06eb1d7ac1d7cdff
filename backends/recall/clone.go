// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"

	"github.com/einomem/einomem/backends"
)

// cloneMemory returns a copy that shares nothing with m that can be changed.
func cloneMemory(m *backends.Memory) backends.Memory {
	out := *m
	if m.Metadata != nil {
		out.Metadata = cloneValue(m.Metadata).(map[string]any)
	}
	if m.Quality != nil {
		q := *m.Quality
		out.Quality = &q
	}
	out.Origin.MessageIDs = slices.Clone(m.Origin.MessageIDs)
	return out
}

// cloneValue copies a JSON value.
func cloneValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = cloneValue(e)
		}
		return out
	}
	return v
}
