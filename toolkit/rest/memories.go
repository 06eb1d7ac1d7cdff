// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/access"
)

// scopeQuery is a scope as parameters of an address.
type scopeQuery struct {
	Scope backends.Scope `json:"-" query:"scope"`
}

type idQuery struct {
	scopeQuery
	ID string `json:"-" path:"id"`
}

// searchResponse is what a search answers.
type searchResponse struct {
	backends.SearchResponse
	Degraded string `json:"degraded,omitempty"`
}

// addResponse is what an add answers.
type addResponse struct {
	backends.AddResponse
	Items []item `json:"items"`
}

type item struct {
	backends.Item
	Error string `json:"error,omitempty"`
}

func addResponseOf(r *backends.AddResponse) *addResponse {
	out := &addResponse{AddResponse: *r, Items: make([]item, len(r.Items))}
	for i, x := range r.Items {
		out.Items[i].Item = x
		if x.Err != nil {
			_, _, out.Items[i].Error = statusOf(x.Err)
		}
	}
	return out
}

type countResponse struct {
	Count int `json:"count"`
}

// memoryRoutes are the endpoints of memories, and of a person's as a whole.
func (h *Handler) memoryRoutes() {
	m, read, write, long := h.cfg.Memory, traits{}, traits{write: true}, traits{write: true, long: true}
	scoped(h, "POST search", "Memories that answer a query, best first.", read, h.search)
	scoped(h, "POST add", "Learn from messages.", long, func(ctx context.Context, in *backends.AddRequest) (*addResponse, error) {
		out, err := m.Backend().Add(ctx, in)
		if err != nil {
			return nil, err
		}
		return addResponseOf(out), nil
	})
	scoped(h, "POST forget", "Erase all of a person, or a part of what they said.", long, h.erase)
	add(h, own, "GET /api/v1/export", "All that is held of a person, one JSON value a line.", traits{stream: true}, (*call).export)
	add(h, own, "POST /api/v1/import", "Read what an export wrote.", traits{stream: true, write: true}, (*call).load)

	if lister, ok := backends.As[backends.EntityLister](m.Backend()); ok {
		list(h, "entities", "GET entities", "Whom and what the memories are about.",
			func(ctx context.Context, in *scopeQuery) ([]backends.Entity, error) {
				return lister.Entities(ctx, in.Scope)
			})
	}
	manager, err := access.Manager(m)
	if err != nil {
		return
	}
	scoped(h, "POST list", "A page of memories, in the order in which they were stored.", read,
		func(ctx context.Context, in *backends.ListRequest) (*backends.ListResponse, error) {
			out, err := manager.List(ctx, in)
			if err == nil {
				out.Memories = orEmpty(out.Memories)
			}
			return out, err
		})
	scoped(h, "GET memories/{id}", "One memory, also one that holds no more.", read, manager.Get)
	list(h, "events", "GET memories/{id}/history", "What happened to a memory, with those that it superseded.", manager.History)
	scoped(h, "PATCH memories/{id}", "Change a memory; its former text stays in the history.", write, manager.Update)
	scoped(h, "DELETE memories/{id}", "Delete a memory; its history stays.", write,
		func(ctx context.Context, in *idQuery) (countResponse, error) {
			return countResponse{1}, manager.Delete(ctx, &backends.DeleteRequest{Scope: in.Scope, ID: in.ID})
		})
	scoped(h, "POST delete", "Delete the memories that a filter matches.", write,
		func(ctx context.Context, in *backends.DeleteAllRequest) (countResponse, error) {
			if in.Filter == nil {
				return countResponse{}, fmt.Errorf("%w: there is no filter; to erase all there is /api/v1/forget", backends.ErrInvalid)
			}
			n, err := manager.DeleteAll(ctx, in)
			return countResponse{n}, err
		})
}

func (h *Handler) search(ctx context.Context, in *backends.SearchRequest) (*searchResponse, error) {
	found, err := access.Search(ctx, h.cfg.Memory, in)
	if err != nil {
		return nil, err
	}
	out := &searchResponse{SearchResponse: backends.SearchResponse{Hits: orEmpty(found.Hits)}}
	if found.Degraded != nil {
		_, _, out.Degraded = statusOf(found.Degraded)
	}
	return out, nil
}

func (h *Handler) erase(ctx context.Context, in *backends.ForgetRequest) (receipt *backends.Receipt, err error) {
	if p, err := in.Scope.Speaker(); err == nil && h.cfg.Notes != nil {
		h.cfg.Notes.forget(p)
	}
	if in.Part != nil {
		receipt, err = h.cfg.Memory.ForgetPart(ctx, in.Scope, in.Part)
	} else {
		receipt, err = h.cfg.Memory.Forget(ctx, in.Scope)
	}
	if receipt != nil {
		receipt.Outside = nil // it names files of the server
	}
	return receipt, err
}

func (c *call) export(in *scopeQuery) (any, error) {
	s, err := c.open(in.Scope, false)
	if err == nil {
		c.w.Header().Set("Content-Type", "application/jsonl")
		_, err = c.cfg.Memory.Export(c, s, c)
	}
	return nil, err
}

func (c *call) load(in *scopeQuery) (count store.TransferCount, err error) {
	s, err := c.open(in.Scope, true)
	if err == nil {
		count, err = c.cfg.Memory.Import(c, s, c.r.Body, nil)
	}
	return count, err
}
