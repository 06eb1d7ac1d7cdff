// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// ofAMS are the supported endpoints of agent-memory-server. Every request is about one user: the
// one that it names, else the connection's. Its working memory is the log of a session. Its
// long-term memories are ours: episodic ones and messages are of kind episode, others facts. Their
// ids are the ones that a search returns; ids of a client's own making are dropped. All search
// modes are our one search, and dist is 1 less the score.
var ofAMS = &family{tag: "agent-memory-server", fail: detailed}

type (
	amsRecord struct {
		Text       *string   `json:"text,omitempty"`
		MemoryType string    `json:"memory_type,omitempty"` // semantic, episodic or message
		Topics     []string  `json:"topics,omitempty"`
		Entities   []string  `json:"entities,omitempty"`
		EventDate  time.Time `json:"event_date,omitzero"`
		UserID     string    `json:"user_id,omitempty"`
		Namespace  string    `json:"namespace,omitempty"`
		SessionID  string    `json:"session_id,omitempty"`
	}
	amsCreate struct {
		Memories []amsRecord `json:"memories"`
	}
	amsPatch struct {
		memoryID
		amsRecord // its text, topics and entities; the rest stays as it is
	}
	amsOne struct {
		Eq string `json:"eq"`
	}
	amsSearch struct {
		scopeQuery
		Text      string         `json:"text,omitempty"`
		UserID    amsOne         `json:"user_id,omitzero"`
		Namespace amsOne         `json:"namespace,omitzero"`
		SessionID map[string]any `json:"session_id,omitempty"`
		Topics    map[string]any `json:"topics,omitempty"`
		Entities  map[string]any `json:"entities,omitempty"`
		Created   map[string]any `json:"created_at,omitempty"`
		Accessed  map[string]any `json:"last_accessed,omitempty"`
		EventDate map[string]any `json:"event_date,omitempty"`
		Type      amsOne         `json:"memory_type,omitzero"`
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
	read, write := traits{}, traits{mode: access.Write}
	const base = "/v1/long-term-memory"
	add(h, ofAMS, "GET /v1/health", "Whether the server is there.", read, func(c *call, _ *struct{}) (object, error) {
		return object{"now": c.cfg.Clock().UnixMilli()}, nil
	})
	add(h, ofAMS, "POST "+base+"/{$}", "Store memories.", write, (*call).amsCreate)
	add(h, ofAMS, "POST "+base+"/search", "Memories that answer a query.", read, (*call).amsSearch)
	add(h, ofAMS, "GET "+base+"/{id}", "One memory.", read, (*call).amsGet)
	add(h, ofAMS, "PATCH "+base+"/{id}", "Change a memory.", write, (*call).amsPatch)
	add(h, ofAMS, "DELETE "+base, "Delete memories; ids that are not known do not matter.", write, (*call).amsDelete)
	h.amsSessions()
}

// amsKinds are our kinds for their types.
var amsKinds = map[string]any{"semantic": backends.KindFact, "episodic": backends.KindEpisode, "message": backends.KindEpisode}

func (c *call) amsCreate(in *amsCreate) (object, error) {
	if len(in.Memories) == 0 {
		return nil, &missingError{Fields: []string{"memories"}}
	}
	return object{"status": "ok"}, c.amsStore(in.Memories, backends.Scope{})
}

// amsStore stores records one by one, each in its own scope, else in the given one. Each is on the
// audit log, because they may be of several people.
func (c *call) amsStore(records []amsRecord, of backends.Scope) error {
	for i := range records {
		err := c.amsStoreOne(&records[i], of)
		c.cfg.Guard.Audit(c, c.key, c.route.pattern+" (one of several)", c.scope, err)
		if err != nil {
			return fmt.Errorf("memory %d of %d: %w", i+1, len(records), err)
		}
	}
	return nil
}

func (c *call) amsStoreOne(r *amsRecord, of backends.Scope) error {
	s, err := c.whose(backends.Scope{Namespace: r.Namespace, UserID: r.UserID, SessionID: r.SessionID}.Or(of), access.Write)
	if err != nil {
		return err
	}
	if r.Text == nil || strings.TrimSpace(*r.Text) == "" {
		return &missingError{Fields: []string{"text"}}
	}
	kind, ok := amsKinds[cmp.Or(r.MemoryType, "semantic")].(backends.Kind)
	if !ok {
		return fmt.Errorf("%w: memory_type is semantic, episodic or message", backends.ErrInvalid)
	}
	added, err := c.Backend().Add(c, &backends.AddRequest{
		Scope: s, Verbatim: true, Kind: kind, Metadata: r.metadata(), Author: c.key.Name,
		Messages: []backends.Message{{Message: schema.UserMessage(*r.Text), Time: r.EventDate}},
	})
	if err == nil && len(added.Items) > 0 {
		err = added.Items[0].Err
	}
	return err
}

// metadata returns the fields of a record beside its text, to store or to change.
func (r *amsRecord) metadata() map[string]any {
	m := map[string]any{}
	if r.Topics != nil {
		m["topics"] = r.Topics
	}
	if r.Entities != nil {
		m[backends.MetaEntities] = r.Entities
	}
	return m
}

func (c *call) amsGet(in *memoryID) (object, error) {
	m, err := c.memory(in.ID)
	return c.amsMemory(m), err
}

func (c *call) amsPatch(in *amsPatch) (object, error) {
	m, err := c.update(in.ID, &backends.UpdateRequest{Text: in.Text, Metadata: in.metadata()})
	return c.amsMemory(m), err
}

func (c *call) amsDelete(in *amsIDs) (object, error) {
	if _, err := c.whose(in.Scope, access.Write); err != nil && !errors.Is(err, backends.ErrNoScope) {
		return nil, err
	}
	deleted := 0
	for _, id := range c.r.URL.Query()["memory_ids"] {
		err := c.deleteMemory(id)
		if err != nil && !errors.Is(err, backends.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			deleted++
		}
	}
	return object{"status": fmt.Sprintf("ok, deleted %d memories", deleted)}, nil
}

func (c *call) amsSearch(in *amsSearch) (object, error) {
	s, err := c.whose(backends.Scope{UserID: cmp.Or(in.UserID.Eq, in.Scope.UserID), Namespace: in.Namespace.Eq}, access.Read)
	if err != nil {
		return nil, err
	}
	limit, from := min(cmp.Or(max(in.Limit, 0), 10), 1000), min(max(in.Offset, 0), 1<<30)
	r := &backends.SearchRequest{Scope: s, Query: in.Text, TopK: min(from+limit+1, 1000)}
	if r.Filter, err = in.filter(); err != nil {
		return nil, err
	}
	if in.Distance != nil {
		r.Threshold = 1 - *in.Distance
	}
	hits, err := c.find(r)
	if err != nil {
		return nil, err
	}
	records := []object{}
	for _, h := range cut(hits, from, limit) {
		m := c.amsMemory(&h.Memory)
		m["dist"], m["score"], m["score_type"] = 1-h.Score, h.Score, "hybrid"
		records = append(records, m)
	}
	out := object{"memories": records, "total": len(hits), "next_offset": nil}
	if len(hits) > from+limit {
		out["next_offset"] = from + limit
	}
	return out, nil
}

// amsOps translates the operators that have other names there.
var amsOps = map[string]string{"any": "in", "in_": "in", "none": "nin", "not_in": "nin", "not_eq": "ne"}

// filter returns the conditions of a search, apart from the owner of the memories.
func (in *amsSearch) filter() (*backends.Filter, error) {
	var all []backends.Filter
	if in.Type.Eq != "" {
		all = append(all, backends.Eq("kind", amsKinds[in.Type.Eq]))
	}
	for field, f := range map[string]map[string]any{
		"session_id": in.SessionID, "metadata.topics": in.Topics, "entity": in.Entities,
		"created": in.Created, "observed": in.EventDate, "": in.Accessed, // not stored: an error
	} {
		for op, v := range f {
			all = append(all, backends.Filter{Op: cmp.Or(amsOps[op], op), Field: field, Value: v})
		}
	}
	return allOf(all)
}

// amsMemory returns a memory of c.scope in the form of agent-memory-server.
func (c *call) amsMemory(m *backends.Memory) object {
	if m == nil {
		return nil
	}
	uses, _ := m.Uses()
	kind, happened := "semantic", (*time.Time)(nil)
	if m.Kind == backends.KindEpisode {
		kind, happened = "episodic", &m.Observed
	}
	topics, _ := m.Metadata["topics"].([]any)
	return object{
		"id": c.idOf(m.ID), "text": m.Text, "memory_type": kind, "memory_hash": nil,
		"user_id": orNull(m.Scope.UserID), "session_id": orNull(m.Scope.SessionID), "namespace": c.scope.Namespace,
		"topics": orEmpty(topics), "entities": orEmpty(m.Entities()), "event_date": happened,
		"created_at": m.Created, "updated_at": m.Updated, "persisted_at": m.Created,
		"last_accessed": m.Updated, "access_count": uses, "pinned": false,
		"extracted_from": orEmpty(m.Origin.MessageIDs), "discrete_memory_extracted": "t",
		"extraction_strategy": "discrete", "extraction_strategy_config": object{},
	}
}
