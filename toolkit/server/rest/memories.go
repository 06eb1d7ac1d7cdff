// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/server/access"
)

// scopeQuery is a scope as parameters of an address.
type scopeQuery struct {
	Scope backends.Scope `json:"-" query:"scope"`
}

type idQuery struct {
	scopeQuery
	ID string `json:"-" path:"id"`
}

type deleteQuery struct {
	idQuery
	Erase bool `json:"-" query:"erase" jsonschema:"its history, too, and the words of the turn that taught it"`
}

type deleteRequest struct {
	Scope backends.Scope `json:"scope"`
	IDs   []string       `json:"ids"`
	Erase bool           `json:"erase,omitempty" jsonschema:"their histories, too, and the words of the turns that taught them"`
}

// searchResponse is the answer of a search.
type searchResponse struct {
	backends.SearchResponse
	Degraded string `json:"degraded,omitempty"`
}

// addResponse is the answer of an add.
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

type previewRequest struct {
	Scope backends.Scope `json:"scope"`
	Query string         `json:"query" jsonschema:"the message"`
}

// previewResponse is the note for a message, and what the search found beside it.
type previewResponse struct {
	Text   string         `json:"text"`
	Hits   []backends.Hit `json:"hits"` // of the text
	Left   []leftOut      `json:"left"` // the best of what was left out
	Whole  bool           `json:"whole"`
	Tokens int            `json:"tokens"`
	Room   int            `json:"room"`
}

// mostLeft is how many of the best hits are looked at for what a note left out, and as many beside.
const mostLeft = 20

// leftOut is a hit that a note lacks, and why: "ended", "same" (a plan merged it into another
// memory), or a reason of [hooks.Preview.Why].
type leftOut struct {
	backends.Hit
	Reason string  `json:"reason"`
	Needs  float64 `json:"needs,omitempty"` // what would let it in: see [hooks.Preview.Why]
	Place  int     `json:"place"`           // among the answers, with those that ended
	Of     string  `json:"of,omitempty"`    // the memory that replaced it or says the same
}

type countResponse struct {
	Count int `json:"count"`
}

// memoryRoutes are the endpoints of memories, and of a person as a whole.
func (h *Handler) memoryRoutes() {
	read, write, long := traits{}, traits{mode: access.Write}, traits{mode: access.Write, long: true}
	scoped(h, "POST search", "Memories that answer a query, best first.", read, (*call).search)
	scoped(h, "POST preview", "The note that a message would get now, and what was left out.", read, (*call).preview)
	scoped(h, "POST add", "Learn from messages.", long, func(c *call, in *backends.AddRequest) (*addResponse, error) {
		out, err := c.Backend().Add(c, in)
		if err != nil {
			return nil, err
		}
		return addResponseOf(out), nil
	})
	scoped(h, "POST forget", "Erase all of a person, or a part of what they said.",
		traits{mode: access.Write | access.Whole, long: true},
		func(c *call, in *backends.ForgetRequest) (*backends.Receipt, error) {
			return c.Erase(c, in.Scope, in.Part)
		})
	if _, ok := backends.As[backends.Rollbacker](h.cfg.Memory.Backend()); ok {
		scoped(h, "POST rollback", "Take back what a session, messages or a source taught.", long,
			func(c *call, in *backends.RollbackRequest) (*backends.RollbackReport, error) {
				return c.Rollback(c, in)
			})
	}
	add(h, own, "GET /api/v1/export", "All that is held of a person, one JSON value a line.", traits{mode: access.Whole, stream: true}, (*call).export)
	add(h, own, "POST /api/v1/import", "Read what an export wrote.", traits{mode: access.Write | access.Whole, stream: true}, (*call).load)

	if _, ok := backends.As[backends.EntityLister](h.cfg.Memory.Backend()); ok {
		h.features = append(h.features, "entities")
		list(h, "entities", "GET entities", "Whom and what the memories are about.", func(c *call, in *scopeQuery) ([]backends.Entity, error) {
			lister, _ := backends.As[backends.EntityLister](c.Backend())
			return lister.Entities(c, in.Scope)
		})
	}
	if _, ok := backends.As[backends.Manager](h.cfg.Memory.Backend()); !ok {
		return
	}
	add(h, own, "GET /api/v1/retention", "What the rules of retention would erase in a namespace now. Nothing is erased.", traits{long: true}, (*call).retention)
	scoped(h, "POST list", "A page of memories, in the order in which they were stored, or the newest first.", read,
		func(c *call, in *backends.ListRequest) (*backends.ListResponse, error) {
			out, err := c.Manager.List(c, in)
			if err == nil {
				out.Memories = orEmpty(out.Memories)
			}
			return out, err
		})
	scoped(h, "GET memories/{id}", "One memory, also one that holds no more.", read,
		func(c *call, in *backends.GetRequest) (*backends.Memory, error) { return c.Manager.Get(c, in) })
	list(h, "events", "GET memories/{id}/history", "What happened to a memory, with those that it superseded.",
		func(c *call, in *backends.HistoryRequest) ([]backends.Event, error) { return c.Manager.History(c, in) })
	scoped(h, "PATCH memories/{id}", "Change a memory; its former text stays in the history.", write,
		func(c *call, in *backends.UpdateRequest) (*backends.Memory, error) { return c.Manager.Update(c, in) })
	scoped(h, "DELETE memories/{id}", "Delete a memory; its history stays, unless what was said is erased with it.", write,
		func(c *call, in *deleteQuery) (countResponse, error) {
			return countResponse{1}, c.Manager.Delete(c, &backends.DeleteRequest{Scope: in.Scope, ID: in.ID, Erase: in.Erase})
		})
	scoped(h, "POST memories/delete", "Delete some memories, as DELETE does with one. Unknown ids are skipped.", write, (*call).deleteEach)
	scoped(h, "POST delete", "Delete the memories that a filter matches.", traits{mode: access.Write | access.Whole},
		func(c *call, in *backends.DeleteAllRequest) (countResponse, error) {
			if in.Filter == nil {
				return countResponse{}, fmt.Errorf("%w: there is no filter; to erase all there is /api/v1/forget", backends.ErrInvalid)
			}
			n, err := c.Manager.DeleteAll(c, in)
			return countResponse{n}, err
		})
}

