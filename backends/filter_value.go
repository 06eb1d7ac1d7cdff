// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// scalar brings a filter's value to string, bool, float64 or time.Time.
func scalar(v any) (any, error) {
	switch x := v.(type) {
	case string, bool, time.Time:
		return x, nil
	}
	if n, ok := number(v); ok {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("value %v: %w: not a finite number", v, ErrInvalid)
		}
		return n, nil
	}
	if rv := reflect.ValueOf(v); rv.IsValid() && rv.Kind() == reflect.String {
		return rv.String(), nil // named strings, such as Kind
	}
	return nil, fmt.Errorf("value of type %T: %w: use a string, a number, a boolean or a time", v, ErrInvalid)
}

// scalars converts a list of values in the same way.
func scalars(v any) (any, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() != reflect.Slice {
		return nil, fmt.Errorf("value of type %T: %w: use a list", v, ErrInvalid)
	}
	if rv.Len() == 0 {
		return nil, fmt.Errorf("%w: empty list", ErrInvalid)
	}
	list := make([]any, rv.Len())
	for i := range list {
		x, err := scalar(rv.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

func number(v any) (float64, bool) {
	if j, ok := v.(json.Number); ok {
		n, err := j.Float64()
		return n, err == nil
	}
	rv := reflect.ValueOf(v)
	switch {
	case !rv.IsValid():
		return 0, false
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), true
	}
	return 0, false
}

// equal reports whether a value, or an element of a list, is the one wanted.
func equal(v, want any) bool {
	return has(v, func(v any) bool { c, comparable := compare(v, want); return comparable && c == 0 })
}

// contains reports whether a text has a part, or a list an element; fold is for any case.
func contains(v, want any, fold bool) bool {
	if s, ok := v.(string); ok {
		part, ok := want.(string)
		if fold {
			s, part = strings.ToLower(s), strings.ToLower(part)
		}
		return ok && strings.Contains(s, part)
	}
	if reflect.ValueOf(v).Kind() != reflect.Slice {
		return false
	}
	return equal(v, want) || fold && has(v, func(v any) bool { s, ok := v.(string); return ok && strings.EqualFold(s, want.(string)) })
}

// has reports whether a value, or an element of a list, satisfies is.
func has(v any, is func(any) bool) bool {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		return is(v)
	}
	for i := range rv.Len() {
		if is(rv.Index(i).Interface()) {
			return true
		}
	}
	return false
}

// compare orders two values of one type: -1, 0 or 1, and whether they have an order. Two
// different booleans are unordered.
func compare(v, want any) (int, bool) {
	switch w := want.(type) {
	case bool:
		return 0, v == want
	case time.Time:
		t, ok := instantOf(v)
		return t.Compare(w), ok
	case float64:
		n, ok := number(v)
		return cmp.Compare(n, w), ok && !math.IsNaN(n)
	case string:
		if t, ok := v.(time.Time); ok {
			wt, ok := instantOf(w)
			return t.Compare(wt), ok
		}
		if s, ok := v.(string); ok {
			return strings.Compare(s, w), true
		}
	}
	return 0, false
}

func instantOf(v any) (time.Time, bool) {
	switch x := v.(type) {
	case time.Time:
		return x, true
	case string:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, x); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// ParseFilter builds a filter from JSON-like values in the grammar that mem0's users know.
// {"field": value} is equality and {"field": [..]} is in. Several comparisons, as in {"field":
// {"gte": 1, "lt": 5}}, must all hold. The keys "AND", "OR" (lists) and "NOT" (a list or an
// object) combine. AND joins fields beside each other, also those inside {"metadata": {"key":
// value}}. Unknown operators and the wildcard "*" are [ErrInvalid]. An empty map gives nil,
// which matches everything.
func ParseFilter(m map[string]any) (*Filter, error) {
	if len(m) == 0 {
		return nil, nil
	}
	var all []Filter
	for _, k := range slices.Sorted(maps.Keys(m)) {
		f, err := parseEntry(k, m[k])
		if err != nil {
			return nil, err
		}
		all = append(all, f...)
	}
	f := And(all...)
	if len(all) == 1 {
		f = all[0]
	}
	if _, err := f.Compile(); err != nil {
		return nil, err
	}
	return &f, nil
}

// MarshalJSON writes the filter in the grammar of [ParseFilter].
func (f Filter) MarshalJSON() ([]byte, error) {
	switch f.Op {
	case opAnd, opOr, opNot:
		return json.Marshal(map[string][]Filter{strings.ToUpper(f.Op): f.Args})
	}
	return json.Marshal(map[string]map[string]any{f.Field: {f.Op: f.Value}})
}

// UnmarshalJSON reads the grammar of [ParseFilter]. Anything else is [ErrInvalid].
func (f *Filter) UnmarshalJSON(b []byte) error {
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	parsed, err := ParseFilter(m)
	if err == nil && parsed == nil {
		err = fmt.Errorf("filter: %w: it is empty; leave it out", ErrInvalid)
	}
	if err == nil {
		*f = *parsed
	}
	return err
}

func parseEntry(key string, value any) ([]Filter, error) {
	switch key {
	case "AND", "OR", "NOT": // a metadata key may be called "and"
		args, err := parseList(key, value)
		if err != nil {
			return nil, err
		}
		if key == "NOT" { // a list under NOT: none of them matches
			return []Filter{Not(Or(args...))}, nil
		}
		return []Filter{{Op: strings.ToLower(key), Args: args}}, nil
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil, fmt.Errorf("filter %s: %w: no operator", key, ErrInvalid)
		}
		var all []Filter
		for _, op := range slices.Sorted(maps.Keys(v)) {
			if key != "metadata" {
				all = append(all, Filter{Op: op, Field: key, Value: v[op]})
				continue
			}
			of, err := parseEntry("metadata."+op, v[op])
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
		return all, nil
	case string:
		if v == "*" {
			return nil, fmt.Errorf("filter %s: %w: there is no wildcard", key, ErrInvalid)
		}
	}
	if rv := reflect.ValueOf(value); rv.IsValid() && rv.Kind() == reflect.Slice {
		return []Filter{{Op: opIn, Field: key, Value: value}}, nil
	}
	return []Filter{Eq(key, value)}, nil
}

func parseList(key string, value any) ([]Filter, error) {
	list, ok := value.([]any)
	if one, isMap := value.(map[string]any); isMap {
		list, ok = []any{one}, true
	}
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("filter %s: %w: takes a list of conditions", key, ErrInvalid)
	}
	args := make([]Filter, len(list))
	for i, x := range list {
		m, ok := x.(map[string]any)
		if !ok || len(m) == 0 {
			return nil, fmt.Errorf("filter %s: %w: argument %d is no condition", key, ErrInvalid, i)
		}
		f, err := ParseFilter(m)
		if err != nil {
			return nil, err
		}
		args[i] = *f
	}
	return args, nil
}
