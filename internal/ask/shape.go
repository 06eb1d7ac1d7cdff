// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Small models wrap what they are asked for: in calls that they print, in objects of one key,
// in lists under the name of what is to be done. This file takes the wrapping away.

var (
	printedCall = regexp.MustCompile(`(?s)<tool_call>(.*?)(?:</tool_call>|$)`)
	// bareWord is a word that stands where an entry should: the name of an operation, and no
	// statement.
	bareWord = regexp.MustCompile(`^[A-Za-z_-]*$`)
)

// pieces returns the parts of a text that are one JSON value each: calls that are printed one
// after the other, or lines of JSON. Else it is the text.
func pieces(s string) (out []string) {
	if json.Valid([]byte(s)) {
		return []string{s}
	}
	plain := unwrap(s)
	for _, call := range printedCall.FindAllStringSubmatch(plain, -1) {
		out = append(out, call[1])
	}
	if len(out) > 0 {
		return out
	}
	for line := range strings.Lines(plain) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "{") {
			out = append(out, line)
		}
	}
	if len(out) > 1 && json.Valid([]byte(out[0])) {
		return out
	}
	return []string{s}
}

// shape is what the keys of an answer can be.
type shape struct {
	keys  map[string]bool // of the answer and of all in it
	entry map[string]bool // of the entries of its only list
	list  []string        // the names of that list
	words []string        // that the verb of an entry can be
	verb  string          // the key that says what an entry does; "" where none does
	text  string          // the key of its text
}

// shapeOf returns the shape of a struct, and of the entries of its only list.
func shapeOf(t reflect.Type) *shape {
	s := &shape{keys: map[string]bool{}, entry: map[string]bool{}}
	if list, ok := onlyList(reflect.New(t).Elem()); ok {
		s.add(list.Type().Elem(), s.entry)
		for _, f := range fieldsOf(t) {
			if f.Type.Kind() == reflect.Slice {
				s.list = namesOf(f)
			}
		}
	}
	s.add(t, s.keys)
	return s
}

func (s *shape) add(t reflect.Type, keys map[string]bool) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range fieldsOf(t) {
		for _, name := range namesOf(f) {
			keys[name] = true
		}
		s.add(f.Type, keys)
		if words := enumOf(f.Tag); len(words) > 0 && s.verb == "" && f.Type.Kind() == reflect.String {
			s.verb, s.words = jsonName(f), words
		}
		if f.Name == "Text" {
			s.text = jsonName(f)
		}
	}
}

// enumOf returns the words that the tag of a text lists.
func enumOf(tag reflect.StructTag) (out []string) {
	for part := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			out = append(out, word)
		}
	}
	return out
}

// bare returns what an answer wraps: one value, or several in a list.
func (s *shape) bare(v any) any {
	switch v := parsed(v).(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && s.isWrapped(m) {
				out = append(out, s.entries(s.bare(m))...)
				continue
			}
			out = append(out, e)
		}
		return out
	case map[string]any:
		if s.isWrapped(v) {
			return s.unwrapped(v)
		}
		return v
	}
	return v
}

func (s *shape) isWrapped(m map[string]any) bool {
	if _, args := s.call(m); args != nil {
		return true
	}
	for key, value := range m {
		if s.keys[key] || len(m) > 1 && !slices.Contains(s.words, key) {
			return false
		}
		switch parsed(value).(type) {
		case map[string]any, []any:
		case string:
			if !slices.Contains(s.words, key) {
				return false
			}
		default:
			return false
		}
	}
	return len(m) > 0
}

func (s *shape) unwrapped(m map[string]any) any {
	if name, args := s.call(m); args != nil {
		return s.named(name, args)
	}
	if len(m) == 1 {
		for key, value := range m {
			return s.named(key, value)
		}
	}
	var all []any
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, listed(s.named(key, m[key]))...)
	}
	return all
}

// call returns the name and the arguments of a call of a tool in JSON, nil if m is none.
func (s *shape) call(m map[string]any) (name string, args any) {
	if inner, ok := m["function"].(map[string]any); ok && !s.keys["function"] {
		m = inner
	}
	for _, key := range []string{"name", "tool", "function"} {
		if text, ok := m[key].(string); ok && name == "" {
			name = text
		}
	}
	for _, key := range []string{"arguments", "parameters", "args", "input"} {
		if args == nil && !s.keys[key] && name != "" {
			args = m[key]
		}
	}
	return name, args
}

// named returns what stands under a name, without its own wrapping. A name that is a verb is
// that of the entries there.
func (s *shape) named(name string, v any) any {
	v = s.bare(v)
	if !slices.Contains(s.words, name) {
		return v
	}
	list, isList := v.([]any)
	out := make([]any, 0, len(list))
	for _, e := range listed(v) {
		m, ok := e.(map[string]any)
		switch t, isText := e.(string); {
		case ok && s.entry[s.verb] && m[s.verb] == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(key string) bool { return !s.entry[key] && s.keys[key] }):
			m = maps.Clone(m)
			m[s.verb] = name
			e = m
		case isText && s.text != "":
			e = map[string]any{s.verb: name, s.text: t}
		}
		out = append(out, e)
	}
	if !isList && len(out) == 1 {
		return out[0]
	}
	return out
}

// parsed returns the JSON that a text holds as a whole, else the value.
func parsed(v any) any {
	s, ok := v.(string)
	if !ok || !strings.HasPrefix(strings.TrimSpace(s), "{") && !strings.HasPrefix(strings.TrimSpace(s), "[") {
		return v
	}
	if nested, err := JSON(s); err == nil {
		return nested
	}
	return v
}

// entries returns those of an answer that may have its list, be it, or be one of its entries.
func (s *shape) entries(v any) []any {
	m, _ := v.(map[string]any)
	for _, name := range s.list {
		if list, ok := m[name]; ok {
			return listed(parsed(list))
		}
	}
	return listed(v)
}

func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
