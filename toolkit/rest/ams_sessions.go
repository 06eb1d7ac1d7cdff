// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

type (
	amsMessage struct {
		ID      string    `json:"id,omitempty"`
		Role    string    `json:"role"`
		Content string    `json:"content"`
		Created time.Time `json:"created_at,omitzero"`
	}
	amsSession struct {
		scopeQuery
		ID       string         `json:"session_id,omitempty" path:"session"`
		Recent   int            `json:"-" query:"recent_messages_limit"`
		Offset   int            `json:"-" query:"offset"`
		Limit    int            `json:"-" query:"limit"`
		User     string         `json:"user_id,omitempty"`
		Space    string         `json:"namespace,omitempty"`
		Messages []amsMessage   `json:"messages,omitempty"`
		Memories []amsRecord    `json:"memories,omitempty"`
		Data     map[string]any `json:"data,omitempty"`
		Context  string         `json:"context,omitempty"`
		TTL      int            `json:"ttl_seconds,omitempty"`
	}
	amsPrompt struct {
		Query   string          `json:"query"`
		Session *amsSession     `json:"session,omitempty"`
		Search  json.RawMessage `json:"long_term_search,omitempty"` // true, or as POST /v1/long-term-memory/search
	}
)

// amsSessions are the endpoints of the log of a session. It is not rewritten: to put messages
// appends those that follow what it holds, so that what was put before stays until the
// session is deleted. System messages are left out. Memories of a session are stored as
// long-term ones. Data, a time to live, and a context that is not the summary of the log are
// refused.
func (h *Handler) amsSessions() {
	read, write := traits{}, traits{write: true}
	const base = "/v1/working-memory/"
	add(h, ofAMS, "GET "+base+"{$}", "The sessions of a user, as agent-memory-server.", read, (*call).amsList)
	add(h, ofAMS, "GET "+base+"{session}", "The messages of a session, as agent-memory-server.", read, func(c *call, in *amsSession) (object, error) {
		return c.amsGet(in, false)
	})
	add(h, ofAMS, "PUT "+base+"{session}", "Append the messages that a session does not hold yet, as agent-memory-server.", write, (*call).amsPut)
	add(h, ofAMS, "DELETE "+base+"{session}", "Delete a session, as agent-memory-server.", write, func(c *call, in *amsSession) (object, error) {
		_, s, err := c.amsOpen(in, true)
		if err != nil {
			return nil, err
		}
		return object{"status": "ok"}, c.deleteSession(s)
	})
	add(h, ofAMS, "POST /v1/memory/prompt", "The messages of a session and the memories of its user, as agent-memory-server.", read, (*call).amsPrompt)
}

// amsOpen opens the session of a request.
func (c *call) amsOpen(in *amsSession, write bool) (backends.Partition, backends.Scope, error) {
	s, err := c.whose(backends.Scope{Namespace: cmp.Or(in.Space, in.Scope.Namespace), UserID: cmp.Or(in.User, in.Scope.UserID), SessionID: in.ID}, write)
	if err != nil {
		return backends.Partition{}, s, err
	}
	return c.speaker(s, write)
}

func (c *call) amsList(in *amsSession) (object, error) {
	p, _, err := c.amsOpen(in, false)
	if err != nil {
		return nil, err
	}
	all, err := pages(func(cursor string) (ids []string, next string, err error) {
		page, err := c.cfg.Store.List(c, store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000, Cursor: cursor}})
		if err != nil {
			return nil, "", err
		}
		for i := range page.Sessions {
			ids = append(ids, page.Sessions[i].ID)
		}
		return ids, page.Next, nil
	})
	return object{"sessions": orEmpty(cut(all, in.Offset, cmp.Or(max(in.Limit, 0), 20))), "total": len(all)}, err
}

// amsEntries returns the newest messages of a session's log.
func (c *call) amsEntries(p backends.Partition, session string, limit int) (out []store.Entry, err error) {
	entries, err := c.cfg.Store.Read(c, p, session, store.Range{Last: true, Limit: cmp.Or(max(limit, 0), 10_000)})
	for _, e := range entries {
		if e.Message.Message != nil && einox.Text(e.Message.Message) != "" {
			out = append(out, e)
		}
	}
	return out, err
}

