// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/einomem/einomem/internal/text"
)

// The arguments of a tool are a struct, from which both its schema and the decoding
// follow. Its fields are of the types below: a schema says what they are, and decode
// takes what models send for it. The tag alias has other names under which models send
// a field, such as those that the same tools have elsewhere.

// decode reads the arguments of a call into a struct, and returns the first required one
// that is missing or blank, unless its tag says blank:"ok". Unknown names are ignored, a
// null counts as missing, and no argument at all is an empty object.
func decode(arguments string, into any) (missing string, err error) {
	var given map[string]json.RawMessage
	if strings.TrimSpace(arguments) != "" {
		if err := json.Unmarshal([]byte(arguments), &given); err != nil {
			return "", err
		}
	}
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		for _, n := range append([]string{name}, strings.Split(tag.Get("alias"), ",")...) {
			raw := bytes.TrimSpace(given[n])
			if len(raw) == 0 || string(raw) == "null" {
				continue
			}
			if err := json.Unmarshal(raw, v.Field(i).Addr().Interface()); err != nil {
				return "", fmt.Errorf("%s: %w", n, err)
			}
			break
		}
		if missing == "" && tag.Get("jsonschema") == "required" && tag.Get("blank") == "" && blank(v.Field(i)) {
			missing = name
		}
	}
	return missing, nil
}

func blank(v reflect.Value) bool {
	return v.IsZero() || v.Kind() == reflect.String && strings.TrimSpace(v.String()) == ""
}

// passage is a text to the letter, or what models send for one: a number, a truth
// value, a list of lines.
type passage string

// UnmarshalJSON implements json.Unmarshaler.
func (p *passage) UnmarshalJSON(b []byte) error {
	lines, err := scalars(b)
	*p = passage(strings.Join(lines, "\n"))
	return err
}

// list is a list of texts, or what models send for one: a single text, or a text with a
// list in it. Blank elements are left out.
type list []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *list) UnmarshalJSON(b []byte) error {
	if s, err := scalar(b); err == nil && json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "[") {
		b = []byte(s)
	}
	elements, err := scalars(b)
	*l = nil
	for _, s := range elements {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return err
}

// number is a whole number from 0 on, or a text or a fraction that was to be one. What
// is no number at all counts as 0, which everywhere means the default.
type number int

// maxNumber is more than anything has lines or bytes.
const maxNumber = 1 << 40

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	s, err := scalar(b)
	f, failed := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || failed != nil && !errors.Is(failed, strconv.ErrRange) || f != f {
		f = 0
	}
	*n = number(min(max(f, 0), maxNumber)) // infinity is clamped
	return nil
}

// flag is a truth value, or a text or a number that was to be one. Anything else is
// false.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(b []byte) error {
	s, _ := scalar(b)
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		*f = true
	default:
		*f = false
	}
	return nil
}

// scalars returns the texts of the elements of a JSON array, or that of a JSON scalar.
func scalars(b []byte) ([]string, error) {
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		raw = []json.RawMessage{b}
	}
	out := make([]string, len(raw))
	for i, r := range raw {
		var err error
		if out[i], err = scalar(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scalar returns the text of a JSON string, number or truth value; null is empty.
func scalar(b []byte) (string, error) {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0 || string(b) == "null":
		return "", nil
	case b[0] == '{' || b[0] == '[':
		return "", fmt.Errorf("expected text, got %s", text.TruncateBytes(string(b), 40))
	case b[0] == '"':
		var s string
		err := json.Unmarshal(b, &s)
		return s, err
	}
	return string(b), nil
}
