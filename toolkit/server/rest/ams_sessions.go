// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/toolkit/server/access"
)

type (
	amsMessage struct {
		Role    string    `json:"role"`
		Content string    `json:"content"`
		Created time.Time `json:"created_at,omitzero"`
	}
	amsSession struct {
		ID        string         `json:"session_id,omitempty" path:"session"`
		UserID    string         `json:"user_id,omitempty" query:"user_id"`
		Namespace string         `json:"namespace,omitempty" query:"namespace"`
		Messages  []amsMessage   `json:"messages,omitempty"`
		Memories  []amsRecord    `json:"memories,omitempty"`
		Data      map[string]any `json:"data,omitempty"`
		Context   string         `json:"context,omitempty"`
		TTL       int            `json:"ttl_seconds,omitempty"`
		Offset    int            `json:"-" query:"offset"` // of a list
		Limit     int            `json:"-" query:"limit"`  // likewise
	}
	amsPrompt struct {
		Query   string      `json:"query"`
		Session *amsSession `json:"session,omitempty"`
		Search  *amsSearch  `json:"long_term_search,omitempty"`
	}
)

// amsLog is the log of a session: its state, without an ID before its first message, and the newest
// messages with a text.
type amsLog struct {
	scope backends.Scope
	messagesResponse
}

// amsSessions are the endpoints of the log of a session. Logs grow at the end only: a put appends
// the messages that follow the log, and earlier messages stay until the session is deleted. System
// messages are left out. Memories of a session are stored as long-term ones. Data, a time to live,
// and a context other than the summary of the log are refused.
func (h *Handler) amsSessions() {
	if h.cfg.Store == nil || h.cfg.Memory.Working() == nil {
		return
	}
	read, write := traits{}, traits{mode: access.Write}
	const base = "/v1/working-memory/"
	add(h, ofAMS, "GET "+base+"{$}", "The sessions of a user.", read, (*call).amsList)
	add(h, ofAMS, "GET "+base+"{session}", "The messages of a session.", read, (*call).amsRead)
	add(h, ofAMS, "PUT "+base+"{session}", "Append the messages that a session does not hold yet.", write, (*call).amsPut)
	add(h, ofAMS, "DELETE "+base+"{session}", "Delete a session.", write, (*call).amsDrop)
	add(h, ofAMS, "POST /v1/memory/prompt", "The messages of a session and the memories of its user.", read, (*call).amsPrompt)
}

// amsOpen opens the session of a request.
func (c *call) amsOpen(in *amsSession, m access.Mode) (scopeQuery, error) {
	s, err := c.whose(backends.Scope{Namespace: in.Namespace, UserID: in.UserID, SessionID: in.ID}, m)
	return scopeQuery{s}, err
}

func (c *call) amsList(in *amsSession) (object, error) {
	of, err := c.amsOpen(in, access.Read)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	page := &pageQuery{scopeQuery: of, Limit: 1000}
	for more := true; more; more = page.Cursor != "" {
		found, err := c.sessions(page)
		if err != nil {
			return nil, err
		}
		for i := range found.Sessions {
			ids = append(ids, found.Sessions[i].ID)
		}
		page.Cursor = found.Next
	}
	return object{"sessions": cut(ids, in.Offset, cmp.Or(max(in.Limit, 0), 20)), "total": len(ids)}, nil
}

