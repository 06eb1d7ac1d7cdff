// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import "encoding/json"

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
