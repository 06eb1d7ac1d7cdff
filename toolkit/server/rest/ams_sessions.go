// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
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
		ID      string  `json:"id,omitempty"`
		Role    string  `json:"role"`
		Content string  `json:"content"`
		Created amsTime `json:"created_at,omitzero"`
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
		Tokens    int64          `json:"tokens,omitempty" jsonschema:"of the session as the client read it: what came later stays; 0: all is replaced"`
		Offset    int            `json:"-" query:"offset"` // of a list
		Limit     int            `json:"-" query:"limit"`  // likewise
	}
	amsPrompt struct {
		Query   string      `json:"query"`
		Session *amsSession `json:"session,omitempty"`
		Search  *amsSearch  `json:"long_term_search,omitempty"`
	}
)

// amsBlob is the name of the blob with what a client keeps beside the messages of a session.
const amsBlob = "agent-memory-server"

// amsKept is that blob.
type amsKept struct {
	Data     map[string]any    `json:"data,omitempty"`
	Context  string            `json:"context,omitempty"`
	TTL      int               `json:"ttl_seconds,omitempty"`
	Order    []string          `json:"order,omitempty"`    // the ids of entries, as the client put its messages
	Renamed  map[string]string `json:"renamed,omitempty"`  // the client's ids of entries with another one
	Memories []string          `json:"memories,omitempty"` // the ids of memories that were put with the session: see encodeID
}

// amsLog is the log of a session: its state, without an ID before its first put, the newest
// messages with a text in the client's order, and what is kept beside them.
type amsLog struct {
	scope backends.Scope
	messagesResponse
	kept amsKept
	all  []store.Entry // as they were written, also without a text
}

// amsSessions are the endpoints of the log of a session. A put replaces the session. Messages that
// it leaves out are erased, unless they came after the client read the session, as its tokens tell:
// another client wrote them, and this one has yet to see them. A message that is erased before it was learnt from is never learnt
// from. System messages are left out. Memories of a session are stored as long-term ones, and stay
// there.
func (h *Handler) amsSessions() {
	if h.cfg.Store == nil || h.cfg.Memory.Working() == nil {
		return
	}
	read, write := traits{}, traits{mode: access.Write}
	const base = "/v1/working-memory/"
	add(h, ofAMS, "GET "+base+"{$}", "The sessions of a user.", read, (*call).amsList)
	add(h, ofAMS, "GET "+base+"{session}", "A session: its messages, memories, data and context.", read, (*call).amsRead)
	add(h, ofAMS, "PUT "+base+"{session}", "Replace a session.", write, (*call).amsPut)
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
	p, _ := of.Scope.Speaker() // the scope is open, so it has one
	err = store.Each(func(page store.Page) (*store.SessionPage, error) {
		return c.Store.List(c, store.SessionQuery{Partition: &p, Page: page})
	}, func(s store.Session) error { ids = append(ids, s.ID); return nil })
	return object{"sessions": cut(ids, in.Offset, cmp.Or(max(in.Limit, 0), 20)), "total": len(ids)}, err
}

