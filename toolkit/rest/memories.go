// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net/http"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/access"
)

// scopeQuery is a scope as parameters of an address.
type scopeQuery struct {
	Scope backends.Scope `json:"-" query:"scope"`
}

func (s scopeQuery) scope() backends.Scope { return s.Scope }

type idQuery struct {
	scopeQuery
	ID string `json:"-" path:"id"`
}

// updateRequest has the scope and the id in the address.
type updateRequest struct {
	Scope backends.Scope `json:"-" query:"scope"`
	ID    string         `json:"-" path:"id"`
	backends.UpdateRequest
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
	scoped(h, "POST search", "Memories that answer a query, best first.", read, (*call).search)
	scoped(h, "POST add", "Learn from messages.", long, func(c *call, in *backends.AddRequest) (*addResponse, error) {
		out, err := m.Backend().Add(c, in)
		if err != nil {
			return nil, err
		}
		return addResponseOf(out), nil
	})
	scoped(h, "POST forget", "Erase all of a person, or a part of what they said.", long, (*call).forgetPerson)
	scoped(h, "GET export", "All that is held of a person, one JSON value a line.", traits{stream: true}, (*call).export)
	scoped(h, "POST import", "Read what an export wrote.", traits{stream: true, write: true},
		func(c *call, in *scopeQuery) (store.TransferCount, error) { return m.Import(c, in.Scope, c.r.Body) })

	if lister, ok := backends.As[backends.EntityLister](m.Backend()); ok {
		list(h, "entities", "GET entities", "Whom and what the memories are about.",
			func(c *call, in *scopeQuery) ([]backends.Entity, error) { return lister.Entities(c, in.Scope) })
	}
	manager, err := access.Manager(m)
	if err != nil {
		return
	}
	scoped(h, "POST list", "A page of memories, in the order in which they were stored.", read,
		func(c *call, in *backends.ListRequest) (*backends.ListResponse, error) {
			out, err := manager.List(c, in)
			if err == nil {
				out.Memories = orEmpty(out.Memories)
			}
			return out, err
		})
	scoped(h, "GET memories/{id}", "One memory, also one that holds no more.", read,
		func(c *call, in *idQuery) (*backends.Memory, error) {
			return manager.Get(c, &backends.GetRequest{Scope: in.Scope, ID: in.ID})
		})
	list(h, "events", "GET memories/{id}/history", "What happened to a memory, with those that it superseded.",
		func(c *call, in *idQuery) ([]backends.Event, error) {
			return manager.History(c, &backends.HistoryRequest{Scope: in.Scope, ID: in.ID})
		})
	scoped(h, "PATCH memories/{id}", "Change a memory; its former text stays in the history.", write,
		func(c *call, in *updateRequest) (*backends.Memory, error) {
			in.UpdateRequest.Scope, in.UpdateRequest.ID = in.Scope, in.ID
			return manager.Update(c, &in.UpdateRequest)
		})
	scoped(h, "DELETE memories/{id}", "Delete a memory; its history stays.", write,
		func(c *call, in *idQuery) (countResponse, error) {
			return countResponse{1}, manager.Delete(c, &backends.DeleteRequest{Scope: in.Scope, ID: in.ID})
		})
	scoped(h, "POST delete", "Delete the memories that a filter matches.", write,
		func(c *call, in *backends.DeleteAllRequest) (countResponse, error) {
			if in.Filter == nil {
				return countResponse{}, fmt.Errorf("%w: there is no filter; to erase all there is /api/v1/forget", backends.ErrInvalid)
			}
			n, err := manager.DeleteAll(c, in)
			return countResponse{n}, err
		})
}

func (c *call) search(in *backends.SearchRequest) (*searchResponse, error) {
	out, err := access.Search(c, c.cfg.Memory, in)
	if err != nil {
		return nil, err
	}
	r := &searchResponse{SearchResponse: backends.SearchResponse{Hits: orEmpty(out.Hits)}}
	if out.Degraded != nil {
		_, _, r.Degraded = statusOf(out.Degraded)
	}
	return r, nil
}

func (c *call) forgetPerson(in *backends.ForgetRequest) (receipt *backends.Receipt, err error) {
	if p, err := in.Scope.Speaker(); err == nil && c.cfg.Notes != nil {
		c.cfg.Notes.forget(p)
	}
	if in.Part != nil {
		receipt, err = c.cfg.Memory.ForgetPart(c, in.Scope, in.Part)
	} else {
		receipt, err = c.cfg.Memory.Forget(c, in.Scope)
	}
	if receipt != nil {
		receipt.Outside = nil // it names files of the server
	}
	return receipt, err
}

// export writes its answer piece by piece. A failure after the first piece cuts the
// connection, so that no caller takes a part for the whole.
func (c *call) export(in *scopeQuery) (any, error) {
	c.w.Header().Set("Content-Type", "application/jsonl")
	_, err := c.cfg.Memory.Export(c, in.Scope, c)
	if err != nil && c.written {
		c.cfg.Log.ErrorContext(c, "rest: stream failed", "endpoint", c.route.pattern, "error", err)
		return nil, http.ErrAbortHandler
	}
	return nil, err
}

// Write implements io.Writer for an answer that is a stream.
func (c *call) Write(b []byte) (int, error) {
	c.written = true
	return c.w.Write(b)
}
