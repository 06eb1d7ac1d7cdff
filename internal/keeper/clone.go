// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"encoding/json"
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

// RedactJSON returns a copy of a JSON value, such as metadata, in which every text, and
// every key of an object, is as it may be stored, by Config.Redact. What is of a type
// of its own, such as map[string]string, becomes what its JSON says; what is no JSON
// stays, and no store takes it.
func (k *Keeper) RedactJSON(v any) any {
	switch x := v.(type) {
	case string:
		return k.redact(x)
	case map[string]any:
		if x == nil {
			return x
		}
		c := make(map[string]any, len(x))
		for key, e := range x {
			c[k.redact(key)] = k.RedactJSON(e)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = k.RedactJSON(e)
		}
		return c
	case nil, bool, float64, int, int64, json.Number:
		return v
	}
	text, err := json.Marshal(v)
	var plain any
	if err != nil || json.Unmarshal(text, &plain) != nil {
		return v
	}
	return k.RedactJSON(plain)
}