func (c *call) amsRead(in *amsSession) (object, error) {
	log, err := c.amsLog(in, access.Read)
	if err == nil && log.Session.ID == "" {
		err = fmt.Errorf("%w: session", backends.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return c.amsAnswer(log)
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
	p, _ := of.Scope.Speaker()
	return done, c.Store.Delete(c, p, of.Scope.SessionID)
}

// amsLog opens a session and reads its log, which may be empty.
func (c *call) amsLog(in *amsSession, m access.Mode) (*amsLog, error) {
	of, err := c.amsOpen(in, m)
	if err != nil {
		return nil, err
	}
	log := &amsLog{scope: of.Scope, kept: amsKept{Data: object{}}}
	found, err := c.messages(&rangeQuery{scopeQuery: of, Limit: 10_000, Last: true})
	if errors.Is(err, backends.ErrNotFound) {
		now := c.cfg.Clock()
		log.Session.Created, log.Session.Updated = now, now
		return log, nil
	}
	if err != nil {
		return nil, err
	}
	p, _ := of.Scope.Speaker()
	blob, err := c.Store.GetBlob(c, p, of.Scope.SessionID, amsBlob)
	if err == nil {
		err = json.Unmarshal(blob, &log.kept)
	}
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return nil, err
	}
	log.messagesResponse = *found
	// What others append between the two reads is for the next call: the tokens are without it.
	log.all = slices.DeleteFunc(found.Messages, func(e store.Entry) bool { return e.Seq > found.Session.Messages })
	log.Messages = slices.DeleteFunc(slices.Clone(log.all), func(e store.Entry) bool { return einox.Text(e.Message.Message) == "" })
	place := map[string]int{} // in the client's order; what it has yet to see follows
	for i, id := range log.kept.Order {
		place[id] = i - len(log.kept.Order)
	}
	slices.SortStableFunc(log.Messages, func(a, b store.Entry) int { return place[a.ID] - place[b.ID] })
	return log, nil
}

// context is what the client said of earlier messages, else the summary of the log.
func (l *amsLog) context() string { return cmp.Or(l.kept.Context, l.Session.Summary) }

// idOf returns the client's id of an entry.
func (l *amsLog) idOf(e *store.Entry) string { return cmp.Or(l.kept.Renamed[e.ID], e.ID) }

// amsAnswer returns the session in the form of agent-memory-server.
func (c *call) amsAnswer(l *amsLog) (object, error) {
	messages := []object{}
	for i := range l.Messages {
		e, learnt := &l.Messages[i], "f"
		if e.Seq <= l.Session.Learnt {
			learnt = "t"
		}
		messages = append(messages, object{
			"id": l.idOf(e), "role": e.Role, "content": einox.Text(e.Message.Message), "created_at": e.Time,
			"persisted_at": nil, "discrete_memory_extracted": learnt,
		})
	}
	memories := []object{}
	for _, id := range l.kept.Memories {
		m, err := c.memory(id)
		if err == nil {
			memories = append(memories, c.amsMemory(m))
		} else if !errors.Is(err, backends.ErrNotFound) {
			return nil, err
		}
	}
	return object{
		"session_id": l.scope.SessionID, "user_id": orNull(l.scope.UserID), "namespace": l.scope.Namespace,
		"messages": messages, "memories": memories, "data": l.kept.Data, "context": orNull(l.context()), "tokens": max(l.Session.Tokens, amsEmpty),
		"created_at": l.Session.Created, "updated_at": l.Session.Updated, "last_accessed": l.Session.Updated,
		"long_term_memory_strategy": object{"strategy": "discrete", "config": object{}}, "ttl_seconds": orNull(l.kept.TTL),
		"context_percentage_total_used": nil, "context_percentage_until_summarization": nil,
	}, nil
}

func (c *call) amsPut(in *amsSession) (object, error) {
	if in.TTL < 0 {
		return nil, fmt.Errorf("%w: ttl_seconds is negative", backends.ErrInvalid)
	}
	log, err := c.amsLog(in, access.Write)
	if err != nil {
		return nil, err
	}
	p, _ := log.scope.Speaker()
	if c.Context, err = store.Begin(c.Context, c.Store, p); err != nil {
		return nil, err
	}
	put, err := c.amsMerge(log, in)
	if err == nil {
		put.kept.Memories, err = c.amsStore(in.Memories, log.scope)
	}
	if err == nil {
		put.kept.Context, err = c.redacted(in.Context)
	}
	if err == nil {
		put.kept.Data = in.Data
		_, err = c.redact(in.Data)
	}
	if err != nil {
		return nil, err
	}
	if err := put.write(c, p, log); err != nil {
		return nil, err
	}
	if log, err = c.amsLog(in, access.Write); err != nil {
		return nil, err
	}
	return c.amsAnswer(log)
}

// write replaces the session of a log by what was put. Repeating it is harmless.
func (put *amsUpdate) write(c *call, p backends.Partition, log *amsLog) error {
	id := log.scope.SessionID
	for _, t := range put.turns {
		if err := c.Working().Append(c, t); err != nil {
			return err
		}
	}
	if _, err := c.Store.Append(c, p, id, &store.Append{Scope: log.scope}); err != nil { // it may be without messages
		return err
	}
	if len(put.gone) > 0 {
		if _, err := c.Store.EraseMessages(c, p, id, put.gone...); err != nil {
			return err
		}
	}
	blob, err := json.Marshal(put.kept)
	if err == nil {
		err = c.Store.PutBlob(c, p, id, amsBlob, blob)
	}
	if err != nil || put.kept.TTL == log.kept.TTL && put.kept.TTL == 0 {
		return err
	}
	var ends time.Time // never
	if ttl := time.Duration(put.kept.TTL) * time.Second; ttl > 0 {
		ends = c.cfg.Clock().Add(ttl)
	}
	_, err = c.Store.Update(c, p, &store.SessionUpdate{Session: id, Expires: &ends})
	return err
}

// amsUpdate is what a put changes in a session.
type amsUpdate struct {
	turns []*working.Turn // to append
	gone  []int64         // to erase
	kept  amsKept
}

// amsMerge compares the messages of a put with the log. A message is known by its id and its text,
// and by its role and its text if it has no id.
func (c *call) amsMerge(log *amsLog, in *amsSession) (*amsUpdate, error) {
	put := &amsUpdate{kept: amsKept{TTL: in.TTL, Renamed: map[string]string{}}}
	known, used, at := map[string]bool{}, map[string]bool{}, log.index()
	var t *working.Turn
	for i := range log.all {
		used[log.all[i].ID] = true
	}
	if n := len(log.all); n > 0 && !log.all[n-1].Done {
		t = &working.Turn{Scope: log.scope, ID: log.all[n-1].Turn, First: int(log.all[n-1].Seq)} // above every index in the turn
	}
	for _, m := range in.Messages {
		said := einox.Text(m.message())
		if m.Role == string(schema.System) || said == "" { // as the log does
			continue
		}
		stored, err := c.admitted(m.message())
		if err != nil {
			return nil, err
		}
		if e := at.take(m.ID, stored); e != nil {
			known[e.ID] = true
			put.keep(e.ID, m.ID)
			continue
		}
		if t == nil || m.Role == string(schema.User) {
			t = &working.Turn{Scope: log.scope, Time: m.Created.Time}
		}
		if len(t.Messages) == 0 {
			put.turns = append(put.turns, t)
		}
		id := cmp.Or(m.ID, backends.NewID())
		for n := 2; used[id]; n++ { // it was changed
			id = fmt.Sprint(m.ID, "~", n)
		}
		used[id] = true
		put.keep(id, m.ID)
		t.Messages, t.IDs, t.Done = append(t.Messages, m.message()), append(t.IDs, id), m.Role == string(schema.Assistant)
	}
	for _, e := range log.seen(in.Tokens) {
		if !known[e.ID] && einox.Text(e.Message.Message) != "" {
			put.gone = append(put.gone, e.Seq)
		}
	}
	return put, nil
}

// amsIndex finds the entries of a log by id, role and text, and by role and text.
type amsIndex map[[3]string][]*store.Entry

func (l *amsLog) index() amsIndex {
	at := amsIndex{}
	for i := range l.Messages {
		e := &l.Messages[i]
		for _, id := range []string{l.idOf(e), ""} {
			key := [3]string{id, string(e.Role), einox.Text(e.Message.Message)}
			at[key] = append(at[key], e)
		}
	}
	return at
}

// take returns the first entry of a message, and takes it out. It returns nil for a message that is
// new or changed.
func (at amsIndex) take(id string, m *schema.Message) *store.Entry {
	key := [3]string{id, string(m.Role), einox.Text(m)}
	if len(at[key]) == 0 {
		return nil
	}
	e := at[key][0]
	at[key] = at[key][1:]
	return e
}

// amsEmpty is the number of tokens of a session without messages, so that a client that read it
// differs from one that did not. Any message has more.
const amsEmpty = 1

// seen returns the entries that a client knew when the session had so many tokens; 0: all.
func (l *amsLog) seen(tokens int64) []store.Entry {
	after := max(l.Session.Tokens, amsEmpty)
	for n := len(l.all); ; n-- {
		if n == 0 || tokens == 0 || after <= tokens {
			return l.all[:n]
		}
		after -= int64(l.all[n-1].Tokens)
	}
}

// keep notes the next message of a put: the id of its entry, and the client's.
func (put *amsUpdate) keep(id, named string) {
	put.kept.Order = append(put.kept.Order, id)
	if named != "" && named != id {
		put.kept.Renamed[id] = named
	}
}

func (m *amsMessage) message() *schema.Message {
	return &schema.Message{Role: schema.RoleType(m.Role), Content: m.Content}
}

// admitted returns a message as the log stores it.
func (c *call) admitted(m *schema.Message) (*schema.Message, error) {
	e := store.Entry{Message: backends.Message{Message: m}}
	err := c.Working().Admit(c, &e)
	return e.Message.Message, err
}

// redacted returns a text as the log stores it.
func (c *call) redacted(text string) (string, error) {
	m, err := c.admitted(schema.UserMessage(text))
	if err != nil {
		return "", err
	}
	return m.Content, nil
}

// redact redacts the texts in a value of JSON, but for the names in it.
func (c *call) redact(v any) (any, error) {
	var errs error
	put := func(old any) any {
		redacted, err := c.redact(old)
		errs = errors.Join(errs, err)
		return redacted
	}
	switch v := v.(type) {
	case string:
		return c.redacted(v)
	case []any:
		for i := range v {
			v[i] = put(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = put(v[name])
		}
	}
	return v, errs
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
		if before := log.context(); before != "" {
			say("system", "## Summary of what was said before\n"+before)
		}
		for _, e := range log.Messages {
			role := "assistant" // also of a tool's result
			if e.Role == schema.User {
				role = "user"
			}
			say(role, einox.Text(e.Message.Message))
		}
		if in.Search != nil && len(in.Search.UserID) == 0 {
			in.Search.UserID, in.Search.Namespace = amsOne{"eq": log.scope.UserID}, amsOne{"eq": log.scope.Namespace}
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
