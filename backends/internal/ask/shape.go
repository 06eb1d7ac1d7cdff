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

	"github.com/einomem/einomem/internal/jsontext"
)

// Small models wrap their answers: in printed calls, in objects of one key, in lists under
// the name of an operation. This file takes the wrapping away.

var (
	printedCall = regexp.MustCompile(`(?s)<tool_call>(.*?)(?:</tool_call>|$)`)
	// bareWord is a word in place of an entry: the name of an operation instead of a
	// statement.
	bareWord = regexp.MustCompile(`^[A-Za-z_-]*$`)
)

// pieces returns the parts of a text that are one JSON value each: calls that are printed one
// after the other, or lines of JSON. Else it returns the text.
func pieces(s string) (out []string) {
	if json.Valid([]byte(s)) {
		return []string{s}
	}
	plain := jsontext.Unwrap(s)
	for _, call := range printedCall.FindAllStringSubmatch(plain, -1) {
		out = append(out, call[1])
	}
	if len(out) > 0 {
		return out
	}
	for line := range strings.Lines(plain) {
		if strings.HasPrefix(line, "{") {
			out = append(out, line)
		}
	}
	if len(out) > 1 && json.Valid([]byte(out[0])) {
		return out
	}
	return []string{s}
}

// Small models use these to say that there is no entry: in a line, and in the whole
// answer.
var (
	emptyText   = regexp.MustCompile(`[:：]\s*(?:""|“”|null)\s*[}｝]+$`)
	nothingSaid = regexp.MustCompile(`(?i)^[\s\pP]*(?:none|nothing|null|no facts?|n/a|empty|无|没有|空|\{\})[\s\pP]*$`)
)

// entriesIn returns the lines of a text that hold JSON, with an empty list for an entry without a
// text. Else it returns the text in pieces.
func entriesIn(s string) (out []string) {
	for line := range strings.Lines(jsontext.Unwrap(s)) {
		from := strings.IndexAny(line, "{｛")
		if from < 0 || !strings.ContainsAny(line, ":：") {
			continue
		}
		if line = strings.TrimRight(strings.TrimSpace(line[from:]), ",，]"); emptyText.MatchString(line) {
			line = "[]"
		}
		out = append(out, line)
	}
	switch {
	case len(out) > 0:
		return out
	case nothingSaid.MatchString(jsontext.Unwrap(s)):
		return []string{"[]"}
	}
	return pieces(s)
}

// shape is the expected form of an answer: the keys of its type, and of the entries of its only
// list.
type shape struct {
	keys, entry map[string]bool
	verb        string   // the key for the operation of an entry, "" for none,
	words       []string // and its possible values
}

func shapeOf(t reflect.Type) *shape {
	s := &shape{keys: keysOf(t), entry: map[string]bool{}}
	list, ok := onlyList(reflect.New(t).Elem())
	if !ok || list.Type().Elem().Kind() != reflect.Struct {
		return s
	}
	s.entry = keysOf(list.Type().Elem())
	for _, f := range fieldsOf(list.Type().Elem()) {
		if words := enumOf(f.Tag); len(words) > 0 && s.verb == "" {
			s.verb, s.words = jsonName(f), words
		}
	}
	return s
}

func keysOf(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	if t.Kind() == reflect.Struct {
		for _, f := range fieldsOf(t) {
			for _, name := range namesOf(f) {
				keys[name] = true
			}
		}
	}
	return keys
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

// bare removes the wrapping of an answer: it goes down to the first object that has a key
// of the type, or to the entries of its list.
func (s *shape) bare(v any) any {
	m, ok := v.(map[string]any)
	switch {
	case ok && (len(m) == 0 || has(s.keys, m)):
		return v
	case len(s.entry) > 0:
		return s.entries(v, "")
	}
	for _, inner := range jsontext.Inside(v) {
		if found := s.bare(inner.Value); has(s.keys, found) {
			return found
		}
	}
	return v
}

// entries returns the entries in a value, in order. verb is the operation of entries that leave
// it out.
func (s *shape) entries(v any, verb string) (out []any) {
	m, isObject := v.(map[string]any)
	text, isText := v.(string)
	list, isList := v.([]any)
	children := jsontext.Inside(v)
	switch {
	case isList && len(list) == 0:
		return nil
	case isObject && has(s.entry, m) && m["arguments"] == nil && m["parameters"] == nil:
		if verb != "" && m[s.verb] == nil {
			m = maps.Clone(m)
			m[s.verb] = verb
		}
		return []any{m}
	case isText && verb != "":
		return []any{map[string]any{s.verb: verb, "text": text}}
	case len(children) == 0:
		return []any{v}
	}
	if name, _ := m["name"].(string); slices.Contains(s.words, name) {
		verb = name
	}
	for _, child := range children {
		_, nested := child.Value.(string)
		switch named := slices.Contains(s.words, child.Name); {
		case named:
			out = append(out, s.entries(child.Value, child.Name)...)
		case !isObject || !nested:
			out = append(out, s.entries(child.Value, verb)...)
		}
	}
	return out
}

// has reports whether a value is an object with one of the keys.
func has(keys map[string]bool, v any) bool {
	m, _ := v.(map[string]any)
	return slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(name string) bool { return keys[name] })
}
