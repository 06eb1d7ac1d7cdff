// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/build"
)

type object = map[string]any

// document builds the OpenAPI document of all routes and serves it at /openapi.json, to every
// client, with or without a key.
func (h *Handler) document() error {
	paths := map[string]object{}
	for _, r := range h.routes {
		path := strings.TrimSuffix(r.path, "{$}")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.method)] = r.operation(path)
	}
	doc, err := json.Marshal(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "einomem", "version": build.Version(), "description": "Memory of agents. Keys: Authorization: Bearer SECRET."},
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

func (r *route) operation(path string) object {
	content := func(schema any) object { return object{"application/json": object{"schema": schema}} }
	answer := content(schemaOf(r.out))
	if r.stream && r.out.Kind() == reflect.Interface {
		answer = object{"application/jsonl": object{}}
	}
	params := []object{}
	for _, p := range r.params {
		params = append(params, object{"name": p.name, "in": p.in, "required": p.in == "path",
			"schema": schemaOf(p.field.Type), "description": p.field.Tag.Get("jsonschema")})
	}
	id := strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_", ".", "_").Replace(path)
	op := object{
		"summary": r.summary, "tags": []string{r.tag}, "operationId": strings.ToLower(r.method) + id, "parameters": params,
		"responses": object{
			"200":     object{"description": "success", "content": answer},
			"default": object{"description": "a failure: 4XX where the caller can change it, else 5XX", "content": content(object{})},
		},
	}
	if r.body != nil {
		op["requestBody"] = object{"required": r.method != http.MethodDelete, "content": content(r.body.Schema())}
	}
	return op
}

// param is a field of a request that comes from the address.
type param struct {
	in, name string              // "path" or "query"
	field    reflect.StructField // with its index in the request
}

var scopeType = reflect.TypeFor[backends.Scope]()

// paramsOf returns the fields of t with a tag path or query. An untagged field with the name of a
// wildcard of the pattern is one, too. So are the parts of a scope, except in POST.
func paramsOf(pattern string, t reflect.Type) (out []param) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path, query := f.Tag.Get("path"), f.Tag.Get("query")
		if strings.Contains(pattern, "{"+name+"}") {
			path = name
		}
		switch {
		case path != "":
			out = append(out, param{"path", path, f})
		case f.Type == scopeType && !f.Anonymous && (query != "" || !strings.HasPrefix(pattern, "POST ")):
			for _, part := range reflect.VisibleFields(scopeType) {
				name, _, _ := strings.Cut(part.Tag.Get("json"), ",")
				part.Index = slices.Concat(f.Index, part.Index)
				out = append(out, param{"query", name, part})
			}
		case query != "":
			out = append(out, param{"query", query, f})
		}
	}
	return out
}

// bind fills in the parameters of a request that the address has. It refuses what it would read in
// part alone: a deletion would be of more, or of others, than the caller means.
func bind(in reflect.Value, params []param, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("%w: the address: %w", backends.ErrInvalid, err)
	}
	for _, p := range params {
		text := query.Get(p.name)
		if p.in == "path" {
			text = r.PathValue(p.name)
		}
		field := in.FieldByIndex(p.field.Index)
		switch given := query[p.name]; {
		case field.Kind() == reflect.Slice:
			field.Set(reflect.ValueOf(given))
		case len(given) > 1:
			return fmt.Errorf("%w: parameter %s is there %d times: give it once", backends.ErrInvalid, p.name, len(given))
		case text == "":
		case field.Kind() == reflect.String:
			field.SetString(text)
		case json.Unmarshal([]byte(strings.ToLower(text)), field.Addr().Interface()) != nil: // a number or a bool, in any case
			return fmt.Errorf("%w: parameter %s: %.80q", backends.ErrInvalid, p.name, text)
		}
	}
	return nil
}

// unknown returns an error that lists the arguments of an endpoint, if a request has another one. An
// empty one of a deletion is an error, too: a caller whose variable is empty would delete more.
func (r *route) unknown(query url.Values, body []byte) error {
	known, sent := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{}}, object{}
	for _, p := range r.params {
		known.Properties["?"+p.name] = &jsonschema.Schema{}
	}
	if r.body != nil && len(body) > 0 {
		maps.Copy(known.Properties, r.body.Schema().Properties)
		_ = json.Unmarshal(body, &sent) // read has checked it
	}
	for name, given := range query {
		if sent["?"+name] = true; r.method == http.MethodDelete && slices.Contains(given, "") {
			return fmt.Errorf("%w: argument ?%s is empty: give it a value, or leave it out to delete whatever it is", backends.ErrInvalid, name)
		}
	}
	return unknownIn(known, sent)
}

// unknownIn finds a field that a schema with properties does not list, also in lists.
func unknownIn(s *jsonschema.Schema, v any) (err error) {
	switch x := v.(type) {
	case []any:
		for i := 0; i < len(x) && s.Items != nil && err == nil; i++ {
			err = unknownIn(s.Items, x[i])
		}
	case object:
		for name, e := range x {
			if p := s.Properties[name]; p != nil {
				err = unknownIn(p, e)
			} else if s.Properties != nil && e != nil { // null is as good as absent
				err = fmt.Errorf("%w: there is no argument %q: use %s", backends.ErrInvalid, name, strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
			}
			if err != nil {
				return err
			}
		}
	}
	return err
}

// messageSchema is the essential part of a message of Eino.
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
		reflect.TypeFor[amsTime]():          {Type: "string", Format: "date-time"},
		reflect.TypeFor[mem0Message]():      {Type: "object", Description: "role, content (a text, or parts) and name"},
	}})
	if err != nil {
		panic(fmt.Sprintf("rest: %s: %v", t, err)) // the types are ours, and tests build every one
	}
	return s
}

// allowMore lets a body have unknown fields, as most servers do whose clients call us: see family.
// It lets null stand for any value, because clients send back what they read.
func allowMore(s *jsonschema.Schema) {
	if s.AdditionalProperties = nil; s.Type != "" {
		s.Type, s.Types = "", []string{"null", s.Type}
	}
	for _, p := range s.Properties {
		allowMore(p)
	}
	if s.Items != nil {
		allowMore(s.Items)
	}
}
