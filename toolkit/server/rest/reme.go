// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// remeRoutes serves ReMe's flows under their names, with their envelope.
func (h *Handler) remeRoutes() {
	if h.cfg.Flows == nil {
		return
	}
	f := &family{tag: "reme", fail: remeFailure}
	for _, flow := range h.cfg.Flows.List() {
		h.register(&route{
			family: f, pattern: "POST /" + flow.Name, summary: flow.Description, traits: traits{mode: flow.Mode, long: flow.Long},
			out: reflect.TypeFor[flows.Response](), serve: func(c *call) (any, error) {
				return h.cfg.Flows.Call(c, flow.Name, c.openOrDefault, c.key.Namespace(), c.body)
			},
		}, flow.Request)
	}
	add(h, f, "GET /health", "Whether the server lives.", traits{}, func(_ *call, _ *struct{}) (map[string]string, error) {
		return map[string]string{"status": "healthy"}, nil
	})
}

// openOrDefault is open for clients of ReMe, which may leave the workspace out, and name a user
// only by a header.
func (c *call) openOrDefault(s backends.Scope, m access.Mode) (backends.Scope, error) {
	if s.UserID == "" && s.Workspace == "" && s.AgentID == "" {
		of, _ := c.key.Scope(nil) // the key's own scope; a missing one is fine
		s.Workspace = cmp.Or(of.Workspace, "default")
	}
	if s.UserID+s.AgentID == "" && m&(access.Whole|access.Program) == 0 { // the person who acts in the workspace
		s.UserID = c.r.Header.Get(access.HeaderUser)
	}
	return c.open(s, m)
}

// remeFailure answers in ReMe's form if a field is missing, and else with its envelope.
func remeFailure(h *Handler, err error, body []byte) (int, any) {
	var missing *missingError
	if errors.As(err, &missing) {
		var input any
		_ = json.Unmarshal(body, &input) // read has checked it
		detail := []object{}
		for _, name := range missing.Fields {
			detail = append(detail, object{"type": "missing", "loc": []string{"body", name}, "msg": "Field required", "input": input})
		}
		return http.StatusUnprocessableEntity, object{"detail": detail}
	}
	status, code, message := statusOf(err)
	switch {
	case !h.cfg.AlwaysOK, status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusTooManyRequests, status == http.StatusRequestEntityTooLarge:
	default:
		status = http.StatusOK
	}
	return status, flows.Response{Answer: message, Metadata: object{"code": code}}
}
