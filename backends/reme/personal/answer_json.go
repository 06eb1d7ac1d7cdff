// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

// entries returns the objects of a list that an answer holds, itself or under a name.
func entries(m *schema.Message, tool, name string) ([]map[string]any, error) {
	all, err := modelanswer.Of(m, tool)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, v := range all {
		if o, ok := v.(map[string]any); ok {
			if v, ok = o[name]; !ok {
				return nil, fmt.Errorf("the JSON has no %q", name)
			}
			if s, ok := v.(string); ok { // a list written as a text
				if v, err = modelanswer.JSON(s); err != nil {
					return nil, err
				}
			}
		}
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%q is no list", name)
		}
		for _, e := range list {
			o, ok := e.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%q holds something that is no object: %s", name, compact(e))
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// textIn reads a text; numbers count as their digits.
func textIn(v any) string {
	switch x := v.(type) {
	case string:
		return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(x, "\uFFFD"), "\x00", ""))
	case json.Number:
		return x.String()
	}
	return ""
}

// keywordsIn reads keywords as a text or a list.
func keywordsIn(v any) string {
	list, ok := v.([]any)
	if !ok {
		return shorten(textIn(v), maxStatement)
	}
	var words []string
	for _, e := range list {
		if s := textIn(e); s != "" {
			words = append(words, s)
		}
	}
	return shorten(strings.Join(words, ", "), maxStatement)
}

// whole reads a number that is whole and not negative.
func whole(v any) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(textIn(v), ".0"))
	return n, err == nil && n >= 0
}

// compact renders a value for an error message.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return shorten(string(text), 120)
}