// amsGet returns a session; with orNew also one that has not begun.
func (c *call) amsGet(in *amsSession, orNew bool) (object, error) {
	p, s, err := c.amsOpen(in, false)
	if err != nil {
		return nil, err
	}
	state, err := c.cfg.Store.Session(c, p, s.SessionID)
	if orNew && errors.Is(err, backends.ErrNotFound) {
		now := c.cfg.Clock()
		state, err = &store.Session{Created: now, Updated: now}, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := c.amsEntries(p, s.SessionID, in.Recent)
	messages := []object{}
	for _, e := range entries {
		learnt := "f"
		if e.Seq <= state.Watermark {
			learnt = "t"
		}
		messages = append(messages, object{"id": e.ID, "role": e.Role, "content": einox.Text(e.Message.Message), "created_at": e.Time, "persisted_at": nil, "discrete_memory_extracted": learnt})
	}
	return object{"messages": messages, "memories": []object{}, "data": object{}, "context": orNull(state.Summary), "user_id": orNull(s.UserID), "tokens": state.Tokens,
		"session_id": s.SessionID, "namespace": s.Namespace, "long_term_memory_strategy": object{"strategy": "discrete", "config": object{}}, "ttl_seconds": nil,
		"last_accessed": state.Updated, "created_at": state.Created, "updated_at": state.Updated,
		"context_percentage_total_used": nil, "context_percentage_until_summarization": nil}, err
}

func (c *call) amsPut(in *amsSession) (object, error) {
	p, s, err := c.amsOpen(in, true)
	if err == nil && c.cfg.Memory.Working() == nil {
		err = unsupported("a log of turns")
	}
	if err != nil {
		return nil, err
	}
	before, err := c.amsGet(in, true)
	if err != nil {
		return nil, err
	}
	summary := before["context"].(*string)
	if len(in.Data) > 0 || in.TTL != 0 || in.Context != "" && (summary == nil || *summary != in.Context) {
		return nil, fmt.Errorf("%w: this server keeps no data, time to live and context of a client's own with a session", backends.ErrInvalid)
	}
	messages := slices.DeleteFunc(in.Messages, func(m amsMessage) bool { return m.Role == string(schema.System) || strings.TrimSpace(m.Content) == "" }) // as the log does
	entries, err := c.amsEntries(p, s.SessionID, 0)
	if err == nil {
		err = c.amsStore(in.Memories, s)
	}
	for _, t := range turnsOf(s, messages[known(entries, messages):], entries) {
		if err == nil {
			err = c.cfg.Memory.Working().Append(c, t)
		}
	}
	if err != nil {
		return nil, err
	}
	return c.amsGet(in, true)
}

// known returns how many messages the end of the log holds already: the most that it can be.
func known(log []store.Entry, messages []amsMessage) int {
	n := min(len(log), len(messages))
	for n > 0 && !slices.EqualFunc(log[len(log)-n:], messages[:n], func(e store.Entry, m amsMessage) bool {
		return m.ID != "" && m.ID == e.ID || m.Role == string(e.Role) && strings.TrimSpace(m.Content) == einox.Text(e.Message.Message)
	}) {
		n--
	}
	return n
}

// turnsOf divides messages into turns, each begun by a user's. The first go on with the turn
// that is open in the log.
func turnsOf(s backends.Scope, messages []amsMessage, log []store.Entry) (out []*working.Turn) {
	var t *working.Turn
	if n := len(log); n > 0 && !log[n-1].Done {
		t = &working.Turn{Scope: s, ID: log[n-1].Turn, First: int(log[n-1].Seq)} // above every index in the turn
	}
	for _, m := range messages {
		if t == nil || m.Role == string(schema.User) {
			t = &working.Turn{Scope: s, Time: m.Created}
		}
		if len(t.Messages) == 0 {
			out = append(out, t)
		}
		t.Messages = append(t.Messages, &schema.Message{Role: schema.RoleType(m.Role), Content: m.Content})
		t.Done = m.Role == string(schema.Assistant)
	}
	return out
}

// amsPrompt never searches without a user: a search that names none is that of the session's.
func (c *call) amsPrompt(in *amsPrompt) (object, error) {
	var messages []object
	add := func(role, text string) {
		messages = append(messages, object{"role": role, "content": object{"type": "text", "text": text, "annotations": nil, "_meta": nil}})
	}
	search, searched := &amsSearch{}, len(in.Search) > 0 && string(in.Search) != "false"
	if searched && string(in.Search) != "true" {
		if err := json.Unmarshal(in.Search, search); err != nil {
			return nil, &bodyError{err}
		}
	}
	switch {
	case in.Session != nil:
		of, err := c.amsGet(in.Session, true)
		if err != nil {
			return nil, err
		}
		if summary := of["context"].(*string); summary != nil {
			add("system", "## Summary of what was said before\n"+*summary)
		}
		for _, m := range of["messages"].([]object) {
			role := "assistant"
			if m["role"] == schema.User {
				role = "user"
			}
			add(role, m["content"].(string))
		}
		if len(search.UserID) == 0 {
			search.UserID, search.Namespace = object{"eq": c.scope.UserID}, object{"eq": c.scope.Namespace}
		}
	case !searched:
		return nil, fmt.Errorf("%w: name a session or a long_term_search", backends.ErrInvalid)
	}
	var found object
	if searched {
		var err error
		search.Text = in.Query
		if found, err = c.amsSearch(search); err != nil {
			return nil, err
		}
		text := "## Memories about the question"
		for _, m := range found["memories"].([]object) {
			text += fmt.Sprintf("\n- %s (ID: %s)", m["text"], m["id"])
		}
		add("system", text)
	}
	add("user", in.Query)
	return object{"messages": messages, "long_term_memories": found["memories"]}, nil
}
