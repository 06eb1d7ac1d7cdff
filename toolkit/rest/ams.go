// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// ofAMS are the endpoints of agent-memory-server as far as they are offered. Every request is
// about one user: the one that it names, else that of the connection. Its working memory is
// the log of a session. Its long-term memories are ours: episodic ones and those of messages
// are of kind episode, others facts. Their ids are those that a search returns; an id that a
// client makes up is not kept. All search modes are our one search, and dist is 1 less the
// score.
var ofAMS = &family{tag: "agent-memory-server", fail: detailed}

type (
	amsRecord struct {
		Text       *string   `json:"text,omitempty"`
		MemoryType string    `json:"memory_type,omitempty"` // semantic, episodic or message
		Topics     *[]string `json:"topics,omitempty"`
		Entities   *[]string `json:"entities,omitempty"`
		EventDate  string    `json:"event_date,omitempty"`
		UserID     string    `json:"user_id,omitempty"`
		Namespace  string    `json:"namespace,omitempty"`
		SessionID  string    `json:"session_id,omitempty"`
		Pinned     bool      `json:"pinned,omitempty"`
	}
	amsCreate struct {
		Memories []amsRecord `json:"memories"`
	}
	amsPatch struct {
		idQuery
		amsRecord
	}
	amsSearch struct {
		scopeQuery
		Text      string         `json:"text,omitempty"`
		Mode      string         `json:"search_mode,omitempty"`
		UserID    map[string]any `json:"user_id,omitempty"`
		Namespace map[string]any `json:"namespace,omitempty"`
		SessionID map[string]any `json:"session_id,omitempty"`
		Topics    map[string]any `json:"topics,omitempty"`
		Entities  map[string]any `json:"entities,omitempty"`
		Created   map[string]any `json:"created_at,omitempty"`
		Accessed  map[string]any `json:"last_accessed,omitempty"`
		EventDate map[string]any `json:"event_date,omitempty"`
		Type      map[string]any `json:"memory_type,omitempty"`
		Distance  *float64       `json:"distance_threshold,omitempty"`
		Limit     int            `json:"limit,omitempty"`
		Offset    int            `json:"offset,omitempty"`
	}
	amsIDs struct {
		scopeQuery
		IDs string `json:"-" query:"memory_ids" jsonschema:"may come more than once"`
	}
)

func (h *Handler) amsRoutes() {
	read, write := traits{}, traits{write: true}
	add(h, ofAMS, "GET /v1/health", "Whether the server is there, as agent-memory-server.", read, func(c *call, _ *struct{}) (object, error) {
		c.opened = true // it shows nothing of anyone's
		return object{"now": c.cfg.Clock().UnixMilli()}, nil
	})
	add(h, ofAMS, "POST /v1/long-term-memory/{$}", "Store memories, as agent-memory-server.", write, func(c *call, in *amsCreate) (object, error) {
		if len(in.Memories) == 0 {
			return nil, &missingError{Fields: []string{"memories"}}
		}
		return object{"status": "ok"}, c.amsStore(in.Memories, backends.Scope{})
	})
	add(h, ofAMS, "POST /v1/long-term-memory/search", "Memories that answer a query, as agent-memory-server.", read, (*call).amsSearch)
	add(h, ofAMS, "GET /v1/long-term-memory/{id}", "One memory, as agent-memory-server.", read, func(c *call, in *idQuery) (object, error) {
		_, m, err := c.locate(in.ID, in.scope(), false)
		return c.amsRecord(m), err
	})
	add(h, ofAMS, "PATCH /v1/long-term-memory/{id}", "Change a memory, as agent-memory-server.", write, (*call).amsPatch)
	add(h, ofAMS, "DELETE /v1/long-term-memory", "Delete memories; ids that are not known do not matter, as agent-memory-server.", write, (*call).amsDelete)
	h.amsSessions()
	h.unsupported(ofAMS, "summary views, tasks, policies of forgetting and compaction of agent-memory-server", "POST /v1/long-term-memory/forget", "GET /v1/summary-views", "POST /v1/summary-views", "GET /v1/summary-views/",
		"POST /v1/summary-views/", "DELETE /v1/summary-views/", "GET /v1/tasks/", "POST /v1/long-term-memory/compact")
}

