// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

var errNoList = errors.New("the JSON holds no list of entries") // shown to the model

// listKeys are the names under which the list of entries is looked for, in
// order: ours, and those of other prompts for the same task.
var listKeys = []string{"operations", "decisions", "facts", "memory", "memories", "results"}

// readList returns the entries of an answer: the arguments of its tool calls, or
// the JSON in its text. An empty list is an answer; an empty text is not.
func readList(m *schema.Message) ([]any, error) {
	if m == nil {
		return nil, modelanswer.ErrEmpty
	}
	if modelanswer.CutOff(m) {
		return nil, modelanswer.ErrTruncated
	}
	if len(m.ToolCalls) == 0 {
		v, err := modelanswer.JSON(m.Content)
		if err != nil {
			return nil, err
		}
		return listIn(v)
	}
	all := []any{}
	for i := range m.ToolCalls {
		v, err := modelanswer.JSON(m.ToolCalls[i].Function.Arguments)
		if err != nil {
			return nil, err
		}
		list, err := listIn(v)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// listIn finds the list in an answer: the answer itself, or under a known name;
// a single entry stands for a list of one.
func listIn(v any) ([]any, error) {
	switch x := v.(type) {
	case []any:
		return x, nil
	case map[string]any:
		for _, key := range listKeys {
			switch inner := x[key].(type) {
			case []any:
				return inner, nil
			case map[string]any:
				return []any{inner}, nil
			case string:
				if inner == "" {
					continue
				}
				if nested, err := modelanswer.JSON(inner); err == nil { // a list written as a text
					return listIn(nested)
				}
				if key == "memory" { // a single entry, whose text is so called
					return []any{x}, nil
				}
			}
		}
		if firstOf(x, textKeys) != nil || firstOf(x, opKeys) != nil {
			return []any{x}, nil
		}
	}
	return nil, errNoList
}

// firstOf returns the first value that the object has under one of the keys.
func firstOf(o map[string]any, keys []string) any {
	for _, k := range keys {
		if v, ok := o[k]; ok && v != nil {
			return v
		}
	}
	return nil
}

// textIn reads a text; numbers count as their digits.
func textIn(v any) string {
	switch x := v.(type) {
	case string:
		return strings.TrimSpace(strings.ReplaceAll(x, "\x00", ""))
	case json.Number:
		return x.String()
	}
	return ""
}

// intIn reads a number that is whole and not negative: 3, 3.0, "3", "[3]".
func intIn(v any) (int, bool) {
	s := ""
	switch x := v.(type) {
	case json.Number:
		s = x.String()
	case string:
		s = strings.Trim(strings.TrimSpace(x), "[]#")
	case []any:
		if len(x) == 1 {
			return intIn(x[0])
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > 1<<30 || f != float64(int(f)) {
		return 0, false
	}
	return int(f), true
}

// intsIn reads a list of such numbers, or a single one. Others are left out.
func intsIn(v any) []int {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []int
	for _, e := range list {
		if n, ok := intIn(e); ok {
			out = append(out, n)
		}
	}
	return out
}

// compact renders a value for an error message.
func compact(v any) string {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return shorten(strings.TrimSpace(buf.String()), 120)
}
