// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// ofAMS are the supported endpoints of agent-memory-server. Every request is about one user: the
// one that it names, else the connection's. Its working memory is the log of a session. Its
// long-term memories are ours: episodic ones and messages are of kind episode, others facts. A
// memory keeps the ids that clients give it, up to eight, beside its own. All search modes are our
// one search, and dist is 1 less the score.
var ofAMS = &family{tag: "agent-memory-server", fail: detailed}

type (
	amsRecord struct {
		ID         string   `json:"id,omitempty"`
		Text       *string  `json:"text,omitempty"`
		MemoryType string   `json:"memory_type,omitempty"` // semantic, episodic or message
		Topics     []string `json:"topics,omitempty"`
		Entities   []string `json:"entities,omitempty"`
		EventDate  amsTime  `json:"event_date,omitzero"`
		UserID     string   `json:"user_id,omitempty"`
		Namespace  string   `json:"namespace,omitempty"`
		SessionID  string   `json:"session_id,omitempty"`
	}
	amsCreate struct {
		Memories []amsRecord `json:"memories"`
	}
	amsPatch struct {
		Of        string `json:"-" path:"id"`
		amsRecord        // its text, topics and entities; the rest stays as it is
	}
	amsOne    map[string]any // eq alone
	amsSearch struct {
		scopeQuery
		Text      string         `json:"text,omitempty"`
		UserID    amsOne         `json:"user_id,omitempty"`
		Namespace amsOne         `json:"namespace,omitempty"`
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
		IDs []string `json:"-" query:"memory_ids"`
	}
)

// amsTime is a time, or a day. Without a zone it is of UTC, as for their client.
type amsTime struct{ time.Time }

func (t *amsTime) UnmarshalJSON(b []byte) error {
	err := t.Time.UnmarshalJSON(b)
	for _, layout := range []string{`"2006-01-02T15:04:05"`, `"2006-01-02"`} {
		if err != nil {
			t.Time, err = time.Parse(layout, string(b))
		}
	}
	return err
}

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

// metaIDs is the key of the metadata that holds the ids that clients gave a memory, the newest last.
const (
	metaIDs = "client_ids"
	mostIDs = 8
)

func (c *call) amsCreate(in *amsCreate) (object, error) {
	if len(in.Memories) == 0 {
		return nil, &missingError{Fields: []string{"memories"}}
	}
	_, err := c.amsStore(in.Memories, backends.Scope{})
	return object{"status": "ok"}, err
}

// amsStore stores records one by one, each in its own scope, else in the given one, and returns
// their encoded ids. Each is on the audit log, because they may be of several people.
func (c *call) amsStore(records []amsRecord, of backends.Scope) (ids []string, err error) {
	for i := range records {
		id, err := c.amsStoreOne(&records[i], of)
		c.cfg.Guard.Audit(c, c.key, c.route.pattern+" (one of several)", c.scope, err)
		if err != nil {
			return ids, fmt.Errorf("memory %d of %d: %w", i+1, len(records), err)
		}
		if id != "" {
			ids = append(ids, c.idOf(id))
		}
	}
	return ids, nil
}

