// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"io"
	"time"

	"github.com/cloudwego/eino/schema"

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

// SearchRequest is [backends.SearchRequest] as JSON. Filter is in the grammar of
// [backends.ParseFilter].
type SearchRequest struct {
	Scope             backends.Scope  `json:"scope"`
	Query             string          `json:"query"`
	TopK              int             `json:"top_k,omitempty"`
	Threshold         float64         `json:"threshold,omitempty"`
	Kinds             []backends.Kind `json:"kinds,omitempty"`
	Filter            map[string]any  `json:"filter,omitempty"`
	AsOf              time.Time       `json:"as_of,omitzero"`
	KnownAt           time.Time       `json:"known_at,omitzero"`
	IncludeSuperseded bool            `json:"include_superseded,omitempty"`
	IncludeExpired    bool            `json:"include_expired,omitempty"`
	WithSources       bool            `json:"with_sources,omitempty"`
	Diversity         float64         `json:"diversity,omitempty"`
	NoModel           bool            `json:"no_model,omitempty"`
}

// SearchResponse is [backends.SearchResponse] as JSON.
type SearchResponse struct {
	Hits     []backends.Hit `json:"hits"`
	Degraded string         `json:"degraded,omitempty"`
}

// Message is a message of a conversation.
type Message struct {
	ID      string    `json:"id,omitempty"`
	Turn    string    `json:"turn,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Role    string    `json:"role"` // user, assistant, system or tool
	Name    string    `json:"name,omitempty"`
	Content string    `json:"content"`
}

func (m Message) message() backends.Message {
	return backends.Message{ID: m.ID, Turn: m.Turn, Time: m.Time,
		Message: &schema.Message{Role: schema.RoleType(m.Role), Name: m.Name, Content: m.Content}}
}

func messagesOf(in []Message) []backends.Message {
	out := make([]backends.Message, len(in))
	for i, m := range in {
		out[i] = m.message()
	}
	return out
}

// AddRequest is [backends.AddRequest] as JSON.
type AddRequest struct {
	Scope          backends.Scope `json:"scope"`
	Messages       []Message      `json:"messages"`
	Context        []Message      `json:"context,omitempty"`
	Verbatim       bool           `json:"verbatim,omitempty"`
	Kind           backends.Kind  `json:"kind,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	Expires        time.Time      `json:"expires,omitzero"`
	Instructions   string         `json:"instructions,omitempty"`
	Author         string         `json:"author,omitempty"`
	IdempotencyKey string         `json:"idempotency_key,omitempty"`
}

// AddResponse is [backends.AddResponse] as JSON.
type AddResponse struct {
	Items    []Item         `json:"items"`
	Usage    backends.Usage `json:"usage"`
	Replayed bool           `json:"replayed,omitempty"`
}

// Item is [backends.Item] as JSON.
type Item struct {
	Outcome  backends.Outcome `json:"outcome"`
	Memory   backends.Memory  `json:"memory"`
	Previous *backends.Memory `json:"previous,omitempty"`
	Error    string           `json:"error,omitempty"`
}

