// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"crypto/md5" //nolint:gosec // mem0's hash of a text, no secret
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

// ofMem0 are the endpoints of mem0's own server, and of its platform, which its Python client
// calls. user_id and agent_id are those of a scope, run_id is its session, and app_id is kept
// in the metadata; the namespace is the key's, or in the header X-Memory-Namespace. What is
// added is stored when it is answered, so that there are no events to wait for. To delete all
// of a user or an agent is to forget them; their history goes, too.
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
		Query       string         `json:"query,omitempty"`
		Filters     map[string]any `json:"filters,omitempty"` // in mem0's grammar: see backends.ParseFilter
		TopK        int            `json:"top_k,omitempty" query:"top_k"`
		Threshold   float64        `json:"threshold,omitempty"`
		Explain     bool           `json:"explain,omitempty"`
		ShowExpired bool           `json:"show_expired,omitempty" query:"show_expired"`
		Page        int            `json:"page,omitempty" query:"page"`
		PageSize    int            `json:"page_size,omitempty" query:"page_size"`
	}
	mem0Message struct {
		Role    string          `json:"role"`
		Name    string          `json:"name,omitempty"`
		Content json.RawMessage `json:"content"` // a text, or parts of which those with a text count
	}
	mem0Add struct {
		mem0IDs
		Messages     []mem0Message   `json:"messages"`
		Metadata     map[string]any  `json:"metadata,omitempty"`
		Infer        *bool           `json:"infer,omitempty"`
		LastDay      json.RawMessage `json:"expiration_date,omitempty"` // YYYY-MM-DD
		Timestamp    int64           `json:"timestamp,omitempty"`       // Unix seconds
		MemoryType   string          `json:"memory_type,omitempty"`
		Prompt       string          `json:"prompt,omitempty"`
		Instructions string          `json:"custom_instructions,omitempty"`
	}
	mem0Change struct {
		idQuery
		MemoryID string          `json:"memory_id,omitempty"` // in a batch
		Text     *string         `json:"text,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
		LastDay  json.RawMessage `json:"expiration_date,omitempty"` // null: never
	}
	mem0Batch struct {
		Memories []mem0Change `json:"memories"`
	}
	mem0Entity struct {
		Type string `json:"type" path:"type"` // user or agent
		Name string `json:"name" path:"id"`
	}
)

func (h *Handler) mem0Routes() {
	read, write, long := traits{}, traits{write: true}, traits{write: true, long: true}
	for _, at := range []struct{ of, base, end, add, search, entities, erase string }{
		{"server", "/memories", "", "/memories", "/search", "/entities", "/entities/{type}/{id}"},
		{"platform", "/v1/memories", "/{$}", "/v3/memories/add/{$}", "/v3/memories/search/{$}", "/v1/entities/{$}", "/v2/entities/{type}/{id}/{$}"},
	} {
		as := ", as mem0's " + at.of + "."
		add(h, ofMem0, "POST "+at.add, "Learn from messages"+as, long, (*call).mem0Add)
		add(h, ofMem0, "POST "+at.search, "Memories that answer a query"+as, read, (*call).mem0Search)
		add(h, ofMem0, "GET "+at.base+"/{id}"+at.end, "One memory"+as, read, func(c *call, in *idQuery) (object, error) {
			_, m, err := c.locate(in.ID, in.scope(), false)
			return c.mem0Memory(m), err
		})
		add(h, ofMem0, "GET "+at.base+"/{id}/history"+at.end, "What happened to a memory"+as, read, (*call).mem0History)
		add(h, ofMem0, "PUT "+at.base+"/{id}"+at.end, "Change a memory"+as, write, (*call).mem0Update)
		add(h, ofMem0, "DELETE "+at.base+"/{id}"+at.end, "Delete a memory; its history stays"+as, write, func(c *call, in *idQuery) (object, error) {
			return object{"message": "Memory deleted successfully!"}, c.deleteAt(in.ID, in.scope())
		})
		add(h, ofMem0, "DELETE "+at.base+at.end, "Delete memories of a run, or erase all of a user or an agent"+as, write, (*call).mem0DeleteAll)
		add(h, ofMem0, "GET "+at.entities, "The users and agents that hold something"+as, read, func(c *call, _ *struct{}) (any, error) {
			all, err := c.mem0Entities()
			if at.end == "" {
				return all, err
			}
			return object{"count": len(all), "next": nil, "previous": nil, "results": all}, err
		})
		add(h, ofMem0, "DELETE "+at.erase, "Erase all of a user or an agent"+as, write, (*call).mem0Erase)
	}
	add(h, ofMem0, "GET /memories", "Memories of a user or an agent, as mem0's server.", read, (*call).mem0List)
	add(h, ofMem0, "POST /v3/memories/{$}", "Memories of a user or an agent, as mem0's platform.", read, (*call).mem0List)
	add(h, ofMem0, "POST /reset", "Erase all of the namespace, as mem0's server.", long, (*call).mem0Reset)
	add(h, ofMem0, "GET /v1/ping/{$}", "Whether the key is good, as mem0's platform.", read, func(c *call, _ *struct{}) (object, error) {
		c.opened = true // it shows nothing of anyone's
		return object{"status": "ok", "org_id": "einomem", "project_id": c.namespace(), "user_email": nil}, nil
	})
	add(h, ofMem0, "PUT /v1/batch/{$}", "Change memories, as mem0's platform.", write, func(c *call, in *mem0Batch) (object, error) {
		return c.mem0Batch(in, func(m *mem0Change) error { _, err := c.mem0Update(m); return err })
	})
	add(h, ofMem0, "DELETE /v1/batch/{$}", "Delete memories, as mem0's platform.", write, func(c *call, in *mem0Batch) (object, error) {
		return c.mem0Batch(in, func(m *mem0Change) error { return c.deleteAt(m.ID, backends.Scope{}) })
	})
	h.unsupported(ofMem0, "exports, summaries, profiles, events and feedback of mem0's platform",
		"POST /v1/exports/", "POST /v1/summary/", "GET /v2/entities/", "POST /v1/feedback/", "GET /v1/event/")
}

func (c *call) mem0Add(in *mem0Add) (object, error) {
	s, err := c.whose(backends.Scope{UserID: in.UserID, AgentID: in.AgentID, SessionID: in.RunID}, true)
	if err != nil {
		return nil, err
	}
	r := &backends.AddRequest{Scope: s, Verbatim: in.Infer != nil && !*in.Infer, Metadata: object{}, Instructions: strings.TrimSpace(in.Prompt + "\n" + in.Instructions)}
	if in.MemoryType == "procedural_memory" {
		r.Kind = backends.KindProcedure
	}
	if maps.Copy(r.Metadata, in.Metadata); in.AppID != "" {
		r.Metadata["app_id"] = in.AppID
	}
	if ends, err := endOf(in.LastDay); err != nil {
		return nil, err
	} else if ends != nil {
		r.Expires = *ends
	}
	for _, m := range in.Messages {
		x := backends.Message{Message: &schema.Message{Role: schema.RoleType(m.Role), Name: m.Name, Content: textOfContent(m.Content)}}
		if in.Timestamp != 0 {
			x.Time = time.Unix(in.Timestamp, 0).UTC()
		}
		r.Messages = append(r.Messages, x)
	}
	added, err := c.cfg.Memory.Backend().Add(c, r)
	if err != nil {
		return nil, err
	}
	results := []object{}
	for _, x := range addResponseOf(added).Items {
		results = append(results, object{"id": c.idOf(x.Memory.ID), "memory": x.Memory.Text, "event": mem0Event(x.Outcome), "role": x.Memory.Origin.Role, "error": orNull(x.Error)})
	}
	return object{"status": "SUCCEEDED", "event_id": backends.NewID(), "results": results}, nil
}

// mem0Event returns mem0's word for what became of a memory, where it has one.
func mem0Event(o backends.Outcome) string {
	return cmp.Or(map[backends.Outcome]string{backends.OutcomeAdded: "ADD", backends.OutcomeUpdated: "UPDATE", backends.OutcomeSuperseded: "UPDATE",
		backends.OutcomeRetracted: "DELETE", backends.OutcomeDeleted: "DELETE", backends.OutcomeUnchanged: "NONE"}[o], strings.ToUpper(string(o)))
}

func (c *call) mem0Search(in *mem0Query) (object, error) {
	s, filter, err := c.mem0Scope(in, false)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Query) == "" {
		return nil, fmt.Errorf("%w: the query is blank", backends.ErrInvalid)
	}
	hits, err := c.find(&backends.SearchRequest{Scope: s, Query: in.Query, TopK: cmp.Or(in.TopK, 10), Threshold: in.Threshold, Filter: filter, IncludeExpired: in.ShowExpired})
	results := []object{}
	for _, h := range hits {
		m := c.mem0Memory(&h.Memory)
		if m["score"] = h.Score; in.Explain {
			m["score_details"] = h.Parts
		}
		results = append(results, m)
	}
	return object{"results": results}, err
}

func (c *call) mem0List(in *mem0Query) (object, error) {
	s, filter, err := c.mem0Scope(in, false)
	if err != nil {
		return nil, err
	}
	all, err := c.find(&backends.SearchRequest{Scope: s, Filter: filter, IncludeExpired: in.ShowExpired})
	size, page := min(max(cmp.Or(in.PageSize, in.TopK, 100), 1), 1000), min(max(in.Page, 1), len(all)+1)
	results := []object{}
	for _, h := range cut(all, (page-1)*size, size) {
		results = append(results, c.mem0Memory(&h.Memory))
	}
	out := object{"count": len(all), "next": nil, "previous": nil, "results": results}
	for name, to := range map[string]int{"next": page + 1, "previous": page - 1} {
		if to > 0 && (to-1)*size < len(all) {
			out[name] = fmt.Sprintf("/v3/memories/?page=%d&page_size=%d", to, size)
		}
	}
	return out, err
}

func (c *call) mem0Update(in *mem0Change) (object, error) {
	ends, err := endOf(in.LastDay)
	if err != nil {
		return nil, err
	}
	manager, id, err := c.place(in.ID, in.scope(), true)
	if err != nil {
		return nil, err
	}
	m, err := manager.Update(c, &backends.UpdateRequest{Scope: c.scope, ID: id, Text: in.Text, Metadata: in.Metadata, Expires: ends})
	if err != nil {
		return nil, err
	}
	out := c.mem0Memory(m)
	out["message"] = "Memory updated successfully!"
	return out, nil
}

// deleteAt deletes the memory that place finds.
func (c *call) deleteAt(id string, s backends.Scope) error {
	manager, id, err := c.place(id, s, true)
	if err != nil {
		return err
	}
	return manager.Delete(c, &backends.DeleteRequest{Scope: c.scope, ID: id})
}

// mem0Batch changes memories one by one, after all of them were found.
func (c *call) mem0Batch(in *mem0Batch, change func(m *mem0Change) error) (object, error) {
	const most = 1000 // as on mem0's platform
	n := len(in.Memories)
	if n == 0 || n > most {
		return nil, fmt.Errorf("%w: %d memories: name 1 to %d", backends.ErrInvalid, n, most)
	}
	for i := range in.Memories {
		in.Memories[i].ID = in.Memories[i].MemoryID
		if _, _, err := c.locate(in.Memories[i].ID, backends.Scope{}, true); err != nil {
			return nil, err
		}
	}
	for i := range in.Memories {
		if err := c.audited(change(&in.Memories[i])); err != nil {
			return nil, fmt.Errorf("memory %d of %d: %w", i+1, n, err)
		}
	}
	return object{"message": fmt.Sprintf("Successfully changed %d memories", n)}, nil
}

func (c *call) mem0History(in *idQuery) ([]object, error) {
	manager, id, err := c.place(in.ID, in.scope(), false)
	if err != nil {
		return nil, err
	}
	events, err := manager.History(c, &backends.HistoryRequest{Scope: c.scope, ID: id})
	if err == nil && len(events) == 0 {
		err = errUnknownID
	}
	out := []object{}
	for _, e := range events {
		out = append(out, object{"id": fmt.Sprintf("%s-%d", e.MemoryID, e.Version), "memory_id": c.idOf(e.MemoryID), "old_memory": orNull(e.Old), "new_memory": orNull(e.New),
			"event": mem0Event(e.Type), "created_at": e.Time, "updated_at": e.Time, "is_deleted": e.Type == backends.OutcomeDeleted, "actor_id": orNull(e.Actor), "role": orNull(e.Role)})
	}
	return out, err
}

func (c *call) mem0DeleteAll(in *mem0Query) (object, error) {
	s, filter, err := c.mem0Scope(in, true)
	if err != nil {
		return nil, err
	}
	done := object{"message": "Memories deleted successfully!"}
	switch {
	case filter == nil && in.UserID+in.AgentID == "": // all of the connection's user is never meant so
		return nil, fmt.Errorf("%w: name a user_id or an agent_id", backends.ErrNoScope)
	case filter == nil:
		return done, c.forget(s)
	}
	manager, err := access.Manager(c.cfg.Memory)
	if err == nil {
		_, err = manager.DeleteAll(c, &backends.DeleteAllRequest{Scope: s, Filter: filter})
	}
	return done, err
}

// mem0Memory returns a memory of c.scope as mem0 has it.
func (c *call) mem0Memory(m *backends.Memory) object {
	if m == nil {
		return nil
	}
	hash := md5.Sum([]byte(m.Text)) //nolint:gosec // see the import
	out := object{"id": c.idOf(m.ID), "memory": m.Text, "hash": hex.EncodeToString(hash[:]), "metadata": m.Metadata, "created_at": m.Created, "updated_at": m.Updated}
	for field, v := range map[string]any{"user_id": m.Scope.UserID, "agent_id": m.Scope.AgentID, "run_id": m.Scope.SessionID, "app_id": m.Metadata["app_id"],
		"actor_id": m.Origin.Speaker, "role": m.Origin.Role} {
		if v != "" && v != nil {
			out[field] = v
		}
	}
	if !m.Expires.IsZero() {
		out["expiration_date"] = m.Expires.Add(-1).UTC().Format(time.DateOnly)
	}
	return out
}

// endOf returns the end of a day, UTC: nil where there is no value, the zero time for null.
func endOf(day json.RawMessage) (*time.Time, error) {
	var text string
	if len(day) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(day, &text); err != nil {
		return nil, &bodyError{err}
	}
	if text == "" {
		return &time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, fmt.Errorf("%w: expiration_date %.40q: use YYYY-MM-DD", backends.ErrInvalid, text)
	}
	t = t.AddDate(0, 0, 1)
	return &t, nil
}

// textOfContent returns the text of a message's content, which is a text or a list of parts.
func textOfContent(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // of another form: it has no text
	for _, p := range parts {
		text = strings.TrimSpace(text + " " + p.Text)
	}
	return text
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