// amsStoreOne stores a record, and returns its plain id.
func (c *call) amsStoreOne(r *amsRecord, of backends.Scope) (string, error) {
	s, err := c.whose(backends.Scope{Namespace: r.Namespace, UserID: r.UserID, SessionID: r.SessionID}.Or(of), access.Write)
	if err != nil {
		return "", err
	}
	if r.Text == nil || strings.TrimSpace(*r.Text) == "" {
		return "", &missingError{Fields: []string{"text"}}
	}
	kind, ok := amsKinds[cmp.Or(r.MemoryType, "semantic")].(backends.Kind)
	if !ok {
		return "", fmt.Errorf("%w: memory_type is semantic, episodic or message", backends.ErrInvalid)
	}
	known, err := c.amsKnown(s, r.ID)
	if err != nil {
		return "", err
	}
	if known != nil && known.Kind == kind {
		return known.ID, c.amsReplace(s, known, r)
	}
	about := r.metadata()
	if r.ID != "" && !encoded(r.ID) && c.Manager != nil {
		about[metaIDs] = []any{r.ID}
	}
	added, err := c.Backend().Add(c, &backends.AddRequest{
		Scope: s, Verbatim: true, Kind: kind, Metadata: about, Author: c.key.Name,
		Messages: []backends.Message{{Message: schema.UserMessage(*r.Text), Time: r.EventDate.Time}},
	})
	if err != nil || len(added.Items) == 0 {
		return "", err
	}
	it := &added.Items[0]
	if err = it.Err; err == nil && it.Outcome == backends.OutcomeUnchanged {
		err = c.amsReplace(s, &it.Memory, r) // it has one more id
	}
	if err == nil && known != nil { // it is of another kind now
		err = c.Manager.Delete(c, &backends.DeleteRequest{Scope: s, ID: known.ID})
	}
	return it.Memory.ID, err
}

// amsKnown returns the memory of a scope that a client gave an id, or that has it, or nil.
func (c *call) amsKnown(s backends.Scope, id string) (*backends.Memory, error) {
	if id == "" || c.Manager == nil {
		return nil, nil
	}
	if p, plain, ok := decodeID(id); ok {
		if mine, _ := s.Speaker(); mine != p { // an owner that cannot be is another one
			return nil, nil
		}
		m, err := c.Manager.Get(c, &backends.GetRequest{Scope: s, ID: plain})
		if errors.Is(err, backends.ErrNotFound) {
			err = nil
		}
		return m, err
	}
	of := backends.Eq("metadata."+metaIDs, id)
	page, err := c.Manager.List(c, &backends.ListRequest{Scope: s, Filter: &of, Limit: 1})
	if err != nil || len(page.Memories) == 0 {
		return nil, err
	}
	return &page.Memories[0], nil
}

// amsReplace makes a memory say what a record says, under its id too.
func (c *call) amsReplace(s backends.Scope, m *backends.Memory, r *amsRecord) error {
	about := r.metadata()
	ids, _ := m.Metadata[metaIDs].([]any)
	if r.ID != "" && !encoded(r.ID) && !slices.Contains(ids, any(r.ID)) {
		ids = append(slices.Clone(ids), r.ID)
		about[metaIDs] = ids[max(len(ids)-mostIDs, 0):]
	}
	for key, v := range about {
		if old, ok := m.Metadata[key]; ok && fmt.Sprint(old) == fmt.Sprint(v) {
			delete(about, key)
		}
	}
	if c.Manager == nil || m.Text == *r.Text && len(about) == 0 {
		return nil
	}
	_, err := c.Manager.Update(c, &backends.UpdateRequest{Scope: s, ID: m.ID, Text: r.Text, Metadata: about})
	return err
}

// amsID returns the encoded id for a client's id of a memory of the connection's person. It returns
// any other id as it is.
func (c *call) amsID(id string) (string, error) {
	if _, _, ok := decodeID(id); ok {
		return id, nil
	}
	s, err := c.whose(backends.Scope{}, access.Read)
	if err != nil {
		return id, nil //nolint:nilerr // nobody has such an id
	}
	m, err := c.amsKnown(s, id)
	if err != nil || m == nil {
		return id, err
	}
	return c.idOf(m.ID), nil
}

