// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
)

// arguments are the arguments of a tool.
type arguments struct {
	schema *jsonschema.Schema // plain
	check  *jsonschema.Resolved
}

// argumentsOf returns the arguments that a schema describes: a value whose JSON is that schema.
func argumentsOf(described any) (*arguments, error) {
	encoded, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	a := &arguments{schema: &jsonschema.Schema{}}
	if err := json.Unmarshal(encoded, a.schema); err != nil {
		return nil, err
	}
	a.check, err = plain(a.schema).Resolve(nil)
	return a, err
}

// read reads arguments like the agent's own tools: null counts as left out, a text may hold a
// number or a truth value, and one text may stand for a list.
func (a *arguments) read(raw json.RawMessage, into any) error {
	var given any = map[string]any{}
	err := json.Unmarshal(raw, &given)
	if len(raw) == 0 || err == nil {
		raw, err = json.Marshal(readAs(a.schema, given))
	}
	if err == nil {
		err = json.Unmarshal(raw, &given)
	}
	if err == nil {
		err = a.check.Validate(given)
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("%w: the arguments do not follow the schema: %w", backends.ErrInvalid, err)
	}
	return nil
}

// plain changes a schema to one that every client takes. SDKs in TypeScript refuse all tools of a
// server for one boolean schema, and Gemini for one list of types.
func plain(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	s.AdditionalProperties = nil
	if n := slices.Index(s.Types, "null"); n >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-n], nil
	}
	if s.Type == "" && s.Description == "" {
		s.Description = "any value" // else it becomes the schema true
	}
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
	return s
}

// members describes open objects by the names of their fields: the name of each usual member, its
// type, its description.
var members = map[string][][3]string{
	"messages": {{"role", "string", "user, assistant, system or tool"}, {"content", "string", "what was said"}},
	"tool_call_results": {
		{"tool_name", "string", ""}, {"input", "string", "the arguments, as JSON"}, {"output", "string", ""},
		{"success", "boolean", "whether it worked"}, {"time_cost", "number", "seconds"}, {"token_cost", "integer", ""},
	},
	"memory_dicts": {{"memory_id", "string", "the id, as a retrieval returned it"}},
	"metadata":     {{"query", "string", "the task"}},
}

// show changes a schema to the one that clients list. Gemini refuses an object without members, so
// open objects show their usual ones. A caller may send others, and of other types.
func show(name string, s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil {
		show(name, s.Items)
	}
	for name, p := range s.Properties {
		show(name, p)
	}
	if s.Type == "object" && s.Properties == nil && members[name] != nil {
		s.Properties = map[string]*jsonschema.Schema{}
		for _, m := range members[name] {
			s.Properties[m[0]] = &jsonschema.Schema{Type: m[1], Description: m[2]}
		}
	}
	return s
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