// amsKinds are our kinds for their types.
var amsKinds = map[string]any{"": backends.KindFact, "semantic": backends.KindFact, "episodic": backends.KindEpisode, "message": backends.KindEpisode}

// metadata returns what is kept of a record beside its text, or what is to change.
func (r *amsRecord) metadata() (map[string]any, error) {
	m := map[string]any{}
	if r.Topics != nil {
		m["topics"] = *r.Topics
	}
	if r.Entities != nil {
		m[backends.MetaEntities] = *r.Entities
	}
	if r.EventDate != "" {
		m["event_date"] = r.EventDate
	}
	if amsKinds[r.MemoryType] == nil || r.Pinned {
		return nil, fmt.Errorf("%w: memory_type is semantic, episodic or message, and nothing can be pinned", backends.ErrInvalid)
	}
	return m, nil
}

// amsStore stores records, each where it says, after all of them were opened and checked.
func (c *call) amsStore(records []amsRecord, of backends.Scope) error {
	adds := make([]*backends.AddRequest, len(records))
	for i := range records {
		r := &records[i]
		s, err := c.whose(backends.Scope{Namespace: r.Namespace, UserID: r.UserID, SessionID: r.SessionID}.Or(of), true)
		if err != nil {
			return err
		}
		metadata, err := r.metadata()
		if err == nil && (r.Text == nil || strings.TrimSpace(*r.Text) == "") {
			err = &missingError{Fields: []string{"text"}}
		}
		if err != nil {
			return err
		}
		kind, _ := amsKinds[r.MemoryType].(backends.Kind)
		adds[i] = &backends.AddRequest{Scope: s, Verbatim: true, Kind: kind, Metadata: metadata, Author: c.key.Name, Messages: []backends.Message{{Message: schema.UserMessage(*r.Text)}}}
	}
	for i, r := range adds {
		c.scope = r.Scope
		added, err := c.cfg.Memory.Backend().Add(c, r)
		if err == nil && len(added.Items) > 0 {
			err = added.Items[0].Err
		}
		if c.audited(err) != nil {
			return fmt.Errorf("memory %d of %d: %w", i+1, len(adds), err)
		}
	}
	return nil
}

