// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ParseFilter builds a filter from JSON-like values in the grammar that mem0's
// users know: {"field": value} is equality, {"field": [..]} is in, {"field":
// {"gte": 1, "lt": 5}} are comparisons that must all hold, and "AND", "OR" (lists)
// and "NOT" (a list or an object) combine. Fields beside each other are joined
// by AND. Unknown operators and the wildcard "*" are [ErrInvalid]. An empty map
// gives nil, which matches everything.
func ParseFilter(m map[string]any) (*Filter, error) {
	if len(m) == 0 {
		return nil, nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var all []Filter
	for _, k := range keys {
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

func parseEntry(key string, value any) ([]Filter, error) {
	switch op := strings.ToLower(key); op {
	case opAnd, opOr, opNot:
		if key != strings.ToUpper(key) {
			break // a metadata key that happens to be called "and"
		}
		args, err := parseList(key, value)
		if err != nil {
			return nil, err
		}
		if op == opNot { // NOT of a list: none of them
			return []Filter{Not(Or(args...))}, nil
		}
		return []Filter{{Op: op, Args: args}}, nil
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil, fmt.Errorf("filter %s: %w: no operator", key, ErrInvalid)
		}
		ops := make([]string, 0, len(v))
		for op := range v {
			ops = append(ops, op)
		}
		slices.Sort(ops)
		fs := make([]Filter, len(ops))
		for i, op := range ops {
			fs[i] = Filter{Op: op, Field: key, Value: v[op]}
		}
		return fs, nil
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