func (c *call) search(in *backends.SearchRequest) (*searchResponse, error) {
	found, err := c.Search(c, in)
	if err != nil {
		return nil, err
	}
	out := &searchResponse{SearchResponse: backends.SearchResponse{Hits: orEmpty(found.Hits)}}
	if found.Degraded != nil {
		_, _, out.Degraded = statusOf(found.Degraded)
	}
	return out, nil
}

func (c *call) preview(in *previewRequest) (*previewResponse, error) {
	p, err := c.Preview(c, in.Scope, in.Query)
	if err != nil {
		return nil, err
	}
	found, err := c.search(&backends.SearchRequest{Scope: in.Scope, Query: in.Query, TopK: mostLeft, IncludeSuperseded: true})
	if err != nil {
		return nil, err
	}
	out := &previewResponse{p.Text, orEmpty(p.Hits), []leftOut{}, p.Whole, p.Tokens, p.Room}
	seen := func(list []backends.Hit, h *backends.Hit) bool {
		return slices.ContainsFunc(list, func(other backends.Hit) bool { return other.ID == h.ID && other.Text == h.Text })
	}
	others := slices.DeleteFunc(slices.Clone(p.Found), func(h backends.Hit) bool { return seen(found.Hits, &h) || seen(p.Hits, &h) })
	for i, h := range append(found.Hits, others[:min(len(others), mostLeft)]...) {
		left := leftOut{Hit: h, Of: h.SupersededBy, Place: i + 1}
		switch {
		case seen(p.Hits, &h):
			continue
		case h.Merged():
			left.Reason = "same"
		case !h.Active():
			left.Reason = "ended"
		default:
			left.Reason, left.Needs = p.Why(&h)
		}
		out.Left = append(out.Left, left)
	}
	return out, nil
}

// deleteEach deletes memories in their order. Those before a failure stay deleted.
func (c *call) deleteEach(in *deleteRequest) (out countResponse, err error) {
	for _, id := range in.IDs {
		switch err = c.Manager.Delete(c, &backends.DeleteRequest{Scope: in.Scope, ID: id, Erase: in.Erase}); {
		case err == nil:
			out.Count++
		case !errors.Is(err, backends.ErrNotFound):
			return out, err
		}
	}
	return out, nil
}

func (c *call) export(in *scopeQuery) (any, error) {
	s, err := c.open(in.Scope, c.route.mode)
	if err == nil {
		c.w.Header().Set("Content-Type", "application/jsonl")
		_, err = c.Export(c, s, c)
	}
	return nil, err
}

func (c *call) load(in *scopeQuery) (count store.TransferCount, err error) {
	if _, err = c.open(in.Scope, c.route.mode); err == nil {
		count, err = c.Import(c, c.r.Body)
	}
	return count, err
}