func (c *call) amsRead(in *amsSession) (object, error) {
	log, err := c.amsLog(in, access.Read)
	if err == nil && log.Session.ID == "" {
		err = fmt.Errorf("%w: session", backends.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return log.answer(), nil
}

func (c *call) amsDrop(in *amsSession) (object, error) {
	of, err := c.amsOpen(in, access.Write)
	if err != nil {
		return nil, err
	}
	done := object{"status": "ok"}
	if w := c.Window(); w != nil {
		return done, w.DeleteSession(c, of.Scope)
	}
	p, _ := of.Scope.Speaker() // the scope is open, so it has one
	return done, c.Store.Delete(c, p, of.Scope.SessionID)
}

// amsLog opens a session and reads its log, which may be empty.
func (c *call) amsLog(in *amsSession, m access.Mode) (*amsLog, error) {
	of, err := c.amsOpen(in, m)
	if err != nil {
		return nil, err
	}
	found, err := c.messages(&rangeQuery{scopeQuery: of, Limit: 10_000, Last: true})
	if errors.Is(err, backends.ErrNotFound) {
		now := c.cfg.Clock()
		return &amsLog{of.Scope, messagesResponse{Session: session{Created: now, Updated: now}}}, nil
	}
	if err != nil {
		return nil, err
	}
	found.Messages = slices.DeleteFunc(found.Messages, func(e store.Entry) bool { return einox.Text(e.Message.Message) == "" })
	return &amsLog{of.Scope, *found}, nil
}

// answer returns the session in the form of agent-memory-server.
func (l *amsLog) answer() object {
	messages := []object{}
	for i := range l.Messages {
		e, learnt := &l.Messages[i], "f"
		if e.Seq <= l.Session.Learnt {
			learnt = "t"
		}
		messages = append(messages, object{
			"id": e.ID, "role": e.Role, "content": einox.Text(e.Message.Message), "created_at": e.Time,
			"persisted_at": nil, "discrete_memory_extracted": learnt,
		})
	}
	return object{
		"session_id": l.scope.SessionID, "user_id": orNull(l.scope.UserID), "namespace": l.scope.Namespace,
		"messages": messages, "memories": []object{}, "data": object{}, "context": orNull(l.Session.Summary), "tokens": l.Session.Tokens,
		"created_at": l.Session.Created, "updated_at": l.Session.Updated, "last_accessed": l.Session.Updated, "ttl_seconds": nil,
		"long_term_memory_strategy":     object{"strategy": "discrete", "config": object{}},
		"context_percentage_total_used": nil, "context_percentage_until_summarization": nil,
	}
}

func (c *call) amsPut(in *amsSession) (object, error) {
	log, err := c.amsLog(in, access.Write)
	if err != nil {
		return nil, err
	}
	if len(in.Data) > 0 || in.TTL != 0 || in.Context != "" && in.Context != log.Session.Summary {
		return nil, fmt.Errorf("%w: this server keeps no data, time to live and context of a client's own with a session", backends.ErrInvalid)
	}
	if err := c.amsStore(in.Memories, log.scope); err != nil {
		return nil, err
	}
	for _, t := range log.turns(in.Messages) {
		if err := c.Working().Append(c, t); err != nil {
			return nil, err
		}
	}
	if log, err = c.amsLog(in, access.Write); err != nil {
		return nil, err
	}
	return log.answer(), nil
}

// turns divides the messages that follow the log into turns; a user's message begins each. The
// first messages continue the open turn of the log.
func (l *amsLog) turns(messages []amsMessage) (out []*working.Turn) {
	messages = slices.DeleteFunc(messages, func(m amsMessage) bool { // as the log does
		return m.Role == string(schema.System) || einox.Text(m.message()) == ""
	})
	var t *working.Turn
	if n := len(l.Messages); n > 0 && !l.Messages[n-1].Done {
		last := &l.Messages[n-1]
		t = &working.Turn{Scope: l.scope, ID: last.Turn, First: int(last.Seq)} // above every index in the turn
	}
	for _, m := range messages[l.known(messages):] {
		if t == nil || m.Role == string(schema.User) {
			t = &working.Turn{Scope: l.scope, Time: m.Created}
		}
		if len(t.Messages) == 0 {
			out = append(out, t)
		}
		t.Messages = append(t.Messages, m.message())
		t.Done = m.Role == string(schema.Assistant)
	}
	return out
}

func (m *amsMessage) message() *schema.Message {
	return &schema.Message{Role: schema.RoleType(m.Role), Content: m.Content}
}

// known returns how many messages the end of the log holds already: the most possible.
func (l *amsLog) known(messages []amsMessage) int {
	same := func(e store.Entry, m amsMessage) bool {
		return m.Role == string(e.Role) && einox.Text(m.message()) == einox.Text(e.Message.Message)
	}
	n := min(len(l.Messages), len(messages))
	for n > 0 && !slices.EqualFunc(l.Messages[len(l.Messages)-n:], messages[:n], same) {
		n--
	}
	return n
}

// amsPrompt always searches for a user: by default the session's.
func (c *call) amsPrompt(in *amsPrompt) (object, error) {
	if in.Session == nil && in.Search == nil {
		return nil, fmt.Errorf("%w: name a session or a long_term_search", backends.ErrInvalid)
	}
	messages := []object{}
	say := func(role, text string) {
		content := object{"type": "text", "text": text, "annotations": nil, "_meta": nil}
		messages = append(messages, object{"role": role, "content": content})
	}
	if in.Session != nil {
		log, err := c.amsLog(in.Session, access.Read)
		if err != nil {
			return nil, err
		}
		if log.Session.Summary != "" {
			say("system", "## Summary of what was said before\n"+log.Session.Summary)
		}
		for _, e := range log.Messages {
			role := "assistant" // also of a tool's result
			if e.Role == schema.User {
				role = "user"
			}
			say(role, einox.Text(e.Message.Message))
		}
		if in.Search != nil && in.Search.UserID.Eq == "" {
			in.Search.UserID.Eq, in.Search.Namespace.Eq = log.scope.UserID, log.scope.Namespace
		}
	}
	var memories []object
	if in.Search != nil {
		in.Search.Text = in.Query
		found, err := c.amsSearch(in.Search)
		if err != nil {
			return nil, err
		}
		memories = found["memories"].([]object)
		text := "## Memories about the question"
		for _, m := range memories {
			text += fmt.Sprintf("\n- %s (ID: %s)", m["text"], m["id"])
		}
		if len(memories) > 0 {
			say("system", text)
		}
	}
	say("user", in.Query)
	return object{"messages": messages, "long_term_memories": memories}, nil
}