func (c *call) amsPatch(in *amsPatch) (object, error) {
	manager, id, err := c.place(in.ID, in.scope(), true)
	if err != nil {
		return nil, err
	}
	metadata, err := in.metadata()
	if err == nil && in.UserID+in.Namespace+in.SessionID+in.MemoryType != "" {
		err = fmt.Errorf("%w: a memory keeps its user, namespace, session and type", backends.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	m, err := manager.Update(c, &backends.UpdateRequest{Scope: c.scope, ID: id, Text: in.Text, Metadata: metadata})
	return c.amsRecord(m), err
}

func (c *call) amsDelete(in *amsIDs) (object, error) {
	if _, err := c.whose(in.scope(), true); err != nil && !errors.Is(err, backends.ErrNoScope) {
		return nil, err
	}
	deleted := 0
	c.opened = true // each id is opened where it is
	for _, id := range c.r.URL.Query()["memory_ids"] {
		err := c.deleteAt(id, in.scope())
		switch {
		case err == nil:
			deleted++
		case !errors.Is(err, backends.ErrNotFound):
			return nil, err
		}
	}
	return object{"status": fmt.Sprintf("ok, deleted %d memories", deleted)}, nil
}

// amsFilter returns the scope and the filter of a search.
func (in *amsSearch) amsFilter() (s backends.Scope, _ *backends.Filter, err error) {
	only := func(name string, f map[string]any) string {
		id, _ := f["eq"].(string)
		if len(f) > 0 && (id == "" || len(f) > 1) {
			err = fmt.Errorf("%w: %s takes eq alone", backends.ErrInvalid, name)
		}
		return id
	}
	s = backends.Scope{UserID: only("user_id", in.UserID), Namespace: only("namespace", in.Namespace)}.Or(backends.Scope{UserID: in.scope().UserID})
	if len(in.Accessed) > 0 {
		err = fmt.Errorf("%w: the filter last_accessed is not offered", backends.ErrInvalid)
	}
	all := backends.And(backends.Ne("id", ""))
	for field, f := range map[string]map[string]any{"session_id": in.SessionID, "metadata.topics": in.Topics, "entity": in.Entities, "created": in.Created,
		"metadata.event_date": in.EventDate, "kind": in.Type} {
		for op, v := range f {
			if v == nil {
				continue
			}
			list, _ := v.([]any)
			if field == "kind" {
				if name, ok := v.(string); ok {
					v = amsKinds[name]
				}
				for i := range list {
					name, _ := list[i].(string)
					list[i] = amsKinds[name]
				}
			}
			for i := 0; op == "all" && i < len(list); i++ {
				all.Args = append(all.Args, backends.Eq(field, list[i]))
			}
			if op != "all" {
				all.Args = append(all.Args, backends.Filter{Op: cmp.Or(amsOps[op], op), Field: field, Value: v})
			}
		}
	}
	if _, e := all.Compile(); err == nil {
		err = e
	}
	return s, &all, err
}

// amsOps are our names of operators that have others there.
var amsOps = map[string]string{"any": "in", "in_": "in", "none": "nin", "not_in": "nin", "not_eq": "ne"}

func (c *call) amsSearch(in *amsSearch) (object, error) {
	s, filter, err := in.amsFilter()
	if err == nil {
		s, err = c.whose(s, false)
	}
	if err != nil {
		return nil, err
	}
	limit, from := min(cmp.Or(max(in.Limit, 0), 10), 1000), min(max(in.Offset, 0), 1<<30)
	r := &backends.SearchRequest{Scope: s, Query: in.Text, TopK: min(from+limit+1, 1000), Filter: filter}
	if in.Distance != nil {
		r.Threshold = 1 - *in.Distance
	}
	hits, err := c.find(r)
	if err != nil {
		return nil, err
	}
	records := []object{}
	for _, h := range cut(hits, from, limit) {
		x := c.amsRecord(&h.Memory)
		if x["dist"], x["score"], x["score_type"] = 1-h.Score, nil, nil; strings.TrimSpace(in.Text) != "" {
			x["score"], x["score_type"] = h.Score, cmp.Or(in.Mode, "semantic")
		}
		records = append(records, x)
	}
	out := object{"memories": records, "total": len(hits), "next_offset": nil}
	if len(hits) > from+limit {
		out["next_offset"] = from + limit
	}
	return out, nil
}

// amsRecord returns a memory of c.scope as agent-memory-server has it.
func (c *call) amsRecord(m *backends.Memory) object {
	if m == nil {
		return nil
	}
	uses, last := m.Uses()
	if last.Before(m.Updated) {
		last = m.Updated
	}
	kind, hash := "semantic", sha256.Sum256([]byte(m.Text))
	if m.Kind == backends.KindEpisode {
		kind = "episodic"
	}
	topics, _ := m.Metadata["topics"].([]any)
	return object{"id": c.idOf(m.ID), "text": m.Text, "session_id": orNull(m.Scope.SessionID), "user_id": orNull(m.Scope.UserID), "namespace": orNull(c.scope.Namespace),
		"last_accessed": last, "created_at": m.Created, "updated_at": m.Updated, "pinned": false, "access_count": uses, "topics": orEmpty(topics),
		"entities": orEmpty(m.Entities()), "memory_hash": hex.EncodeToString(hash[:]), "discrete_memory_extracted": "t", "memory_type": kind, "persisted_at": m.Created,
		"extracted_from": orEmpty(m.Origin.MessageIDs), "event_date": m.Metadata["event_date"], "extraction_strategy": "discrete", "extraction_strategy_config": object{}}
}
