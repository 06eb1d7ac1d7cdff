// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"crypto/md5" //nolint:gosec // a fingerprint that ReMe defined, no protection
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Hash returns the fingerprint of a call by which repeats are known, as ReMe
// computes it: the MD5 of input and output. A string is taken as it is; anything
// else as Python would write it as JSON. An input that cannot be written as JSON is
// hashed as nothing.
func Hash(input any, output string) string {
	v, err := plain(input)
	if err != nil {
		v = nil
	}
	sum := md5.Sum([]byte(inputText(v) + "|" + output)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// inputText returns an input as it goes into the hash.
func inputText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	var p python
	p.value(v)
	return p.String()
}

var errDeep = errors.New("the input is nested too deep, or in itself")

// plain returns a value as what [decode] returns: maps, slices, texts, numbers. Floats
// keep being floats where JSON alone would make 1 of 1.0.
func plain(v any) (any, error) { return plainAt(v, 0) }

func plainAt(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch x := v.(type) {
	case nil, bool:
		return x, nil
	case json.Number:
		if !json.Valid([]byte(x)) || strings.ContainsAny(x.String(), `"[{tfn`) {
			return nil, fmt.Errorf("%q is no number", x)
		}
		return x, nil
	case string:
		return strings.ToValidUTF8(x, "\uFFFD"), nil
	case float64:
		return plainFloat(x), nil
	case float32:
		return plainFloat(float64(x)), nil
	case []any:
		return plainList(x, depth)
	case map[string]any:
		return plainObject(x, depth)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoded, err := decode(string(raw))
	if err != nil {
		return nil, err
	}
	return plainAt(decoded, depth+1) // for its depth
}

// plainFloat keeps a float's point; what JSON cannot say stays a text.
func plainFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return pythonFloat(f)
	}
	return json.Number(pythonFloat(f))
}

func plainList(list []any, depth int) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = plainAt(e, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plainObject(o map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(o))
	for k, e := range o {
		v, err := plainAt(e, depth+1)
		if err != nil {
			return nil, err
		}
		out[strings.ToValidUTF8(k, "\uFFFD")] = v
	}
	return out, nil
}
