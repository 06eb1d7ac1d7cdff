// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The parameters as a model is told of them. What models really send is read by
// decode into the tolerant types below, field by field of the same name.
type (
	searchParams struct {
		Keywords []string `json:"keywords" jsonschema:"required"`
		Limit    int      `json:"limit,omitempty" jsonschema:"minimum=1,maximum=50"`
	}
	addParams struct {
		Thinking string   `json:"thinking" jsonschema:"required"`
		Content  []string `json:"content" jsonschema:"required"`
	}
	updateParams struct {
		ID      string `json:"id" jsonschema:"required"`
		Content string `json:"content" jsonschema:"required"`
	}
	deleteParams struct {
		ID string `json:"id" jsonschema:"required"`
	}
)

type (
	searchArguments struct {
		Keywords list  `json:"keywords"`
		Limit    count `json:"limit"`
	}
	addArguments struct {
		Thinking text `json:"thinking"`
		Content  list `json:"content"`
	}
	updateArguments struct {
		ID      text `json:"id"`
		Content list `json:"content"`
	}
	deleteArguments struct {
		ID text `json:"id"`
	}
)

// decode reads the arguments of a call. Unknown names are ignored; no argument
// at all is an empty object.
func decode(arguments string, into any) error {
	if strings.TrimSpace(arguments) == "" {
		return nil
	}
	return json.Unmarshal([]byte(arguments), into)
}

// text is a string, or a number or truth value that was to be one.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	s, err := scalar(b)
	*t = text(s)
	return err
}

// list is an array of strings, or what models write for one: a single string, or
// a string with an array in it. Blank elements are left out.
type list []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *list) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		s, err := scalar(b)
		if err != nil {
			return err
		}
		if json.Unmarshal([]byte(s), &raw) != nil {
			raw = []json.RawMessage{b}
		}
	}
	*l = nil
	for _, r := range raw {
		s, err := scalar(r)
		if err != nil {
			return err
		}
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

// count is a whole number, or a string or a fraction that was to be one. What is
// no number at all counts as absent.
type count struct {
	n   int
	set bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(b []byte) error {
	if s, err := scalar(b); err == nil {
		*c = countOf(strings.TrimSpace(s))
	}
	return nil
}

func countOf(s string) count {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || f != f { // ±infinity is out of range, and clamped
		return count{}
	}
	return count{n: int(min(max(f, 1), MaxLimit)), set: true}
}

// or returns the count, or fallback when there was none.
func (c count) or(fallback int) int {
	if !c.set {
		return fallback
	}
	return c.n
}

// whole is a number from 0 on, or a string or a fraction that was to be one. What
// is no number at all counts as 0, which everywhere means the default.
type whole int

// maxWhole is more than anything has lines or bytes.
const maxWhole = 1 << 40

// UnmarshalJSON implements json.Unmarshaler.
func (w *whole) UnmarshalJSON(b []byte) error {
	*w = 0
	if s, err := scalar(b); err == nil {
		*w = wholeOf(strings.TrimSpace(s))
	}
	return nil
}

func wholeOf(s string) whole {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || f != f {
		return 0
	}
	return whole(min(max(f, 0), maxWhole))
}

// flag is a truth value, or a string or a number that was to be one. Anything else
// is false.
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

// scalar returns the text of a JSON string, number or truth value; null is empty.
func scalar(b []byte) (string, error) {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0 || bytes.Equal(b, []byte("null")):
		return "", nil
	case b[0] == '{' || b[0] == '[':
		return "", fmt.Errorf("expected text, got %s", clip(string(b), 40))
	case b[0] == '"':
		var s string
		err := json.Unmarshal(b, &s)
		return s, err
	}
	return string(b), nil
}
