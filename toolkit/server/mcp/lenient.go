// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lenient reads arguments like the agent's own tools: null counts as left out, a text may hold a
// number or a truth value, and one text may stand for a list.
func (s *Server) lenient(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if call, ok := r.(*sdk.CallToolRequest); ok && s.inputs[call.Params.Name] != nil {
			var given any
			if json.Unmarshal(call.Params.Arguments, &given) == nil {
				if read, err := json.Marshal(readAs(s.inputs[call.Params.Name], given)); err == nil {
					call.Params.Arguments = read
				}
			}
		}
		return next(ctx, method, r)
	}
}

// takes notes the arguments of a tool.
func (s *Server) takes(name string, schema any) {
	encoded, _ := json.Marshal(schema) // schemas encode
	input := &jsonschema.Schema{}
	if json.Unmarshal(encoded, input) == nil {
		s.inputs[name] = input
	}
}

// readAs returns a value in the type of its schema, or the value itself if that is unclear.
func readAs(s *jsonschema.Schema, v any) any {
	text, isText := v.(string)
	text = strings.TrimSpace(text)
	switch s.Type {
	case "object":
		return fieldsAs(s, v, text)
	case "array":
		return listAs(s, v, text)
	case "integer", "number":
		if n, err := strconv.ParseFloat(text, 64); isText && err == nil {
			v = n
		}
		if n, ok := v.(float64); ok && s.Type == "integer" && n > -1<<53 && n < 1<<53 {
			return int64(n)
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); isText && err == nil {
			return b
		}
	}
	return v
}

func fieldsAs(s *jsonschema.Schema, v any, text string) any {
	fields, ok := v.(map[string]any)
	if !ok && json.Unmarshal([]byte(text), &fields) != nil {
		return v
	}
	out := maps.Clone(fields)
	for name, field := range fields {
		p := s.Properties[name]
		switch {
		case p != nil && field == nil:
			delete(out, name)
		case p != nil:
			out[name] = readAs(p, field)
		}
	}
	return out
}

func listAs(s *jsonschema.Schema, v any, text string) any {
	list, ok := v.([]any)
	if !ok && json.Unmarshal([]byte(text), &list) != nil {
		list = []any{v}
	}
	if s.Items == nil {
		return list
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = readAs(s.Items, list[i])
	}
	return out
}
