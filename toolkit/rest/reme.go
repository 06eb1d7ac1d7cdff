// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/flows"
)

// remeRoutes serves ReMe's flows under their names, with their envelope.
func (h *Handler) remeRoutes() {
	f := &family{tag: "reme", fail: remeFailure}
	// Clients of ReMe may leave the workspace out.
	open := func(c *call) flows.Open {
		return func(s backends.Scope, write bool) (backends.Scope, error) {
			if s.UserID == "" && s.Workspace == "" && s.AgentID == "" {
				if s.Workspace = "default"; len(c.key.Workspaces) == 1 && c.key.Workspaces[0] != access.Any {
					s.Workspace = c.key.Workspaces[0]
				}
			}
			return c.open(s, write)
		}
	}
	for _, flow := range h.cfg.Flows.List() {
		h.register(f, "POST /"+flow.Name, flow.Description, traits{write: flow.Write, long: flow.Long}, flow.Request, reflect.TypeFor[flows.Response](),
			func(c *call) (any, error) {
				out, err := h.cfg.Flows.Call(c, flow.Name, open(c), c.key.Namespace(), c.body)
				if err != nil {
					return nil, err
				}
				return out, nil
			})
	}
	add(h, f, "GET /health", "Whether the server lives.", traits{}, func(c *call, _ *struct{}) (map[string]string, error) {
		c.opened = true
		return map[string]string{"status": "healthy"}, nil
	})
}

// remeFailure answers as ReMe does where a field is missing, and else with its envelope.
func remeFailure(h *Handler, err error, body []byte) (int, any) {
	var lacks *missingError
	var flow *flows.MissingError
	if errors.As(err, &flow) {
		lacks = &missingError{flow.Fields}
	}
	if lacks != nil || errors.As(err, &lacks) {
		var input any
		_ = json.Unmarshal(body, &input) // it was read before
		detail := []object{}
		for _, name := range lacks.fields {
			detail = append(detail, object{"type": "missing", "loc": []string{"body", name}, "msg": "Field required", "input": input})
		}
		return http.StatusUnprocessableEntity, object{"detail": detail}
	}
	status, code, text := statusOf(err)
	switch {
	case !h.cfg.AlwaysOK, status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusTooManyRequests, status == http.StatusRequestEntityTooLarge:
	default:
		status = http.StatusOK
	}
	return status, flows.Response{Answer: text, Metadata: object{"code": code}}
}
