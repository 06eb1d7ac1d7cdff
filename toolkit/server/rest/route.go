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
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// family is a set of endpoints that answer alike.
type family struct {
	tag    string
	strict bool // an unknown argument is an error
	// fail returns the status and body of a failure.
	fail func(h *Handler, err error, body []byte) (int, any)
}

// route is an endpoint: how to serve it and how to describe it.
type route struct {
	*family
	traits
	pattern, method, path string // "POST /search" and its parts
	summary               string
	params                []param
	body                  *jsonschema.Resolved // nil: the endpoint ignores bodies
	out                   reflect.Type
	serve                 func(c *call) (any, error)
}

// traits are the differences between endpoints.
type traits struct {
	mode   access.Mode // Its use of the scope of its request. Writes are logged.
	long   bool        // It may take long: a caller may ask for a job or for progress.
	stream bool        // It reads or writes a stream instead of JSON values.
}

// How many exports and imports run at a time. More of them wait.
const exports, imports = 12, 1

// call is one request.
type call struct {
	context.Context
	*Handler
	route *route
	key   *access.Key
	r     *http.Request
	w     http.ResponseWriter
	body  []byte

	*access.Opened                // nil until a scope is open, so that endpoints reach memory only behind it
	scope          backends.Scope // the last scope that open got
	written        bool           // the answer, as a stream
}

// open opens a scope, and returns the scope to use: see [access.Key.Open].
func (c *call) open(s backends.Scope, m access.Mode) (backends.Scope, error) {
	opened, err := c.door.Open(c.key, s, m)
	if c.Opened, c.scope = opened, s; err != nil {
		return s, err
	}
	c.scope = opened.Scope
	return opened.Scope, nil
}

// openAll opens all users, agents and workspaces of a namespace; [access.Any] is every namespace.
func (c *call) openAll(namespace string, m access.Mode) (err error) {
	c.scope = backends.Scope{Namespace: namespace}
	c.Opened, err = c.door.OpenAll(c.key, namespace, m)
	return err
}

// scoped registers an endpoint of ours, below /api/v1/, whose request has a field Scope. The scope
// is open before fn gets the request.
func scoped[In, Out any](h *Handler, pattern, summary string, t traits, fn func(c *call, in *In) (Out, error)) {
	pattern = strings.Replace(pattern, " ", " /api/v1/", 1)
	add(h, own, pattern, summary, t, func(c *call, in *In) (out Out, err error) {
		s := reflect.ValueOf(in).Elem().FieldByName("Scope").Addr().Interface().(*backends.Scope)
		if *s, err = c.open(*s, t.mode); err != nil {
			return out, err
		}
		return fn(c, in)
	})
}

// list is scoped for an endpoint that reads a list, and answers with an object that has only the
// list.
func list[In, T any](h *Handler, name, pattern, summary string, fn func(c *call, in *In) ([]T, error)) {
	scoped(h, pattern, summary, traits{}, func(c *call, in *In) (map[string][]T, error) {
		all, err := fn(c, in)
		return map[string][]T{name: orEmpty(all)}, err
	})
}

// add registers an endpoint whose request is decoded into In: a body of JSON, then the fields with
// a tag path or query. fn opens the scope itself.
func add[In, Out any](h *Handler, f *family, pattern, summary string, t traits, fn func(c *call, in *In) (Out, error)) {
	rt := &route{family: f, traits: t, pattern: pattern, summary: summary, out: reflect.TypeFor[Out]()}
	rt.serve = func(c *call) (any, error) {
		in := new(In)
		if len(c.body) > 0 {
			if err := json.Unmarshal(c.body, in); err != nil {
				return nil, &bodyError{err}
			}
		}
		if err := bind(reflect.ValueOf(in).Elem(), rt.params, c.r); err != nil {
			return nil, err
		}
		return fn(c, in)
	}
	h.register(rt, reflect.TypeFor[In]())
}

