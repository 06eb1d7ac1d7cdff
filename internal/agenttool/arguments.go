// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package agenttool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The arguments of a tool are a struct. Its schema and the decoding both follow from it. The tag
// alias has other names under which models send a field, such as the same tools' names elsewhere.

// decode reads the arguments of a call into a struct. It returns the first required argument that
// is missing or blank, unless its tag says blank:"ok". Unknown names are ignored, a null counts as
// missing, and an empty text is an empty object.
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
			raw := given[n]
			if len(raw) == 0 || string(raw) == "null" {
				continue
			}
			if err := json.Unmarshal(raw, v.Field(i).Addr().Interface()); err != nil {
				return "", fmt.Errorf("%s: expected what its schema says, got %.40s", n, raw)
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

// List is a list of texts. Models may also send a single text, or a text with a list in it. Blank
// elements are left out.
type List []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(b []byte) error {
	var elements []string
	var single string
	if json.Unmarshal(b, &single) == nil {
		if json.Unmarshal([]byte(single), &elements) != nil {
			elements = []string{single}
		}
	} else if err := json.Unmarshal(b, &elements); err != nil {
		return err
	}
	*l = nil
	for _, s := range elements {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

// Number is a whole number from 0 on. Models may also send a fraction, or a text with either in it.
type Number int

// maxNumber is more than anything has lines or bytes.
const maxNumber = 1 << 40

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err != nil || f != f {
		return errors.New("not a number")
	}
	*n = Number(min(max(f, 0), maxNumber))
	return nil
}

// Flag is a boolean. Models may also send a text with it.
type Flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flag) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseBool(strings.Trim(string(b), `" `))
	*f = Flag(v)
	return err
}
