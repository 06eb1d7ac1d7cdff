// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// ofMem0 are the endpoints of mem0's own server, and the ones of its platform that its Python
// client calls. user_id and agent_id are a scope's, run_id is its session, and app_id goes to the
// metadata. The namespace is the key's, or in the header X-Memory-Namespace. An add is stored
// before its answer, so that there are no events to wait for. Deleting all memories of a user or an
// agent forgets them; their history goes, too.
var ofMem0 = &family{tag: "mem0", fail: detailed}

type (
	mem0IDs struct {
		UserID  string `json:"user_id,omitempty" query:"user_id"`
		AgentID string `json:"agent_id,omitempty" query:"agent_id"`
		RunID   string `json:"run_id,omitempty" query:"run_id"`
		AppID   string `json:"app_id,omitempty" query:"app_id"`
	}
	mem0Query struct {
		mem0IDs
		Query     string         `json:"query,omitempty"`
		Filters   map[string]any `json:"filters,omitempty"` // in mem0's grammar: see backends.ParseFilter
		TopK      int            `json:"top_k,omitempty" query:"top_k"`
		Threshold float64        `json:"threshold,omitempty"`
		Page      int            `json:"page,omitempty" query:"page"`
		PageSize  int            `json:"page_size,omitempty" query:"page_size"`
	}
	mem0Message struct {
		Role    string          `json:"role"`
		Name    string          `json:"name,omitempty"`
		Content json.RawMessage `json:"content"` // a text, or parts; the texts of parts count
	}
	mem0Add struct {
		mem0IDs
		Messages     []mem0Message   `json:"messages"`
		Metadata     map[string]any  `json:"metadata,omitempty"`
		Infer        *bool           `json:"infer,omitempty"`
		LastDay      json.RawMessage `json:"expiration_date,omitempty"` // YYYY-MM-DD
		Timestamp    int64           `json:"timestamp,omitempty"`       // Unix seconds
		Instructions string          `json:"custom_instructions,omitempty"`
	}
	mem0Change struct {
		memoryID
		Text     *string         `json:"text,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
		LastDay  json.RawMessage `json:"expiration_date,omitempty"` // null: it lasts forever
	}
	mem0Entity struct {
		Type string `json:"type" path:"type"` // user or agent
		Name string `json:"name" path:"id"`
	}
)

func (h *Handler) mem0Routes() {
	read, write, long := traits{}, traits{mode: access.Write}, traits{mode: access.Write, long: true}
	for _, at := range []struct{ memories, end, add, search, entity string }{
		{"/memories", "", "/memories", "/search", "/entities/{type}/{id}"},
		{"/v1/memories", "/{$}", "/v3/memories/add/{$}", "/v3/memories/search/{$}", "/v2/entities/{type}/{id}/{$}"},
	} {
		one := at.memories + "/{id}"
		add(h, ofMem0, "POST "+at.add, "Learn from messages.", long, (*call).mem0Add)
		add(h, ofMem0, "POST "+at.search, "Memories that answer a query.", read, (*call).mem0Find)
		add(h, ofMem0, "GET "+one+at.end, "One memory.", read, (*call).mem0Get)
		add(h, ofMem0, "GET "+one+"/history"+at.end, "What happened to a memory.", read, (*call).mem0History)
		add(h, ofMem0, "PUT "+one+at.end, "Change a memory.", write, (*call).mem0Update)
		add(h, ofMem0, "DELETE "+one+at.end, "Delete a memory; its history stays.", write, (*call).mem0Delete)
		add(h, ofMem0, "DELETE "+at.memories+at.end, "Delete a run, or erase all of a user or an agent.", write, (*call).mem0DeleteAll)
		add(h, ofMem0, "DELETE "+at.entity, "Erase all of a user or an agent.", write, (*call).mem0Erase)
	}
	add(h, ofMem0, "GET /memories", "Memories of a user or an agent.", read, (*call).mem0Find)
	add(h, ofMem0, "POST /v3/memories/{$}", "Memories of a user or an agent.", read, (*call).mem0Find)
	if h.cfg.Store != nil {
		add(h, ofMem0, "POST /reset", "Erase all of the namespace.", long, (*call).mem0Reset)
		add(h, ofMem0, "GET /entities", "The users and agents that hold something.", read, (*call).mem0Entities)
		add(h, ofMem0, "GET /v1/entities/{$}", "The users and agents that hold something.", read, (*call).mem0Users)
	}
	add(h, ofMem0, "GET /v1/ping/{$}", "Whether the key is good.", read, func(c *call, _ *struct{}) (object, error) {
		return object{"status": "ok", "org_id": "einomem", "project_id": c.namespace(), "user_email": nil}, nil
	})
}

func (c *call) mem0Add(in *mem0Add) (object, error) {
	s, err := c.whose(backends.Scope{UserID: in.UserID, AgentID: in.AgentID, SessionID: in.RunID}, access.Write)
	if err != nil {
		return nil, err
	}
	r := &backends.AddRequest{Scope: s, Verbatim: in.Infer != nil && !*in.Infer, Metadata: object{}, Instructions: in.Instructions}
	if r.Expires, err = endOf(in.LastDay); err != nil {
		return nil, err
	}
	maps.Copy(r.Metadata, in.Metadata)
	if in.AppID != "" {
		r.Metadata["app_id"] = in.AppID
	}
	for _, m := range in.Messages {
		x := backends.Message{Message: &schema.Message{Role: schema.RoleType(m.Role), Name: m.Name, Content: textOfContent(m.Content)}}
		if in.Timestamp != 0 {
			x.Time = time.Unix(in.Timestamp, 0).UTC()
		}
		r.Messages = append(r.Messages, x)
	}
	added, err := c.Backend().Add(c, r)
	if err != nil {
		return nil, err
	}
	results := []object{}
	for _, x := range addResponseOf(added).Items {
		m := x.Memory
		results = append(results, object{
			"id": c.idOf(m.ID), "memory": m.Text, "event": mem0Events[x.Outcome], "role": m.Origin.Role, "error": orNull(x.Error),
		})
	}
	return object{"status": "SUCCEEDED", "event_id": backends.NewID(), "results": results}, nil
}

// mem0Events are mem0's words for outcomes.
var mem0Events = map[backends.Outcome]string{
	backends.OutcomeAdded: "ADD", backends.OutcomeUpdated: "UPDATE", backends.OutcomeSuperseded: "UPDATE",
	backends.OutcomeRetracted: "DELETE", backends.OutcomeDeleted: "DELETE",
	backends.OutcomeUnchanged: "NONE", backends.OutcomeFailed: "FAILED", backends.OutcomeSkipped: "SKIPPED",
}

// mem0Find answers with a page of the hits of a query, or of all memories if the query is blank.
func (c *call) mem0Find(in *mem0Query) (object, error) {
	s, filter, err := c.mem0Scope(in, access.Read)
	if err != nil {
		return nil, err
	}
	all, err := c.find(&backends.SearchRequest{
		Scope: s, Query: in.Query, TopK: cmp.Or(in.TopK, 10), Threshold: in.Threshold, Filter: filter,
	})
	if err != nil {
		return nil, err
	}
	size := min(max(cmp.Or(in.PageSize, in.TopK, 100), 1), 1000)
	page := min(max(in.Page, 1), len(all)+1)
	results := []object{}
	for _, h := range cut(all, (page-1)*size, size) {
		m := c.mem0Memory(&h.Memory)
		m["score"] = h.Score
		results = append(results, m)
	}
	out := object{"count": len(all), "next": nil, "previous": nil, "results": results}
	if page*size < len(all) {
		out["next"] = fmt.Sprintf("/v3/memories/?page=%d&page_size=%d", page+1, size)
	}
	return out, nil
}

func (c *call) mem0Get(in *memoryID) (object, error) {
	m, err := c.memory(in.ID)
	return c.mem0Memory(m), err
}

func (c *call) mem0History(in *memoryID) ([]object, error) {
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

func (c *call) mem0Update(in *mem0Change) (object, error) {
	r := &backends.UpdateRequest{Text: in.Text, Metadata: in.Metadata}
	if len(in.LastDay) > 0 {
		expires, err := endOf(in.LastDay)
		if err != nil {
			return nil, err
		}
		r.Expires = &expires
	}
	m, err := c.update(in.ID, r)
	return c.mem0Memory(m), err
}

func (c *call) mem0Delete(in *memoryID) (object, error) {
	return object{"message": "Memory deleted successfully!"}, c.deleteMemory(in.ID)
}

func (c *call) mem0DeleteAll(in *mem0Query) (object, error) {
	s, filter, err := c.mem0Scope(in, access.Write|access.Whole)
	if err != nil {
		return nil, err
	}
	switch {
	case filter == nil && in.UserID == "" && in.AgentID == "": // a deletion for the connection's whole user needs the name
		err = fmt.Errorf("%w: name a user_id or an agent_id", backends.ErrNoScope)
	case filter == nil:
		_, err = c.Erase(c, s, nil)
	default:
		if err = c.lists(); err == nil {
			_, err = c.Manager.DeleteAll(c, &backends.DeleteAllRequest{Scope: s, Filter: filter})
		}
	}
	return object{"message": "Memories deleted successfully!"}, err
}

// partitions lists the partitions of the namespace that the key opens.
func (c *call) partitions() (all []backends.Partition, _ error) {
	in := &pageQuery{Limit: 1000}
	in.Scope.Namespace = c.namespace()
	for more := true; more; more = in.Cursor != "" {
		page, err := c.people(in)
		if err != nil {
			return nil, err
		}
		all, in.Cursor = append(all, page.Partitions...), page.Next
	}
	return all, nil
}

func (c *call) mem0Entities(_ *struct{}) ([]object, error) {
	all, err := c.partitions()
	out := []object{}
	for _, p := range all {
		if p.Kind != backends.PartitionWorkspace {
			out = append(out, object{"id": p.ID, "name": p.ID, "type": p.Kind})
		}
	}
	return out, err
}

func (c *call) mem0Users(in *struct{}) (object, error) {
	all, err := c.mem0Entities(in)
	return object{"count": len(all), "next": nil, "previous": nil, "results": all}, err
}

func (c *call) mem0Erase(in *mem0Entity) (object, error) {
	s, err := c.open(backends.Partition{Namespace: c.namespace(), Kind: backends.PartitionKind(in.Type), ID: in.Name}.Scope(), access.Write|access.Whole)
	if err != nil {
		return nil, err
	}
	if s.Workspace != "" { // a run, an app, or an unknown type
		return nil, fmt.Errorf("%w: only a user and an agent can be erased; to delete a run, name its user_id and run_id", backends.ErrInvalid)
	}
	_, err = c.Erase(c, s, nil)
	return object{"message": "Entity deleted successfully!"}, err
}

func (c *call) mem0Reset(_ *struct{}) (object, error) {
	if err := c.openAll(c.namespace(), access.Write); err != nil {
		return nil, err
	}
	all, err := c.partitions()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if _, err := c.Erase(c, p.Scope(), nil); err != nil {
			return nil, err
		}
	}
	return object{"message": "All memories reset"}, nil
}

// mem0Memory returns a memory of c.scope in mem0's form.
func (c *call) mem0Memory(m *backends.Memory) object {
	if m == nil {
		return nil
	}
	out := object{
		"id": c.idOf(m.ID), "memory": m.Text, "metadata": m.Metadata, "created_at": m.Created, "updated_at": m.Updated,
		"user_id": orNull(m.Scope.UserID), "agent_id": orNull(m.Scope.AgentID), "run_id": orNull(m.Scope.SessionID),
		"app_id": m.Metadata["app_id"], "actor_id": orNull(m.Origin.Speaker), "role": orNull(m.Origin.Role), "expiration_date": nil,
	}
	if !m.Expires.IsZero() {
		out["expiration_date"] = m.Expires.Add(-1).UTC().Format(time.DateOnly)
	}
	return out
}

// endOf returns the end of a day in JSON, UTC; the zero time if it is missing or null.
func endOf(day json.RawMessage) (time.Time, error) {
	if len(day) == 0 || string(day) == "null" {
		return time.Time{}, nil
	}
	t, err := time.Parse(`"2006-01-02"`, string(day))
	if err != nil {
		return t, fmt.Errorf("%w: expiration_date %.40s: use YYYY-MM-DD", backends.ErrInvalid, day)
	}
	return t.AddDate(0, 0, 1), nil
}

// textOfContent returns the text of a message's content, which is a text or a list of parts.
func textOfContent(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // any other form has an empty text
	for _, p := range parts {
		text = strings.TrimSpace(text + " " + p.Text)
	}
	return text
}
