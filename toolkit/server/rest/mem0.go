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
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/toolkit/server/access"
)

// ofMem0 are the endpoints of mem0's own server, and the ones of its platform that its clients
// call. user_id and agent_id are a scope's, run_id is its session, and app_id goes to the
// metadata. The namespace is the key's, or in the header X-Memory-Namespace. An add is stored
// before its answer, so that there are no events to wait for. Deleting all memories of a user or an
// agent forgets them; their history goes, too. An unknown argument is refused, with a list of the
// known ones.
var ofMem0 = &family{tag: "mem0", fail: detailed, strict: true}

type (
	mem0IDs struct {
		UserID  string `json:"user_id,omitempty" query:"user_id"`
		AgentID string `json:"agent_id,omitempty" query:"agent_id"`
		RunID   string `json:"run_id,omitempty" query:"run_id"`
		AppID   string `json:"app_id,omitempty" query:"app_id"`
	}
	// mem0Unused are arguments of clients that ask for nothing here: a name of the client, the
	// account on the platform, and forms of answers that all clients read.
	mem0Unused struct {
		Source  string `json:"source,omitempty" query:"source"`
		Org     string `json:"org_id,omitempty" query:"org_id"`
		Project string `json:"project_id,omitempty" query:"project_id"`
		Form    string `json:"output_format,omitempty" query:"output_format"`
		Version string `json:"version,omitempty" query:"version"`
		Async   bool   `json:"async_mode,omitempty" query:"async_mode"`
		Graph   bool   `json:"enable_graph,omitempty" query:"enable_graph"`
	}
	mem0Query struct {
		mem0IDs
		mem0Unused
		Query      string         `json:"query,omitempty"`
		Filters    map[string]any `json:"filters,omitempty"`  // in mem0's grammar: see backends.ParseFilter
		Metadata   map[string]any `json:"metadata,omitempty"` // values that it has
		Categories []string       `json:"categories,omitempty"`
		Start      string         `json:"start_date,omitempty"`
		End        string         `json:"end_date,omitempty"` // a day counts as a whole
		Fields     []string       `json:"fields,omitempty"`   // Optional. Defaults to all.
		TopK       int            `json:"top_k,omitempty" query:"top_k"`
		Limit      int            `json:"limit,omitempty" query:"limit"` // an older name of top_k
		Threshold  *float64       `json:"threshold,omitempty"`           // Optional. Defaults to 0.32, 0.1 of ours: see mem0Find.
		Expired    bool           `json:"show_expired,omitempty" query:"show_expired"`
		Latest     *bool          `json:"latest_only,omitempty"`    // false: also superseded ones
		Rerank     bool           `json:"rerank,omitempty"`         // the server's ranking decides
		Keyword    bool           `json:"keyword_search,omitempty"` // words always count
		Page       int            `json:"page,omitempty" query:"page"`
		PageSize   int            `json:"page_size,omitempty" query:"page_size"`
	}
	mem0Message struct {
		Role    string          `json:"role"`
		Name    string          `json:"name,omitempty"`
		Content json.RawMessage `json:"content"` // a text, or parts; the texts of parts count
	}
	mem0Add struct {
		mem0IDs
		mem0Unused
		Messages     []mem0Message   `json:"messages"`
		Filters      map[string]any  `json:"filters,omitempty"` // ids
		Metadata     map[string]any  `json:"metadata,omitempty"`
		Infer        *bool           `json:"infer,omitempty"`
		LastDay      json.RawMessage `json:"expiration_date,omitempty"` // YYYY-MM-DD
		Timestamp    int64           `json:"timestamp,omitempty"`       // Unix seconds
		Instructions string          `json:"custom_instructions,omitempty"`
		ForAgent     string          `json:"agent_custom_instructions,omitempty"` // without a user_id
		Prompt       string          `json:"prompt,omitempty"`                    // another name of custom_instructions
		Type         string          `json:"memory_type,omitempty"`               // procedural_memory
	}
	mem0Change struct {
		memoryID
		mem0Unused
		mem0New
	}
	mem0New struct {
		Text     *string         `json:"text,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
		LastDay  json.RawMessage `json:"expiration_date,omitempty"` // null: it lasts forever
	}
	mem0One struct {
		memoryID
		mem0Unused
		Linked bool `json:"delete_linked,omitempty" query:"delete_linked" jsonschema:"also the memories that it superseded"`
	}
	mem0All struct {
		mem0IDs
		mem0Unused
		Filters string `json:"-" query:"filters" jsonschema:"JSON, or a dict as Python prints it"`
	}
	mem0Entity struct {
		mem0Unused
		Type string `json:"type" path:"type"` // user, agent, run or app
		Name string `json:"name" path:"id"`
	}
	mem0Pages struct {
		mem0Unused
		Page     int `json:"page,omitempty" query:"page"`
		PageSize int `json:"page_size,omitempty" query:"page_size"`
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
		add(h, ofMem0, "GET "+at.memories+at.end, "Memories of a user or an agent.", read, (*call).mem0Find)
		add(h, ofMem0, "GET "+one+at.end, "One memory.", read, (*call).mem0Get)
		add(h, ofMem0, "GET "+one+"/history"+at.end, "What happened to a memory.", read, (*call).mem0History)
		add(h, ofMem0, "PUT "+one+at.end, "Change a memory.", write, (*call).mem0Update)
		add(h, ofMem0, "DELETE "+one+at.end, "Delete a memory; its history stays.", write, (*call).mem0Delete)
		add(h, ofMem0, "DELETE "+at.memories+at.end, "Delete a run or an app, or erase all of a user or an agent.", write, (*call).mem0DeleteAll)
		add(h, ofMem0, "DELETE "+at.entity, "Delete a run or an app, or erase all of a user or an agent.", write, (*call).mem0Erase)
	}
	add(h, ofMem0, "POST /v3/memories/{$}", "Memories of a user or an agent.", read, (*call).mem0Find)
	// Clients of the years before v3, which other projects still pin.
	add(h, ofMem0, "POST /v1/memories/{$}", "Learn from messages.", long, (*call).mem0Add)
	add(h, ofMem0, "POST /v2/memories/{$}", "Memories of a user or an agent.", read, (*call).mem0Find)
	add(h, ofMem0, "POST /v1/memories/search/{$}", "Memories that answer a query.", read, (*call).mem0Find)
	add(h, ofMem0, "POST /v2/memories/search/{$}", "Memories that answer a query.", read, (*call).mem0Find)
	add(h, ofMem0, "PUT /v1/batch/{$}", "Change memories, all or none of the unknown ids.", write, (*call).mem0UpdateBatch)
	add(h, ofMem0, "DELETE /v1/batch/{$}", "Delete memories; their histories stay.", write, (*call).mem0DeleteBatch)
	add(h, ofMem0, "POST /v1/feedback/{$}", "Say whether a memory was of use.", write, (*call).mem0Feedback)
	add(h, ofMem0, "POST /v1/exports/{$}", "Prepare an export by a schema.", read, (*call).mem0Export)
	add(h, ofMem0, "POST /v1/exports/get/{$}", "An export.", read, (*call).mem0Exported)
	add(h, ofMem0, "GET /v2/entities/user/{id}/profile/{$}", "The typed document about a user.", read, (*call).mem0Profile)
	if h.cfg.Store != nil {
		add(h, ofMem0, "POST /reset", "Erase all of the namespace.", long, (*call).mem0Reset)
		add(h, ofMem0, "GET /entities", "The users and agents that hold something.", read, (*call).mem0Entities)
		add(h, ofMem0, "GET /v1/entities/{$}", "The users and agents that hold something.", read, (*call).mem0Users)
	}
	add(h, ofMem0, "GET /v1/ping/{$}", "Whether the key is good.", read, func(c *call, _ *mem0Unused) (object, error) {
		return object{"status": "ok", "org_id": "einomem", "project_id": c.namespace(), "user_email": nil}, nil
	})
}

func (c *call) mem0Add(in *mem0Add) (object, error) {
	if err := in.readIDs(in.Filters); err != nil {
		return nil, err
	}
	s, err := c.whose(backends.Scope{UserID: in.UserID, AgentID: in.AgentID, SessionID: in.RunID}, access.Write)
	if err != nil {
		return nil, err
	}
	r, err := in.request(s)
	if err != nil {
		return nil, err
	}
	if _, alone := c.Backend().(*reme.Backend); alone && r.Kind == backends.KindFact {
		r.Kind = "" // it has no facts
	}
	added, err := c.Backend().Add(c, r)
	if err != nil {
		return nil, err
	}
	results := []object{}
	for _, x := range addResponseOf(added).Items {
		if m := x.Memory; m.Kind != backends.KindEpisode {
			results = append(results, object{
				"id": c.idOf(m.ID), "memory": m.Text, "event": mem0Events[x.Outcome], "role": m.Origin.Role, "error": orNull(x.Error),
			})
		}
	}
	return object{"status": "SUCCEEDED", "event_id": backends.NewID(), "results": results}, nil
}

// request asks for facts: those that a model finds or, without one and with infer false, the
// messages as they are.
func (in *mem0Add) request(s backends.Scope) (r *backends.AddRequest, err error) {
	r = &backends.AddRequest{Scope: s, Kind: backends.KindFact, Verbatim: in.Infer != nil && !*in.Infer, Metadata: object{}}
	if r.Instructions = cmp.Or(in.Instructions, in.Prompt); s.UserID == "" {
		r.Instructions = cmp.Or(in.ForAgent, r.Instructions)
	}
	switch in.Type {
	case "":
	case "procedural_memory":
		r.Kind = backends.KindProcedure
	default:
		return nil, fmt.Errorf("%w: memory_type is procedural_memory, or it is left out", backends.ErrInvalid)
	}
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
	return r, nil
}

// mem0Events are mem0's words for outcomes.
var mem0Events = map[backends.Outcome]string{
	backends.OutcomeAdded: "ADD", backends.OutcomeUpdated: "UPDATE", backends.OutcomeSuperseded: "UPDATE",
	backends.OutcomeRetracted: "DELETE", backends.OutcomeDeleted: "DELETE",
	backends.OutcomeUnchanged: "NONE", backends.OutcomeFailed: "FAILED", backends.OutcomeSkipped: "SKIPPED",
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