func addResponse(r *backends.AddResponse) AddResponse {
	out := AddResponse{Items: make([]Item, 0, len(r.Items)), Usage: r.Usage, Replayed: r.Replayed}
	for _, i := range r.Items {
		item := Item{Outcome: i.Outcome, Memory: i.Memory, Previous: i.Previous}
		if i.Err != nil {
			_, _, item.Error = statusOf(i.Err)
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// ListRequest is [backends.ListRequest] as JSON.
type ListRequest struct {
	Scope             backends.Scope  `json:"scope"`
	Kinds             []backends.Kind `json:"kinds,omitempty"`
	Filter            map[string]any  `json:"filter,omitempty"`
	IncludeSuperseded bool            `json:"include_superseded,omitempty"`
	IncludeExpired    bool            `json:"include_expired,omitempty"`
	Limit             int             `json:"limit,omitempty"`
	Cursor            string          `json:"cursor,omitempty"`
}

// ListResponse is [backends.ListResponse] as JSON.
type ListResponse struct {
	Memories []backends.Memory `json:"memories"`
	Next     string            `json:"next,omitempty"`
}

type idQuery struct {
	scopeQuery
	ID string `json:"-" path:"id"`
}

// UpdateRequest is [backends.UpdateRequest] as JSON; the scope and the id are in the address.
type UpdateRequest struct {
	idQuery
	Text     *string        `json:"text,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Expires  *time.Time     `json:"expires,omitempty"`
	Quality  *float64       `json:"quality,omitempty"`
	Version  int64          `json:"version,omitempty"`
}

// DeleteAllRequest is [backends.DeleteAllRequest] as JSON. It requires a filter: to forget all
// there is an endpoint of its own.
type DeleteAllRequest struct {
	Scope  backends.Scope `json:"scope"`
	Filter map[string]any `json:"filter"`
}

// ForgetRequest asks to erase all of a person, or the part that is named.
type ForgetRequest struct {
	Scope backends.Scope `json:"scope"`
	Part  *struct {
		Session  *string   `json:"session,omitempty"`
		Messages []string  `json:"messages,omitempty"`
		From     time.Time `json:"from,omitzero"`
		To       time.Time `json:"to,omitzero"`
	} `json:"part,omitempty"`
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
	add(h, own, "POST /api/v1/search", "Memories that answer a query, best first.", read, func(c *call, in *SearchRequest) (*SearchResponse, error) {
		return c.search(in)
	})
	add(h, own, "POST /api/v1/add", "Learn from messages.", traits{write: true, long: true}, func(c *call, in *AddRequest) (*AddResponse, error) {
		s, err := c.open(in.Scope, true)
		if err != nil {
			return nil, err
		}
		out, err := m.Backend().Add(c, &backends.AddRequest{Scope: s, Messages: messagesOf(in.Messages), Context: messagesOf(in.Context),
			Verbatim: in.Verbatim, Kind: in.Kind, Metadata: in.Metadata, Expires: in.Expires, Instructions: in.Instructions,
			Author: in.Author, IdempotencyKey: in.IdempotencyKey})
		if err != nil {
			return nil, err
		}
		r := addResponse(out)
		return &r, nil
	})
	add(h, own, "POST /api/v1/list", "A page of memories, in the order in which they were stored.", read, func(c *call, in *ListRequest) (*ListResponse, error) {
		manager, s, err := c.manager(in.Scope, false)
		if err != nil {
			return nil, err
		}
		filter, err := backends.ParseFilter(in.Filter)
		if err != nil {
			return nil, err
		}
		out, err := manager.List(c, &backends.ListRequest{Scope: s, Kinds: in.Kinds, Filter: filter, IncludeSuperseded: in.IncludeSuperseded,
			IncludeExpired: in.IncludeExpired, Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		return &ListResponse{Memories: orEmpty(out.Memories), Next: out.Next}, nil
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
	add(h, own, "PATCH /api/v1/memories/{id}", "Change a memory; its former text stays in the history.", write, func(c *call, in *UpdateRequest) (*backends.Memory, error) {
		manager, s, err := c.manager(in.scope(), true)
		if err != nil {
			return nil, err
		}
		return manager.Update(c, &backends.UpdateRequest{Scope: s, ID: in.ID, Text: in.Text, Metadata: in.Metadata, Expires: in.Expires, Quality: in.Quality, Version: in.Version})
	})
	add(h, own, "DELETE /api/v1/memories/{id}", "Delete a memory; its history stays.", write, func(c *call, in *idQuery) (*countResponse, error) {
		manager, s, err := c.manager(in.scope(), true)
		if err != nil {
			return nil, err
		}
		return &countResponse{1}, manager.Delete(c, &backends.DeleteRequest{Scope: s, ID: in.ID})
	})
	add(h, own, "POST /api/v1/delete", "Delete the memories that a filter matches.", write, func(c *call, in *DeleteAllRequest) (*countResponse, error) {
		manager, s, err := c.manager(in.Scope, true)
		if err != nil {
			return nil, err
		}
		filter, err := backends.ParseFilter(in.Filter)
		if err != nil {
			return nil, err
		}
		if filter == nil {
			return nil, errEmptyFilter
		}
		n, err := manager.DeleteAll(c, &backends.DeleteAllRequest{Scope: s, Filter: filter})
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
	add(h, own, "POST /api/v1/forget", "Erase all of a person, or a part of what they said.", traits{write: true, long: true}, func(c *call, in *ForgetRequest) (*backends.Receipt, error) {
		s, err := c.open(in.Scope, true)
		if err != nil {
			return nil, err
		}
		if p, err := s.Speaker(); err == nil && h.cfg.Notes != nil {
			h.cfg.Notes.forget(p)
		}
		if p := in.Part; p != nil {
			return m.ForgetPart(c, s, &backends.Part{Session: p.Session, Messages: p.Messages, From: p.From, To: p.To})
		}
		return m.Forget(c, s)
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

func (c *call) search(in *SearchRequest) (*SearchResponse, error) {
	s, err := c.open(in.Scope, false)
	if err != nil {
		return nil, err
	}
	filter, err := backends.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	out, err := access.Search(c, c.cfg.Memory, &backends.SearchRequest{Scope: s, Query: in.Query, TopK: in.TopK, Threshold: in.Threshold,
		Kinds: in.Kinds, Filter: filter, AsOf: in.AsOf, KnownAt: in.KnownAt, IncludeSuperseded: in.IncludeSuperseded,
		IncludeExpired: in.IncludeExpired, WithSources: in.WithSources, Diversity: in.Diversity, NoModel: in.NoModel})
	if err != nil {
		return nil, err
	}
	r := &SearchResponse{Hits: orEmpty(out.Hits)}
	if out.Degraded != nil {
		_, _, r.Degraded = statusOf(out.Degraded)
	}
	return r, nil
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