// amsShown returns the id of a memory of c.scope for its client.
func (c *call) amsShown(m *backends.Memory) string {
	p, _ := c.scope.Speaker()
	of, err := c.key.Scope(c.r.Header)
	if ids, _ := m.Metadata[metaIDs].([]any); err == nil && len(ids) > 0 {
		of.Namespace, of.Workspace = c.namespace(), ""
		if mine, err := of.Speaker(); err == nil && mine == p {
			return fmt.Sprint(ids[len(ids)-1])
		}
	}
	return encodeID(p, m.ID)
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

// amsOf returns the memory of a client's id.
func (c *call) amsOf(id string) (*backends.Memory, error) {
	id, err := c.amsID(id)
	if err != nil {
		return nil, err
	}
	return c.memory(id)
}

func (c *call) amsGet(in *memoryID) (object, error) {
	m, err := c.amsOf(in.ID)
	return c.amsMemory(m), err
}

func (c *call) amsPatch(in *amsPatch) (object, error) {
	m, err := c.amsOf(in.Of)
	if err != nil {
		return nil, err
	}
	is := c.scope
	is.SessionID = m.Scope.SessionID
	named := backends.Scope{Namespace: in.Namespace, UserID: in.UserID, SessionID: in.SessionID}
	if named.Or(is) != is || in.MemoryType != "" || !in.EventDate.IsZero() {
		return nil, fmt.Errorf("%w: only text, topics and entities of a memory can change", backends.ErrInvalid)
	}
	m, err = c.update(c.idOf(m.ID), &backends.UpdateRequest{Text: in.Text, Metadata: in.metadata()})
	return c.amsMemory(m), err
}

func (c *call) amsDelete(in *amsIDs) (object, error) {
	if _, err := c.whose(in.Scope, access.Write); err != nil && !errors.Is(err, backends.ErrNoScope) {
		return nil, err
	}
	deleted := 0
	for _, id := range in.IDs {
		id, err := c.amsID(id)
		if err == nil {
			err = c.deleteMemory(id)
		}
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
	user, err := in.UserID.eq("user_id")
	namespace, other := in.Namespace.eq("namespace")
	if err = cmp.Or(err, other); err != nil {
		return nil, err
	}
	s, err := c.whose(backends.Scope{UserID: cmp.Or(user, in.Scope.UserID), Namespace: namespace}, access.Read)
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

func unset(_ string, v any) bool { return v == nil }

// eq returns the one value of a condition that names an owner. A search has one owner.
func (f amsOne) eq(field string) (string, error) {
	maps.DeleteFunc(f, unset)
	s, ok := f["eq"].(string)
	if len(f) > 1 || len(f) == 1 && !ok {
		return "", fmt.Errorf("%w: %s takes eq with one id, and nothing else", backends.ErrInvalid, field)
	}
	return s, nil
}

// filter returns the conditions of a search, apart from the owner of the memories.
func (in *amsSearch) filter() (*backends.Filter, error) {
	var all []backends.Filter
	for field, f := range map[string]map[string]any{
		"session_id": in.SessionID, "metadata.topics": in.Topics, "entity": in.Entities, "kind": in.Type,
		"created": in.Created, "observed": in.EventDate, "updated": in.Accessed, // what we answer as last_accessed
	} {
		maps.DeleteFunc(f, unset)
		for op, v := range f {
			if field == "kind" {
				v = kindsOf(v)
			}
			of, list := v.([]any)
			if op != "all" || !list {
				all = append(all, backends.Filter{Op: cmp.Or(amsOps[op], op), Field: field, Value: v})
				continue
			}
			for _, one := range of {
				all = append(all, backends.Eq(field, one))
			}
		}
	}
	return allOf(all)
}

// kindsOf returns our kind for a type, or ours for a list of them; nil, which no filter takes, for an
// unknown one.
func kindsOf(v any) any {
	list, ok := v.([]any)
	if !ok {
		return amsKinds[fmt.Sprint(v)]
	}
	for i := range list {
		list[i] = kindsOf(list[i])
	}
	return list
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
		"id": c.amsShown(m), "text": m.Text, "memory_type": kind, "memory_hash": nil,
		"user_id": orNull(m.Scope.UserID), "session_id": orNull(m.Scope.SessionID), "namespace": c.scope.Namespace,
		"topics": orEmpty(topics), "entities": orEmpty(m.Entities()), "event_date": happened,
		"created_at": m.Created, "updated_at": m.Updated, "persisted_at": m.Created,
		"last_accessed": m.Updated, "access_count": uses, "pinned": false,
		"extracted_from": orEmpty(m.Origin.MessageIDs), "discrete_memory_extracted": "t",
		"extraction_strategy": "discrete", "extraction_strategy_config": object{},
	}
}
