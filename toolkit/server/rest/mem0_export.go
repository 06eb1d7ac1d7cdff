// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// An export asks no model. Its schema chooses among the fields of memories: of an object with one
// list of them, or of a memory alone. The id of an export carries its request, so that nothing of
// it is kept. It grants nothing: the key decides when the export is read.

type (
	mem0Form struct {
		mem0IDs
		mem0Unused
		Schema  json.RawMessage `json:"schema"` // JSON Schema, or a text with it
		Filters map[string]any  `json:"filters,omitempty"`
	}
	mem0Ticket struct {
		mem0Unused
		ID string `json:"memory_export_id"`
	}
	// mem0Schema is the part of a JSON Schema that says which fields there are.
	mem0Schema struct {
		Properties map[string]*mem0Schema `json:"properties"`
		Items      *mem0Schema            `json:"items"`
	}
)

// mem0Columns are the fields of a memory in mem0's form.
var mem0Columns = slices.Sorted(maps.Keys(mem0Memory(&backends.Memory{})))

// checkFields returns an error that lists the fields of a memory if one of names is not among them.
func checkFields(names []string) error {
	for _, name := range names {
		if name != "score" && !slices.Contains(mem0Columns, name) {
			return fmt.Errorf("%w: a memory has no field %q: use %s", backends.ErrInvalid, name, strings.Join(mem0Columns, ", "))
		}
	}
	return nil
}

// only returns the named fields of a memory, and its id; all of them for an empty list.
func only(m object, fields []string) object {
	if len(fields) == 0 {
		return m
	}
	out := object{"id": m["id"]}
	for _, name := range fields {
		out[name] = m[name]
	}
	return out
}

// columns returns the name of the list that a schema asks for, and the fields of its memories.
func (in *mem0Form) columns() (list string, fields []string, err error) {
	raw, text := in.Schema, ""
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var s mem0Schema
	if json.Unmarshal(raw, &s) != nil || len(s.Properties) == 0 {
		return "", nil, fmt.Errorf("%w: schema: send a JSON Schema with properties", backends.ErrInvalid)
	}
	list = "memories"
	for name, p := range s.Properties {
		if len(s.Properties) == 1 && p != nil && p.Items != nil && len(p.Items.Properties) > 0 {
			list, s = name, *p.Items
		}
	}
	fields = slices.Sorted(maps.Keys(s.Properties))
	return list, fields, checkFields(fields)
}

func (c *call) mem0Export(in *mem0Form) (object, error) {
	if _, _, err := in.columns(); err != nil {
		return nil, err
	}
	if err := c.mem0Each(in.query(), access.Read, func(backends.Scope, *backends.Filter) error { return nil }); err != nil {
		return nil, err
	}
	ticket, err := json.Marshal(in)
	return object{"id": base64.RawURLEncoding.EncodeToString(ticket), "status": "SUCCEEDED", "message": "The export is ready: read it by its id as memory_export_id."}, err
}

func (in *mem0Form) query() *mem0Query { return &mem0Query{mem0IDs: in.mem0IDs, Filters: in.Filters} }

func (c *call) mem0Exported(in *mem0Ticket) (object, error) {
	form := &mem0Form{}
	raw, err := base64.RawURLEncoding.DecodeString(in.ID)
	if err != nil || json.Unmarshal(raw, form) != nil {
		return nil, fmt.Errorf("%w: export", backends.ErrNotFound)
	}
	list, fields, err := form.columns()
	if err != nil {
		return nil, err
	}
	hits, err := c.mem0Hits(form.query())
	out := []object{}
	for i := range hits {
		m := mem0Memory(&hits[i].Memory)
		maps.DeleteFunc(m, func(name string, _ any) bool { return !slices.Contains(fields, name) })
		out = append(out, m)
	}
	return object{list: out}, err
}
