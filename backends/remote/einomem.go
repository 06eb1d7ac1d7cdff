// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/einomem/einomem/backends"
)

// Einomem is a backend on another einomem, served by package toolkit/rest. It has all that a
// backend there has: it implements backends.Manager, backends.EntityLister and
// backends.Forgetter. It is safe for concurrent use.
type Einomem struct{ *frame }

var (
	_ backends.Manager      = (*Einomem)(nil)
	_ backends.EntityLister = (*Einomem)(nil)
	_ backends.Forgetter    = (*Einomem)(nil)
)

// NewEinomem returns a backend on the server of cfg.BaseURL. It makes no request yet. A
// malformed config is ErrInvalid. Of cfg, Name, Platform, Outcome and Redact are not used.
func NewEinomem(cfg *Config) (*Einomem, error) {
	f := newFrame("einomem", cfg)
	return &Einomem{f}, f.connect("Authorization", "Bearer ")
}

// ask checks a scope, which the body has, too, and sends the request.
func (e *Einomem) ask(ctx context.Context, s backends.Scope, c call) error {
	s, err := s.Normalize()
	if err == nil && s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		err = backends.ErrNoScope
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", e.name, c.doing, err)
	}
	if c.method != http.MethodPost { // else the scope is in the body
		c.query = url.Values{}
		for name, id := range map[string]string{"namespace": s.Namespace, "user_id": s.UserID, "agent_id": s.AgentID, "workspace": s.Workspace, "session_id": s.SessionID} {
			if id != "" {
				c.query.Set(name, id)
			}
		}
	}
	if c.id != "" {
		c.path = "/api/v1/memories/" + url.PathEscape(c.id) + c.path
	}
	return e.do(ctx, c)
}

// Search implements backends.Backend. What is not learnt yet goes along, and is ranked there.
func (e *Einomem) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil {
		return nil, e.errorf("searching", backends.ErrInvalid, "no request")
	}
	var out struct {
		backends.SearchResponse
		Degraded string
	}
	err := e.ask(ctx, r.Scope, call{doing: "searching", method: http.MethodPost, path: "/api/v1/search", body: r, out: &out})
	if err != nil {
		return nil, err
	}
	if out.Degraded != "" {
		out.SearchResponse.Degraded = errors.New(out.Degraded)
	}
	return &out.SearchResponse, nil
}

// Add implements backends.Backend. With an IdempotencyKey a repeat is harmless.
func (e *Einomem) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, e.errorf("learning", backends.ErrInvalid, "no request")
	}
	var out struct {
		backends.AddResponse
		Items []struct {
			backends.Item
			Error string
		}
	}
	err := e.ask(ctx, r.Scope, call{doing: "learning", method: http.MethodPost, path: "/api/v1/add", body: r, out: &out, slow: true, once: r.IdempotencyKey == ""})
	if err != nil {
		return nil, err
	}
	for _, i := range out.Items {
		if i.Error != "" {
			i.Err = errors.New(i.Error)
		}
		out.AddResponse.Items = append(out.AddResponse.Items, i.Item)
	}
	return &out.AddResponse, nil
}

// Get implements backends.Manager.
func (e *Einomem) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	out := new(backends.Memory)
	return out, e.ask(ctx, r.Scope, call{doing: "reading", method: http.MethodGet, id: r.ID, out: out})
}

// List implements backends.Manager.
func (e *Einomem) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	out := new(backends.ListResponse)
	return out, e.ask(ctx, r.Scope, call{doing: "listing", method: http.MethodPost, path: "/api/v1/list", body: r, out: out})
}

// Update implements backends.Manager.
func (e *Einomem) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	out := new(backends.Memory)
	return out, e.ask(ctx, r.Scope, call{doing: "updating", method: http.MethodPatch, id: r.ID, body: r, out: out})
}

// Delete implements backends.Manager.
func (e *Einomem) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r.Version != 0 {
		return e.errorf("deleting", backends.ErrInvalid, "Version is not offered")
	}
	return e.ask(ctx, r.Scope, call{doing: "deleting", method: http.MethodDelete, id: r.ID})
}

// DeleteAll implements backends.Manager.
func (e *Einomem) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	var out struct{ Count int }
	if r.Filter != nil {
		err := e.ask(ctx, r.Scope, call{doing: "deleting", method: http.MethodPost, path: "/api/v1/delete", body: r, out: &out})
		return out.Count, err
	}
	receipt, err := e.Forget(ctx, &backends.ForgetRequest{Scope: r.Scope})
	if err != nil {
		return 0, err
	}
	return receipt.Memories, nil
}

// History implements backends.Manager.
func (e *Einomem) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	var out struct{ Events []backends.Event }
	err := e.ask(ctx, r.Scope, call{doing: "reading the history", method: http.MethodGet, id: r.ID, path: "/history", out: &out})
	return out.Events, err
}

// Entities implements backends.EntityLister.
func (e *Einomem) Entities(ctx context.Context, s backends.Scope) ([]backends.Entity, error) {
	var out struct{ Entities []backends.Entity }
	err := e.ask(ctx, s, call{doing: "listing entities", method: http.MethodGet, path: "/api/v1/entities", out: &out})
	return out.Entities, err
}

// Forget implements backends.Forgetter, for what the server has: a log of this process is for
// its middleware to forget.
func (e *Einomem) Forget(ctx context.Context, r *backends.ForgetRequest) (*backends.Receipt, error) {
	out := new(backends.Receipt)
	return out, e.ask(ctx, r.Scope, call{doing: "forgetting", method: http.MethodPost, path: "/api/v1/forget", body: r, out: out, slow: true})
}
