// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"slices"

	"github.com/einomem/einomem/backends"
)

// Clone returns a copy that shares nothing with m that can be changed, with metadata as
// [CloneJSON] copies them: a memory handed out is the caller's own.
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
// Lists and objects of other types than []any, []string and map[string]any are shared.
func CloneJSON(v any) any { return mapTexts(v, func(s string) string { return s }) }

// RedactJSON returns a copy of a JSON value, such as metadata, in which every text is
// as it may be stored, by Config.Redact. Keys of objects stay.
func (k *Keeper) RedactJSON(v any) any { return mapTexts(v, k.redact) }

// mapTexts returns a copy of a JSON value with f applied to its texts.
func mapTexts(v any, f func(string) string) any {
	switch x := v.(type) {
	case string:
		return f(x)
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for k, e := range x {
			c[k] = mapTexts(e, f)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = mapTexts(e, f)
		}
		return c
	case []string:
		c := make([]string, len(x))
		for i, e := range x {
			c[i] = f(e)
		}
		return c
	}
	return v
}
