// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// object is a JSON object whose members are taken out one by one: what is left in
// the end is what nobody knew.
type object map[string]json.RawMessage

var errNotObject = errors.New("not a JSON object")

// parseObject reads a JSON object.
func parseObject(text []byte) (object, error) {
	if !utf8.Valid(text) { // the decoder would replace what is not without a word
		return nil, errors.New("not UTF-8")
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return nil, errNotObject
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return o, nil
}

// has reports whether one of the members is there.
func (o object) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := o[name]; return ok })
}

// take decodes a member and takes it out. One that is absent or null leaves to as
// it is.
func (o object) take(name string, to any) error {
	raw, ok := o[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	delete(o, name)
	return nil
}

// text takes out a member that is a text, or null.
func (o object) text(name string) (string, error) {
	var s *string
	if err := o.take(name, &s); err != nil {
		return "", fmt.Errorf("%s is not a text", name)
	}
	if s == nil {
		return "", nil
	}
	return *s, nil
}

// nested takes out a member that is an object, or a text that holds one, or null.
func (o object) nested(name string) (object, error) {
	raw := bytes.TrimSpace(o[name])
	if len(raw) == 0 || string(raw) == "null" {
		delete(o, name)
		return object{}, nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		raw = bytes.TrimSpace([]byte(text))
		if len(raw) == 0 || string(raw) == "null" {
			delete(o, name)
			return object{}, nil
		}
	}
	in, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	delete(o, name)
	return in, nil
}

// values decodes what is left.
func (o object) values() (map[string]any, error) {
	if len(o) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(o))
	for name, raw := range o {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// names lists the members, for errors.
func (o object) names() string {
	var out []string
	for name := range o {
		out = append(out, fmt.Sprintf("%.40q", name))
	}
	slices.Sort(out)
	if len(out) > 8 {
		out = append(out[:8], "…")
	}
	return strings.Join(out, ", ")
}

// asJSON returns a value as one that was read from JSON.
func asJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(text, &out)
}

// encode writes a value as one line of JSON, in which text stays legible.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// namesOf lists the members of a decoded object, for errors.
func namesOf(values map[string]any) string {
	o := object{}
	for name := range values {
		o[name] = nil
	}
	return o.names()
}
