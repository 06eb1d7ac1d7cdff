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
	"github.com/einomem/einomem/toolkit/server/access"
)

// session is a line of the list of sessions.
type session struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// resources serves memories and sessions.
func (s *Server) resources() {
	if _, ok := backends.As[backends.Manager](s.cfg.Memory.Backend()); ok {
		s.resource("memories", "memories, at most 1,000: list_memories goes on from its next", func(c *call, id string) (any, error) {
			if id == "" {
				return c.Manager.List(c, &backends.ListRequest{Scope: c.Scope, Limit: 1000})
			}
			return c.Manager.Get(c, &backends.GetRequest{Scope: c.Scope, ID: id})
		})
	}
	if access.WindowOf(s.cfg.Memory) != nil {
		s.resource("sessions", "sessions; of one, its last 1,000 messages", func(c *call, id string) (any, error) {
			scope, w := c.Scope, c.Window()
			if scope.SessionID = id; id == "" {
				return c.sessions()
			}
			if _, err := w.Sessions().Get(c, scope); err != nil {
				return nil, err
			}
			return w.Sessions().Read(c, scope, store.Range{Last: true})
		})
	}
}

// sessions returns all sessions, in the order in which they began.
func (c *call) sessions() ([]session, error) {
	all := []session{}
	for page := (store.Page{Limit: 1000}); ; {
		found, err := c.Window().Sessions().List(c, c.Scope, page)
		if err != nil {
			return nil, err
		}
		for _, x := range found.Sessions {
			all = append(all, session{x.ID, x.Title})
		}
		if page.Cursor = found.Next; found.Next == "" {
			return all, nil
		}
	}
}

// resource serves the list of a kind as memory://KIND, and one item as memory://KIND/ID, with the
// id percent-encoded: both as JSON. Missing and foreign items are not found.
func (s *Server) resource(kind, what string, get func(c *call, id string) (any, error)) {
	const mimeJSON = "application/json"
	uri := "memory://" + kind
	read := func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c, err := s.call(ctx, "resources/read")
		if err != nil {
			return nil, err
		}
		id, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(r.Params.URI, uri), "/"))
		if err != nil {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		var v any
		err = c.do(access.Read, func() error {
			v, err = get(c, id)
			return err
		})
		switch {
		case errors.Is(err, backends.ErrNotFound), errors.Is(err, backends.ErrInvalid):
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		case err != nil:
			return nil, c.explain(err)
		}
		raw, err := json.Marshal(v)
		text := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: mimeJSON, Text: string(raw)}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{text}}, err
	}
	s.mcp.AddResource(&sdk.Resource{Name: kind, Description: "All " + what + ".", URI: uri, MIMEType: mimeJSON}, read)
	one := &sdk.ResourceTemplate{Name: kind + " by id", Description: "One of the " + what + ".", URITemplate: uri + "/{id}", MIMEType: mimeJSON}
	s.mcp.AddResourceTemplate(one, read)
}
