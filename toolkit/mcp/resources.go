// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
)

// The addresses of resources. What follows is an id, percent-encoded.
const (
	memoryURI  = "memory://memories/"
	sessionURI = "memory://sessions/"
	mimeJSON   = "application/json"
)

// resources serves memories and sessions, each as JSON.
func (s *Server) resources() {
	if s.manager != nil {
		s.resource(memoryURI, "memory", "One memory.", func(c *call, id string) (any, error) {
			return s.manager.Get(c, &backends.GetRequest{Scope: c.scope, ID: id})
		})
	}
	if w := s.cfg.Memory.Window(); w != nil {
		s.resource(sessionURI, "session", "What was said in one session: its last 1,000 messages.", func(c *call, id string) (any, error) {
			scope := c.scope
			scope.SessionID = id
			if _, err := w.Sessions().Get(c, scope); err != nil {
				return nil, err
			}
			return w.Sessions().Read(c, scope, store.Range{Last: true})
		})
	}
	s.mcp.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if r, ok := r.(*sdk.ListResourcesRequest); ok {
				return s.list(ctx, r)
			}
			return next(ctx, method, r)
		}
	})
}

// resource adds the template of a kind of resources. What is not there, and what is elsewhere, is
// not found.
func (s *Server) resource(kind, name, description string, get func(c *call, id string) (any, error)) {
	s.mcp.AddResourceTemplate(&sdk.ResourceTemplate{Name: name, Description: description, URITemplate: kind + "{id}", MIMEType: mimeJSON},
		func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			c, err := s.call(ctx, r.Extra, "resources/read")
			if err != nil {
				return nil, err
			}
			var v any
			id, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, kind))
			if err == nil {
				err = c.owner()
			}
			if err == nil {
				v, err = get(c, id)
			}
			if errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrInvalid) {
				return nil, sdk.ResourceNotFoundError(r.Params.URI)
			}
			if err != nil {
				return nil, c.explain(err)
			}
			b, err := json.Marshal(v)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mimeJSON, Text: string(b)}}}, err
		})
}

// list returns a page of the connection's resources: the memories, and behind them the sessions.
func (s *Server) list(ctx context.Context, r *sdk.ListResourcesRequest) (sdk.Result, error) {
	c, err := s.call(ctx, r.Extra, "resources/list")
	if err != nil {
		return nil, err
	}
	res := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: private}
	if !named(c.scope) {
		return res, nil
	}
	add := func(kind, id, title string) {
		uri := kind + strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
		res.Resources = append(res.Resources, &sdk.Resource{URI: uri, Name: id, Title: text.Line(title, 80), MIMEType: mimeJSON})
	}
	cursor, sessions := "", false
	if r.Params != nil {
		cursor, sessions = strings.CutPrefix(r.Params.Cursor, sessionURI)
	}
	if s.manager != nil && !sessions {
		page, err := s.manager.List(c, &backends.ListRequest{Scope: c.scope, Cursor: cursor})
		if err != nil {
			return nil, c.explain(err)
		}
		for i := range page.Memories {
			add(memoryURI, page.Memories[i].ID, page.Memories[i].Text)
		}
		if res.NextCursor = page.Next; page.Next != "" {
			return res, nil
		}
		cursor = ""
	}
	if w := s.cfg.Memory.Window(); w != nil && (c.scope.UserID != "" || c.scope.AgentID != "") {
		page, err := w.Sessions().List(c, c.scope, store.Page{Cursor: cursor})
		if err != nil {
			return nil, c.explain(err)
		}
		for i := range page.Sessions {
			add(sessionURI, page.Sessions[i].ID, page.Sessions[i].Title)
		}
		if page.Next != "" {
			res.NextCursor = sessionURI + page.Next
		}
	}
	return res, nil
}
