// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/access"
)

// scopeQuery is a scope as parameters of an address.
type scopeQuery struct {
	Namespace string `json:"-" query:"namespace"`
	UserID    string `json:"-" query:"user_id"`
	AgentID   string `json:"-" query:"agent_id"`
	Workspace string `json:"-" query:"workspace"`
	SessionID string `json:"-" query:"session_id"`
}

func (s scopeQuery) scope() backends.Scope {
	return backends.Scope{Namespace: s.Namespace, UserID: s.UserID, AgentID: s.AgentID, Workspace: s.Workspace, SessionID: s.SessionID}
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
	out := &addResponse{AddResponse: *r, Items: make([]item, 0, len(r.Items))}
	for _, i := range r.Items {
		x := item{Item: i}
		if i.Err != nil {
			_, _, x.Error = statusOf(i.Err)
		}
		out.Items = append(out.Items, x)
	}
	return out
}

type idQuery struct {
	scopeQuery
	ID string `json:"-" path:"id"`
}

// updateRequest has the scope and the id in the address.
type updateRequest struct {
	idQuery
	backends.UpdateRequest
}

type (
	historyResponse struct {
		Events []backends.Event `json:"events"`
	}
	entitiesResponse struct {
		Entities []backends.Entity `json:"entities"`
	}
	countResponse struct {
		Count int `json:"count"`
	}
)

// memories are the endpoints of single memories, and of a person's as a whole.
func (h *Handler) memories() {
	m := h.cfg.Memory
	read, write := traits{}, traits{write: true}
	add(h, own, "POST /api/v1/search", "Memories that answer a query, best first.", read, func(c *call, in *backends.SearchRequest) (_ *searchResponse, err error) {
		if in.Scope, err = c.open(in.Scope, false); err != nil {
			return nil, err
		}
		out, err := access.Search(c, m, in)
		if err != nil {
			return nil, err
		}
		r := &searchResponse{SearchResponse: backends.SearchResponse{Hits: orEmpty(out.Hits)}}
		if out.Degraded != nil {
			_, _, r.Degraded = statusOf(out.Degraded)
		}
		return r, nil
	})
	add(h, own, "POST /api/v1/add", "Learn from messages.", traits{write: true, long: true}, func(c *call, in *backends.AddRequest) (_ *addResponse, err error) {
		if in.Scope, err = c.open(in.Scope, true); err != nil {
			return nil, err
		}
		out, err := m.Backend().Add(c, in)
		if err != nil {
			return nil, err
		}
		return addResponseOf(out), nil
	})
	add(h, own, "POST /api/v1/list", "A page of memories, in the order in which they were stored.", read, func(c *call, in *backends.ListRequest) (*backends.ListResponse, error) {
		manager, s, err := c.manager(in.Scope, false)
		if err != nil {
			return nil, err
		}
		in.Scope = s
		out, err := manager.List(c, in)
		if err != nil {
			return nil, err
		}
		out.Memories = orEmpty(out.Memories)
		return out, nil
	})
	add(h, own, "GET /api/v1/memories/{id}", "One memory, also one that holds no more.", read, func(c *call, in *idQuery) (*backends.Memory, error) {
		manager, s, err := c.manager(in.scope(), false)
		if err != nil {
			return nil, err
		}
		return manager.Get(c, &backends.GetRequest{Scope: s, ID: in.ID})
	})
	add(h, own, "GET /api/v1/memories/{id}/history", "What happened to a memory, with those that it superseded.", read, func(c *call, in *idQuery) (*historyResponse, error) {
		manager, s, err := c.manager(in.scope(), false)
		if err != nil {
			return nil, err
		}
		events, err := manager.History(c, &backends.HistoryRequest{Scope: s, ID: in.ID})
		return &historyResponse{orEmpty(events)}, err
	})
	add(h, own, "PATCH /api/v1/memories/{id}", "Change a memory; its former text stays in the history.", write, func(c *call, in *updateRequest) (*backends.Memory, error) {
		manager, s, err := c.manager(in.scope(), true)
		if err != nil {
			return nil, err
		}
		in.Scope, in.UpdateRequest.ID = s, in.idQuery.ID
		return manager.Update(c, &in.UpdateRequest)
	})
	add(h, own, "DELETE /api/v1/memories/{id}", "Delete a memory; its history stays.", write, func(c *call, in *idQuery) (*countResponse, error) {
		manager, s, err := c.manager(in.scope(), true)
		if err != nil {
			return nil, err
		}
		return &countResponse{1}, manager.Delete(c, &backends.DeleteRequest{Scope: s, ID: in.ID})
	})
	add(h, own, "POST /api/v1/delete", "Delete the memories that a filter matches.", write, func(c *call, in *backends.DeleteAllRequest) (*countResponse, error) {
		manager, s, err := c.manager(in.Scope, true)
		if err != nil {
			return nil, err
		}
		if in.Scope = s; in.Filter == nil {
			return nil, errNoFilter
		}
		n, err := manager.DeleteAll(c, in)
		return &countResponse{n}, err
	})
	add(h, own, "GET /api/v1/entities", "Whom and what the memories are about.", read, func(c *call, in *scopeQuery) (*entitiesResponse, error) {
		s, err := c.open(in.scope(), false)
		if err != nil {
			return nil, err
		}
		lister, ok := backends.As[backends.EntityLister](m.Backend())
		if !ok {
			return nil, notOffered("entities")
		}
		out, err := lister.Entities(c, s)
		return &entitiesResponse{orEmpty(out)}, err
	})
	add(h, own, "POST /api/v1/forget", "Erase all of a person, or a part of what they said.", traits{write: true, long: true}, func(c *call, in *backends.ForgetRequest) (*backends.Receipt, error) {
		s, err := c.open(in.Scope, true)
		if err != nil {
			return nil, err
		}
		if p, err := s.Speaker(); err == nil && h.cfg.Notes != nil {
			h.cfg.Notes.forget(p)
		}
		var receipt *backends.Receipt
		if in.Part != nil {
			receipt, err = m.ForgetPart(c, s, in.Part)
		} else {
			receipt, err = m.Forget(c, s)
		}
		if receipt != nil {
			receipt.Outside = nil // it names files of the server
		}
		return receipt, err
	})
	add(h, own, "GET /api/v1/export", "All that is held of a person, one JSON value a line.", traits{stream: true}, func(c *call, in *scopeQuery) (any, error) {
		s, err := c.open(in.scope(), false)
		if err != nil {
			return nil, err
		}
		c.w.Header().Set("Content-Type", "application/jsonl")
		return nil, c.streamed(func(w io.Writer) error { _, err := m.Export(c, s, w); return err })
	})
	add(h, own, "POST /api/v1/import", "Read what an export wrote.", traits{stream: true, write: true}, func(c *call, in *scopeQuery) (*store.TransferCount, error) {
		s, err := c.open(in.scope(), true)
		if err != nil {
			return nil, err
		}
		n, err := m.Import(c, s, c.r.Body)
		return &n, err
	})
}

// manager opens the scope, and returns what changes single memories.
func (c *call) manager(s backends.Scope, write bool) (backends.Manager, backends.Scope, error) {
	s, err := c.open(s, write)
	if err != nil {
		return nil, s, err
	}
	manager, err := access.Manager(c.cfg.Memory)
	return manager, s, err
}
