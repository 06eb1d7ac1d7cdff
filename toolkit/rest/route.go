// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

// family is a set of endpoints that answer alike.
type family struct {
	tag string
	// fail returns the status and body of a failure.
	fail func(h *Handler, err error, body []byte) (int, any)
}

// route is an endpoint: how it is served and how the document describes it.
type route struct {
	*family
	pattern, method, path string // "POST /search" and its parts
	summary               string
	in, out               reflect.Type
	body                  *jsonschema.Resolved // nil: it takes no body
	status                int
	traits
	serve func(c *call) (any, error)
}

// traits are what endpoints differ in.
type traits struct {
	write  bool // It changes something: the key must be for that, and it is logged.
	long   bool // It may take long: a caller may ask for a job or for progress.
	stream bool // It reads or writes a stream instead of JSON values.
	status int  // Of success. Defaults to 200.
}

// call is one request.
type call struct {
	context.Context
	*Handler
	route *route
	key   *access.Key
	r     *http.Request
	w     http.ResponseWriter
	body  []byte

	opened bool
	scope  backends.Scope // the last one opened
}

// open returns the scope normalised, or an error if the key does not open it. The namespace
// defaults to the key's. Every endpoint calls it, or openAll, before it reads anything.
func (c *call) open(s backends.Scope, write bool) (backends.Scope, error) {
	if s.Namespace == "" {
		s.Namespace = c.key.Namespace()
	}
	s, err := s.Normalize()
	if err != nil {
		return s, err
	}
	c.opened, c.scope = true, s
	return s, c.key.Allow(s, write)
}

// openAll is open for all users, agents and workspaces of a namespace.
func (c *call) openAll(namespace string, write bool) (string, error) {
	if namespace == "" {
		namespace = c.key.Namespace()
	}
	c.opened, c.scope = true, backends.Scope{Namespace: namespace}
	return namespace, c.key.AllowAll(namespace, write)
}

// add registers an endpoint whose request is decoded into In: a body of JSON, then the fields
// tagged path and query.
func add[In, Out any](h *Handler, f *family, pattern, summary string, t traits, fn func(c *call, in *In) (Out, error)) {
	h.register(f, pattern, summary, t, reflect.TypeFor[In](), reflect.TypeFor[Out](), func(c *call) (any, error) {
		in := new(In)
		if len(c.body) > 0 {
			if err := json.Unmarshal(c.body, in); err != nil {
				return nil, &bodyError{err}
			}
		}
		if err := bind(reflect.ValueOf(in).Elem(), c.r); err != nil {
			return nil, err
		}
		return fn(c, in)
	})
}

func (h *Handler) register(f *family, pattern, summary string, t traits, in, out reflect.Type, serve func(c *call) (any, error)) {
	method, path, _ := strings.Cut(pattern, " ")
	r := &route{family: f, pattern: pattern, method: method, path: path, summary: summary, in: in, out: out, traits: t, serve: serve}
	if r.status = t.status; r.status == 0 {
		r.status = http.StatusOK
	}
	if s := schemaOf(in); method != http.MethodGet && !t.stream && len(s.Properties) > 0 {
		allowMore(s)
		var err error
		if r.body, err = s.Resolve(nil); err != nil {
			panic(fmt.Sprintf("rest: %s: %v", pattern, err)) // the types are ours
		}
	}
	h.routes = append(h.routes, r)
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { h.handle(r, w, req) })
}

func (h *Handler) handle(rt *route, w http.ResponseWriter, r *http.Request) {
	c := &call{Handler: h, route: rt, r: r, w: w}
	var err error
	if c.key, err = h.cfg.Guard.Key(r); err == nil && !rt.stream {
		c.body, err = h.read(rt, w, r)
	}
	if err != nil {
		h.answer(c, nil, err)
		return
	}
	if rt.long && h.later(c) {
		return
	}
	timeout := h.cfg.Timeout
	if rt.long || rt.stream {
		timeout = h.cfg.JobTimeout
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	out, err := c.run(ctx)
	if rt.stream && err == nil && out == nil {
		return // it is written
	}
	h.answer(c, out, err)
}

// run serves the call under ctx. What a caller asked for is on the audit log, if it changes
// something.
func (c *call) run(ctx context.Context) (any, error) {
	c.Context = ctx
	out, err := c.route.serve(c)
	if err == nil && !c.opened {
		err = errors.New("the endpoint " + c.route.pattern + " did not check its scope")
	}
	if c.route.write {
		c.cfg.Guard.Audit(ctx, c.key, c.route.pattern, c.scope, err)
	}
	return out, err
}

func (h *Handler) answer(c *call, out any, err error) {
	if err == nil {
		h.write(c.w, c.route.status, out)
		return
	}
	status, body := c.route.fail(h, err, c.body)
	switch {
	case status == http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	case status == http.StatusTooManyRequests:
		c.w.Header().Set("Retry-After", "1")
	case status >= 500:
		h.cfg.Log.ErrorContext(c.r.Context(), "rest: request failed", "endpoint", c.route.pattern, "error", err)
	}
	h.write(c.w, status, body)
}

func (h *Handler) write(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		h.cfg.Log.Error("rest: answer", "error", err)
		status, b = http.StatusInternalServerError, []byte(`{"code":"internal","error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that went away is no failure
}

// read reads the body of a request, as far as the endpoint takes one, and checks it.
func (h *Handler) read(rt *route, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.cfg.MaxBody))
	if err != nil {
		return nil, &bodyError{err}
	}
	if b = bytes.TrimSpace(b); rt.body == nil || len(b) == 0 && r.Method == http.MethodDelete {
		return nil, nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return nil, &bodyError{errors.New(`send JSON, with the header "Content-Type: application/json"`)}
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, &bodyError{err}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, &bodyError{errors.New("the body is no JSON object")}
	}
	if missing := missing(rt.body.Schema(), object); len(missing) > 0 {
		return b, &missingError{missing}
	}
	maps.DeleteFunc(object, func(_ string, v any) bool { return v == nil }) // null is as good as absent
	if err := rt.body.Validate(v); err != nil {
		return b, &bodyError{err}
	}
	return b, nil
}

func missing(s *jsonschema.Schema, object map[string]any) (fields []string) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			fields = append(fields, name)
		}
	}
	return fields
}

// bind fills the fields of v that are tagged path or query, also those of embedded structs.
func bind(v reflect.Value, r *http.Request) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if err := bind(v.Field(i), r); err != nil {
				return err
			}
			continue
		}
		text, name := "", f.Tag.Get("path")
		if name != "" {
			text = r.PathValue(name)
		} else if name = f.Tag.Get("query"); name != "" {
			text = r.URL.Query().Get(name)
		}
		if text == "" {
			continue
		}
		var err error
		switch p := v.Field(i).Addr().Interface().(type) {
		case *string:
			*p = text
		case *int:
			*p, err = strconv.Atoi(text)
		case *int64:
			*p, err = strconv.ParseInt(text, 10, 64)
		case *bool:
			*p, err = strconv.ParseBool(text)
		default:
			err = errors.New("a field of this type cannot be a parameter")
		}
		if err != nil {
			return fmt.Errorf("%w: parameter %s: %.80q", backends.ErrInvalid, name, text)
		}
	}
	return nil
}
