// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

type object = map[string]any

// document builds the OpenAPI document of all routes and serves it at /openapi.json, to
// every client, also without a key.
func (h *Handler) document() error {
	paths := map[string]object{}
	for _, r := range h.routes {
		path := strings.ReplaceAll(r.path, "{$}", "")
		if paths[path] == nil {
			paths[path] = object{}
		}
		ok := object{"description": "success"}
		switch {
		case r.stream:
			ok["content"] = object{"application/jsonl": object{}}
		default:
			ok["content"] = object{"application/json": object{"schema": schemaOf(r.out)}}
		}
		op := object{
			"summary": r.summary, "tags": []string{r.tag}, "operationId": operationID(r.method, path),
			"responses": object{
				strconv.Itoa(r.status): ok,
				"4XX":                  object{"description": "what the caller can change", "content": object{"application/json": object{}}},
				"5XX":                  object{"description": "what the server lacks", "content": object{"application/json": object{}}},
			},
		}
		if params := parameters(r.in); len(params) > 0 {
			op["parameters"] = params
		}
		if r.body != nil {
			op["requestBody"] = object{"required": r.method != http.MethodDelete, "content": object{"application/json": object{"schema": r.body.Schema()}}}
		}
		paths[path][strings.ToLower(r.method)] = op
	}
	doc, err := json.Marshal(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "einomem", "version": "1", "description": "Memory of agents. Keys: Authorization: Bearer SECRET."},
		"paths":      paths,
		"components": object{"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer"}}},
		"security":   []object{{"key": []string{}}},
	})
	if err != nil {
		return fmt.Errorf("rest: OpenAPI document: %w", err)
	}
	h.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	})
	return nil
}

func operationID(method, path string) string {
	return strings.ToLower(method) + strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_", ".", "_").Replace(path)
}

// parameters describes the fields of t that are tagged path or query.
func parameters(t reflect.Type) (out []object) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			out = append(out, parameters(f.Type)...)
			continue
		}
		in, name := "path", f.Tag.Get("path")
		if name == "" {
			in, name = "query", f.Tag.Get("query")
		}
		if name == "" {
			continue
		}
		p := object{"name": name, "in": in, "required": in == "path", "schema": schemaOf(f.Type)}
		if d := f.Tag.Get("jsonschema"); d != "" {
			p["description"] = d
		}
		out = append(out, p)
	}
	return out
}

// messageSchema is the part of a message of Eino that everybody needs.
var messageSchema = &jsonschema.Schema{
	Type: "object", Required: []string{"role"}, Description: "a message of Eino, with an identity and a time",
	Properties: map[string]*jsonschema.Schema{
		"id": {Type: "string"}, "turn": {Type: "string"}, "time": {Type: "string", Format: "date-time"},
		"role": {Type: "string", Enum: []any{"user", "assistant", "system", "tool"}}, "name": {Type: "string"}, "content": {Type: "string"},
	},
}

// schemaOf returns the JSON Schema of a type of ours.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():  {},
		reflect.TypeFor[backends.Filter]():  {Type: "object", Description: `such as {"kind": "fact", "AND": [{"created": {"gte": "2026-01-01T00:00:00Z"}}]}`},
		reflect.TypeFor[backends.Message](): messageSchema,
		reflect.TypeFor[store.Entry]():      messageSchema,
	}})
	if err != nil {
		panic(fmt.Sprintf("rest: %s: %v", t, err)) // the types are ours, and tests build every one
	}
	return s
}

// allowMore lets a body have fields that the endpoint does not know, as the servers whose
// clients call us do.
func allowMore(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		allowMore(p)
	}
	allowMore(s.Items)
}
