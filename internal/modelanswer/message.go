// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package modelanswer

import (
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Of returns the JSON of an answer: of each call of the tool, in order, else of what
// the model wrote. It is never empty without an error. Calls of other tools count where
// there is none of this one: models get names wrong. An answer of which any part is cut
// off or cannot be read is an error as a whole: half a list looks like a list.
func Of(m *schema.Message, tool string) ([]any, error) {
	switch {
	case m == nil:
		return nil, ErrEmpty
	case CutOff(m):
		return nil, ErrTruncated
	case len(m.ToolCalls) == 0:
		v, err := JSON(einox.Text(m))
		if err != nil {
			return nil, err
		}
		return []any{v}, nil
	}
	named := slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool { return c.Function.Name == tool })
	var out []any
	for i := range m.ToolCalls {
		f := &m.ToolCalls[i].Function
		if named && f.Name != tool {
			continue
		}
		v, err := JSON(f.Arguments)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