// register serves rt, and fills in its params and body from the type of its request.
func (h *Handler) register(rt *route, in reflect.Type) {
	rt.method, rt.path, _ = strings.Cut(rt.pattern, " ")
	rt.params = paramsOf(rt.pattern, in)
	if s := schemaOf(in); rt.method != http.MethodGet && !rt.stream && len(s.Properties) > 0 {
		allowMore(s)
		var err error
		if rt.body, err = s.Resolve(nil); err != nil {
			panic(fmt.Sprintf("rest: %s: %v", rt.pattern, err)) // the types are ours
		}
	}
	h.routes = append(h.routes, rt)
	h.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { h.handle(rt, w, r) })
}

func (h *Handler) handle(rt *route, w http.ResponseWriter, r *http.Request) {
	c := &call{Context: r.Context(), Handler: h, route: rt, r: r, w: w}
	var err error
	if c.key, err = h.cfg.Guard.Key(r); err == nil && !rt.stream {
		c.body, err = h.read(rt, w, r)
	}
	if err == nil && rt.strict {
		err = rt.unknown(r.URL.Query(), c.body)
	} else if err == nil && rt.mode&(access.Write|access.Whole) == access.Write|access.Whole {
		err = rt.unknown(nil, c.body) // a misspelt limit would erase more
	}
	var status int
	var body any
	switch {
	case err != nil:
		status, body = c.fail(err)
	case rt.long && asksLater(r):
		status, body = h.later(c)
	default:
		timeout := h.cfg.Timeout
		if rt.long || rt.stream {
			timeout = jobTimeout
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		status, body = c.inTurn(ctx)
	}
	switch {
	case !c.written:
		write(w, status, body)
	case status >= 400: // the abort tells the caller that the answer is incomplete
		panic(http.ErrAbortHandler)
	}
}

// inTurn is run; a stream first waits for room.
func (c *call) inTurn(ctx context.Context) (status int, body any) {
	if !c.route.stream {
		return c.run(ctx)
	}
	room := c.streams[c.route.mode&access.Write != 0]
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
		return c.run(ctx)
	case <-ctx.Done():
		return c.fail(ctx.Err())
	}
}

// run serves the call under ctx, and returns its answer. A write is on the audit log as the caller
// asked for it.
func (c *call) run(ctx context.Context) (status int, body any) {
	c.Context = ctx
	out, err := c.serve()
	if c.route.mode&access.Write != 0 {
		c.cfg.Guard.Audit(ctx, c.key, c.route.pattern, c.scope, err)
	}
	if err != nil {
		return c.fail(err)
	}
	return http.StatusOK, out
}

// serve turns a panic into a failure.
func (c *call) serve() (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.route.serve(c)
}

// fail returns the answer to a failure, and logs failures inside the server.
func (c *call) fail(err error) (status int, body any) {
	status, body = c.route.fail(c.Handler, err, c.body)
	if status >= 500 {
		c.cfg.Log.ErrorContext(c, "rest: request failed", "endpoint", c.route.pattern, "error", err)
	}
	return status, body
}

// Write implements io.Writer for an answer that is a stream. A failure after the first piece cuts
// the connection.
func (c *call) Write(b []byte) (int, error) {
	c.written = true
	return c.w.Write(b)
}

func write(w http.ResponseWriter, status int, v any) {
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that left is fine
}

// read reads and checks the body of a request, if the endpoint takes one.
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
	var object map[string]any
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, &bodyError{err}
	}
	missing := slices.DeleteFunc(slices.Clone(rt.body.Schema().Required), func(name string) bool {
		_, ok := object[name]
		return ok
	})
	if len(missing) > 0 {
		return b, &missingError{Fields: missing}
	}
	maps.DeleteFunc(object, func(_ string, v any) bool { return v == nil }) // null is as good as absent
	if err := rt.body.Validate(object); err != nil {
		return b, &bodyError{err}
	}
	return b, nil
}
