// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/einomem/einomem/backends"
)

// Einomem is a backend on another einomem, served by package toolkit/server/rest. It has all that a
// backend there has: it implements backends.Manager, backends.EntityLister and
// backends.Forgetter. It is safe for concurrent use.
type Einomem struct{ *frame }

// NewEinomem returns a backend on the server of cfg.BaseURL, and connects with the first call. A
// malformed config is ErrInvalid. It ignores Name, OnError, Clock and Platform of cfg.
func NewEinomem(cfg *Config) (*Einomem, error) {
	e := &Einomem{newFrame("einomem", cfg)}
	return e, e.connect("Authorization", "Bearer ")
}

// Search implements backends.Backend. Words that wait for learning go along, and are ranked
// there. If the server is down they are ranked here, with Degraded.
func (e *Einomem) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	out, failed := find(ctx, e.frame, func(ctx context.Context) (*backends.SearchResponse, error) { return e.search(ctx, r) })
	if failed == nil || hides(failed, r) {
		return out, failed
	}
	p, err := e.whose(r.Scope)
	if err != nil {
		return nil, err
	}
	if out, err = e.notLearnt(ctx, p, r); err == nil {
		out.Degraded = failed
	}
	return out, err
}

func (e *Einomem) search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	out, err := ask[struct {
		backends.SearchResponse
		Degraded string
	}](ctx, e, r.Scope, call{doing: "searching", method: http.MethodPost, path: "/search", in: r})
	if out != nil && out.Degraded != "" {
		out.SearchResponse.Degraded = errors.New(out.Degraded)
	}
	if err != nil {
		return nil, err
	}
	return &out.SearchResponse, nil
}

// Add implements backends.Backend. With an IdempotencyKey a repeat is harmless.
func (e *Einomem) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if err := e.up(ctx, func(ctx context.Context) error {
		_, err := e.search(ctx, &backends.SearchRequest{Scope: r.Scope})
		return err
	}); err != nil {
		return nil, err
	}
	out, err := ask[struct {
		backends.AddResponse
		Items []struct {
			backends.Item
			Error string
		}
	}](ctx, e, r.Scope, call{doing: "learning", method: http.MethodPost, path: "/add", in: r, learns: true})
	if err != nil {
		return nil, err // a response beside an error says that a part is stored
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
	return ask[backends.Memory](ctx, e, r.Scope, call{doing: "reading", method: http.MethodGet, path: memory(r.ID)})
}

// List implements backends.Manager.
func (e *Einomem) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	return ask[backends.ListResponse](ctx, e, r.Scope, call{doing: "listing", method: http.MethodPost, path: "/list", in: r})
}

// Update implements backends.Manager.
func (e *Einomem) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	return ask[backends.Memory](ctx, e, r.Scope, call{doing: "updating", method: http.MethodPatch, path: memory(r.ID), in: r})
}

// Delete implements backends.Manager.
func (e *Einomem) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r.Version != 0 {
		return e.errorf("deleting", backends.ErrInvalid, "Version is not offered")
	}
	c := call{doing: "deleting", method: http.MethodDelete, path: memory(r.ID)}
	if r.Erase {
		c.query = url.Values{"erase": {"true"}}
	}
	_, err := ask[struct{}](ctx, e, r.Scope, c)
	return err
}

// DeleteAll implements backends.Manager.
func (e *Einomem) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	if r.Filter == nil {
		receipt, err := e.Forget(ctx, &backends.ForgetRequest{Scope: r.Scope})
		return receipt.Memories, err
	}
	out, err := ask[struct{ Count int }](ctx, e, r.Scope, call{doing: "deleting", method: http.MethodPost, path: "/delete", in: r})
	return out.Count, err
}

// History implements backends.Manager.
func (e *Einomem) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	c := call{doing: "reading the history", method: http.MethodGet, path: memory(r.ID) + "/history"}
	out, err := ask[struct{ Events []backends.Event }](ctx, e, r.Scope, c)
	return out.Events, err
}

// Entities implements backends.EntityLister.
func (e *Einomem) Entities(ctx context.Context, s backends.Scope) ([]backends.Entity, error) {
	c := call{doing: "listing entities", method: http.MethodGet, path: "/entities"}
	out, err := ask[struct{ Entities []backends.Entity }](ctx, e, s, c)
	return out.Entities, err
}

// Forget implements backends.Forgetter, for the server's data. The middleware of this process
// forgets its own log.
func (e *Einomem) Forget(ctx context.Context, r *backends.ForgetRequest) (*backends.Receipt, error) {
	c := call{doing: "forgetting", method: http.MethodPost, path: "/forget", in: r, learns: true}
	return ask[backends.Receipt](ctx, e, r.Scope, c)
}

// Rollback implements backends.Rollbacker.
func (e *Einomem) Rollback(ctx context.Context, r *backends.RollbackRequest) (*backends.RollbackReport, error) {
	c := call{doing: "rolling back", method: http.MethodPost, path: "/rollback", in: r, learns: true}
	return ask[backends.RollbackReport](ctx, e, r.Scope, c)
}

// memory returns the path of a memory.
func memory(id string) string { return "/memories/" + url.PathEscape(id) }

// ask makes a call with its scope in the body, or else in the address. The answer is never
// nil.
func ask[T any](ctx context.Context, e *Einomem, s backends.Scope, c call) (*T, error) {
	out := new(T)
	if _, err := s.Owner(); err != nil {
		return out, err
	}
	if c.method != http.MethodPost {
		query := url.Values{
			"namespace": {s.Namespace}, "workspace": {s.Workspace},
			"user_id": {s.UserID}, "agent_id": {s.AgentID}, "session_id": {s.SessionID},
		}
		maps.Copy(query, c.query)
		c.query = query
	}
	c.path, c.out = "/api/v1"+c.path, out
	return out, e.do(ctx, c)
}
