// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/server/access"
)

// mem0Find answers with a page of the hits of a query, or of all memories if the query is blank. Scores
// go out as the square root of ours, and thresholds come in as squares: mem0's clients ask for 0.3
// (mem0-cli 0.2.13) where our measured threshold is 0.1, and 0 and 1 are the ends of both scales.
func (c *call) mem0Find(in *mem0Query) (object, error) {
	all, err := c.mem0Hits(in)
	if err != nil {
		return nil, err
	}
	return paged(c, all, in.Page, cmp.Or(in.PageSize, in.TopK, in.Limit), func(h backends.Hit) object {
		m := mem0Memory(&h.Memory)
		m["score"] = math.Sqrt(h.Score)
		return only(m, in.Fields)
	}), nil
}

// paged answers with a page of all. The addresses of the pages beside it keep the query of the
// request.
func paged[T any](c *call, all []T, page, size int, show func(T) object) object {
	size, page = min(max(cmp.Or(size, 100), 1), 1000), min(max(page, 1), len(all)+1)
	results := []object{}
	for _, x := range cut(all, (page-1)*size, size) {
		results = append(results, show(x))
	}
	link := func(to int, is bool) *string {
		if !is {
			return nil
		}
		query := c.r.URL.Query()
		query.Set("page", strconv.Itoa(to))
		query.Set("page_size", strconv.Itoa(size))
		return orNull(c.r.URL.Path + "?" + query.Encode())
	}
	return object{
		"count": len(all), "next": link(page+1, page*size < len(all)), "previous": link(page-1, page > 1), "results": results,
	}
}

// mem0Hits returns the hits of a query, of all whom it is about. Messages of turns are left
// out: mem0 has facts alone.
func (c *call) mem0Hits(in *mem0Query) (all []backends.Hit, _ error) {
	if err := checkFields(in.Fields); err != nil {
		return nil, err
	}
	r := backends.SearchRequest{Query: in.Query, TopK: cmp.Or(in.TopK, in.Limit, 10), Threshold: 0.1,
		IncludeExpired: in.Expired, IncludeSuperseded: in.Latest != nil && !*in.Latest}
	if in.Threshold != nil {
		r.Threshold = *in.Threshold * max(*in.Threshold, 0) // a negative one leaves out nothing
	}
	err := c.mem0Each(in, access.Read, func(s backends.Scope, filter *backends.Filter) error {
		facts := backends.Ne("kind", backends.KindEpisode)
		if r.Scope, r.Filter = s, &facts; filter != nil {
			facts = backends.And(*filter, facts)
		}
		hits, err := c.find(&r)
		for i := range hits { // as their partition says
			hits[i].Scope.Namespace, hits[i].Scope.UserID = s.Namespace, s.UserID
			hits[i].Scope.AgentID = cmp.Or(hits[i].Scope.AgentID, s.AgentID)
		}
		if strings.TrimSpace(in.Query) == "" {
			all = append(all, hits...)
		} else if err == nil {
			all = cut(backends.MergeHits(all, hits), 0, r.TopK)
		}
		return err
	})
	return all, err
}

func (c *call) mem0Get(in *mem0One) (object, error) {
	m, err := c.memory(in.ID)
	return c.mem0Its(m), err
}

func (c *call) mem0History(in *mem0One) ([]object, error) {
	manager, id, err := c.place(in.ID, access.Read)
	if err != nil {
		return nil, err
	}
	events, err := manager.History(c, &backends.HistoryRequest{Scope: c.scope, ID: id})
	if err == nil && len(events) == 0 {
		err = errUnknownID
	}
	out := []object{}
	for _, e := range events {
		out = append(out, object{
			"id": fmt.Sprintf("%s-%d", e.MemoryID, e.Version), "memory_id": in.ID,
			"event": mem0Events[e.Type], "is_deleted": e.Type == backends.OutcomeDeleted,
			"old_memory": orNull(e.Old), "new_memory": orNull(e.New), "actor_id": orNull(e.Actor), "role": orNull(e.Role),
			"created_at": e.Time, "updated_at": e.Time,
		})
	}
	return out, err
}

// partitions lists the partitions of the namespace that the key opens.
func (c *call) partitions() (all []backends.Partition, _ error) {
	return all, store.Each(func(page store.Page) (*store.PartitionPage, error) {
		return c.door.People(c, c.key, store.PartitionQuery{Namespace: c.namespace(), Page: page})
	}, func(p backends.Partition) error {
		all = append(all, p)
		return nil
	})
}

func (c *call) mem0Entities(_ *mem0Unused) ([]object, error) {
	all, err := c.partitions()
	out := []object{}
	for _, p := range all {
		if p.Kind != backends.PartitionWorkspace {
			out = append(out, object{"id": p.ID, "name": p.ID, "type": p.Kind})
		}
	}
	return out, err
}

func (c *call) mem0Users(in *mem0Pages) (object, error) {
	all, err := c.mem0Entities(&in.mem0Unused)
	return paged(c, all, in.Page, in.PageSize, func(one object) object { return one }), err
}

// mem0Profile answers with the document that facts fill; it is never generated.
func (c *call) mem0Profile(in *mem0One) (object, error) {
	s, err := c.open(backends.Scope{Namespace: c.namespace(), UserID: in.ID}, access.Read)
	if err != nil {
		return nil, err
	}
	out := object{"entity_type": "user", "entity_id": in.ID, "status": "not_enabled", "profile": nil}
	if c.cfg.Profile == nil {
		return out, nil
	}
	doc, err := c.cfg.Profile.Document(c, s)
	if out["profile"], out["status"] = doc, "succeeded"; len(doc) == 0 {
		out["status"] = "insufficient_data"
	}
	return out, err
}

// mem0Its returns a memory of c.scope in mem0's form.
func (c *call) mem0Its(m *backends.Memory) object {
	if m == nil {
		return nil
	}
	out := mem0Memory(m)
	out["id"] = c.idOf(m.ID)
	return out
}

// mem0Memory returns a memory in mem0's form, of the partition that its scope names.
func mem0Memory(m *backends.Memory) object {
	p, _ := m.Scope.Speaker()
	out := object{
		"id": encodeID(p, m.ID), "memory": m.Text, "metadata": m.Metadata, "created_at": m.Created, "updated_at": m.Updated,
		"user_id": orNull(m.Scope.UserID), "agent_id": orNull(m.Scope.AgentID), "run_id": orNull(m.Scope.SessionID),
		"app_id": m.Metadata["app_id"], "categories": m.Metadata["categories"],
		"actor_id": orNull(m.Origin.Speaker), "role": orNull(m.Origin.Role), "expiration_date": nil,
	}
	if !m.Expires.IsZero() {
		out["expiration_date"] = m.Expires.Add(-1).UTC().Format(time.DateOnly)
	}
	return out
}
