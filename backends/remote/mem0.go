// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
)

// What the adapter keeps in the metadata of mem0's memories, beside the caller's keys.
const (
	mem0Key    = "einomem_key"    // the idempotency key under which it was learnt
	mem0Memory = "einomem_memory" // the fields that mem0 does not have
)

const (
	firstPoll = 200 * time.Millisecond // between two looks at an event of the platform, doubled
	lastPoll  = 5 * time.Second        // up to this
)

// Mem0 is a backend on a mem0 server, or on the mem0 platform. It implements
// backends.Manager. It is safe for concurrent use.
type Mem0 struct {
	*frame
	addPath, searchPath, path string
	slash                     string // at the end of paths
}

var (
	_ backends.Backend = (*Mem0)(nil)
	_ backends.Manager = (*Mem0)(nil)
)

// NewMem0 returns a backend on the server of cfg.BaseURL: the platform where cfg.Platform is
// set, else an open-source server. It makes no request yet. A malformed config is ErrInvalid.
func NewMem0(cfg *Config) (*Mem0, error) {
	m := &Mem0{addPath: "/memories", searchPath: "/search", path: "/memories/%s"}
	var err error
	if m.frame, err = newFrame("mem0", cfg, m); err != nil {
		return nil, err
	}
	if !m.cfg.Platform {
		return m, m.connect("X-API-Key", "")
	}
	m.addPath, m.searchPath, m.path, m.slash = "/v3/memories/add/", "/v3/memories/search/", "/v1/memories/%s", "/"
	return m, m.connect("Authorization", "Token ")
}

// mem0Row is a memory as the server has it, or what became of one.
type mem0Row struct {
	ID       string
	Memory   string
	UserID   string `json:"user_id"`
	AgentID  string `json:"agent_id"`
	Role     string
	Metadata map[string]any
	Score    float64
	Created  string `json:"created_at"`
	Updated  string `json:"updated_at"`
	Event    string // of an addition
	Previous string `json:"previous_memory"`
	Data     struct{ Memory string }
}

// identity returns the field and the value by which mem0 keeps a partition apart.
func (m *Mem0) identity(p backends.Partition) (field, value string) {
	field, plain := "user_id", ""
	if p.Kind == backends.PartitionAgent {
		field = "agent_id"
	}
	if p.Namespace == backends.DefaultNamespace {
		plain = p.ID
	}
	return field, m.cfg.partitionName(p, plain)
}

func (m *Mem0) belongs(p backends.Partition) func(*mem0Row) bool {
	field, value := m.identity(p)
	return func(r *mem0Row) bool {
		if field == "agent_id" { // what a user said to an agent is the user's
			return r.AgentID == value && r.UserID == ""
		}
		return r.UserID == value
	}
}

func (m *Mem0) memoryOf(p backends.Partition, r *mem0Row) backends.Memory {
	out := decode(r.Metadata[mem0Memory], p)
	out.ID, out.Text, out.Metadata = r.ID, cmp.Or(r.Memory, r.Data.Memory), maps.Clone(r.Metadata)
	out.Created, out.Updated = timeOf(r.Created, time.UTC), timeOf(r.Updated, time.UTC)
	maps.DeleteFunc(out.Metadata, func(k string, v any) bool { return v == nil || k == mem0Key || k == mem0Memory })
	return out
}

func (m *Mem0) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (hits []backends.Hit, err error) {
	rows, err := m.find(ctx, p, map[string]any{"query": r.Query, "top_k": r.TopK}, nil)
	for i := range rows {
		hits = append(hits, backends.Hit{Memory: m.memoryOf(p, &rows[i]), Score: min(max(rows[i].Score, 0), 1)})
	}
	return hits, err
}

// find searches a partition, also by a field of the metadata.
func (m *Mem0) find(ctx context.Context, p backends.Partition, body, also map[string]any) ([]mem0Row, error) {
	field, value := m.identity(p)
	filters := map[string]any{field: value}
	maps.Copy(filters, also)
	body["filters"] = filters
	var out struct{ Results []mem0Row }
	err := m.do(ctx, call{doing: "searching", method: http.MethodPost, path: m.searchPath, body: body, out: &out})
	return own(ctx, m.frame, out.Results, m.belongs(p)), err
}

func (m *Mem0) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error) {
	drafts, _ := m.drafts(p, r, said[len(said)-1:])
	draft := drafts[0]
	if draft.ID, draft.Text, draft.Metadata = "", "", nil; !r.Verbatim {
		draft.Kind = backends.KindFact
	}
	kept, _ := json.Marshal(draft)
	metadata := map[string]any{mem0Memory: string(kept)}
	maps.Copy(metadata, r.Metadata)
	if r.IdempotencyKey != "" { // the server knows no keys: what an earlier try stored bears ours
		metadata[mem0Key] = r.IdempotencyKey
		rows, err := m.find(ctx, p, map[string]any{"query": said[0].Content, "top_k": maxTopK, "threshold": 0}, map[string]any{mem0Key: r.IdempotencyKey})
		rows = slices.DeleteFunc(rows, func(row mem0Row) bool { return row.Metadata[mem0Key] != r.IdempotencyKey })
		if err != nil || len(rows) > 0 {
			return m.items(p, rows, nil), err
		}
	}
	field, value := m.identity(p)
	body := map[string]any{"messages": said, field: value, "metadata": metadata, "infer": !r.Verbatim}
	if r.Instructions != "" {
		body["prompt"], body["custom_instructions"] = r.Instructions, r.Instructions // the server's name, and the platform's
	}
	var out mem0Event
	err := m.do(ctx, call{doing: "learning", method: http.MethodPost, path: m.addPath, body: body, out: &out, slow: true, once: true})
	if err == nil && out.EventID != "" && out.Results == nil {
		err = m.await(ctx, &out)
	}
	return m.items(p, out.Results, metadata), err
}

// mem0Event is what became of an addition. The platform carries it out later.
type mem0Event struct {
	EventID string `json:"event_id"`
	Status  string
	Results []mem0Row
}

// await waits until the platform carried out an addition.
func (m *Mem0) await(ctx context.Context, e *mem0Event) error {
	ctx, cancel := context.WithTimeoutCause(ctx, m.cfg.LearnTimeout, m.errorf("learning", backends.ErrUnavailable, "event %s does not end", e.EventID))
	defer cancel()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		err := m.do(ctx, call{doing: "learning", method: http.MethodGet, path: "/v1/event/" + url.PathEscape(e.EventID) + "/", out: e})
		switch {
		case err != nil || e.Status == "SUCCEEDED":
			return err
		case e.Status == "FAILED":
			return m.errorf("learning", backends.ErrUnavailable, "the platform says that event %s failed", e.EventID)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// outcomes are what mem0 calls them. Releases before version 2 also update and delete.
var outcomes = map[string]backends.Outcome{
	"": backends.OutcomeAdded, "ADD": backends.OutcomeAdded, "UPDATE": backends.OutcomeUpdated, "DELETE": backends.OutcomeRetracted, "NONE": backends.OutcomeUnchanged,
}

// items reports what became of an addition, whose answer repeats no metadata.
func (m *Mem0) items(p backends.Partition, rows []mem0Row, metadata map[string]any) (out []backends.Item) {
	for _, row := range rows {
		if metadata != nil {
			row.Metadata = metadata
		}
		item := backends.Item{Outcome: cmp.Or(outcomes[row.Event], backends.Outcome(row.Event)), Memory: m.memoryOf(p, &row)}
		if row.Previous != "" {
			item.Previous = &backends.Memory{ID: row.ID, Text: row.Previous, Kind: item.Memory.Kind, Scope: item.Memory.Scope}
		}
		out = append(out, item)
	}
	return out
}

// one does something with one memory.
func (m *Mem0) one(ctx context.Context, doing, method, id, below string, body, out any) error {
	return m.do(ctx, call{doing: doing, method: method, path: fmt.Sprintf(m.path, url.PathEscape(id)) + below + m.slash, body: body, out: out, id: id})
}

// Get implements backends.Manager.
func (m *Mem0) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	_, p, err := m.enter(r.Scope)
	if err != nil {
		return nil, err
	}
	defer m.calls.Leave()
	var row mem0Row // stays empty for the null of an id that is not known
	if err := m.one(ctx, "reading", http.MethodGet, r.ID, "", nil, &row); err != nil {
		return nil, err
	}
	if r.ID == "" || row.ID != r.ID || !m.belongs(p)(&row) {
		return nil, m.errorf("reading", backends.ErrNotFound, "memory %q", r.ID)
	}
	out := m.memoryOf(p, &row)
	return &out, nil
}

// all returns the memories of a partition that fit, in the order in which they were stored. A
// server that is not the platform lists 1000 at most: where that may not be all, OnError
// gets an error.
func (m *Mem0) all(ctx context.Context, s backends.Scope, f *backends.Filter) (all []backends.Memory, more bool, err error) {
	fits, err := f.Compile()
	if err != nil {
		return nil, false, err
	}
	_, p, err := m.enter(s)
	if err != nil {
		return nil, false, err
	}
	defer m.calls.Leave()
	field, value := m.identity(p)
	for page, next := 1, true; next && err == nil; page++ {
		var out struct {
			Results []mem0Row
			Next    *string
		}
		c := call{doing: "listing", method: http.MethodGet, path: m.addPath, out: &out, query: url.Values{field: {value}, "top_k": {strconv.Itoa(maxTopK)}, "show_expired": {"true"}}}
		if m.cfg.Platform {
			c.method, c.path, c.query = http.MethodPost, "/v3/memories/", url.Values{"page": {strconv.Itoa(page)}, "page_size": {"100"}}
			c.body = map[string]any{"filters": map[string]any{field: value}, "show_expired": true}
		}
		err = m.do(ctx, c)
		if next = out.Next != nil; c.body == nil && len(out.Results) >= maxTopK {
			more = true
			m.report(ctx, m.errorf("listing", backends.ErrUnavailable, "the server lists %d memories alone", maxTopK))
		}
		for _, row := range own(ctx, m.frame, out.Results, m.belongs(p)) {
			if one := m.memoryOf(p, &row); fits(&one) {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b backends.Memory) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all, more, err
}

// List implements backends.Manager. Each page reads all of the partition, of which a server
// that is not the platform lists 1000 memories at most.
func (m *Mem0) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	from, err := strconv.Atoi(cmp.Or(r.Cursor, "0"))
	if err != nil || from < 0 || r.Limit < 0 || r.Limit > maxTopK {
		return nil, m.errorf("listing", backends.ErrInvalid, "Limit %d, Cursor %q", r.Limit, r.Cursor)
	}
	all, _, err := m.all(ctx, r.Scope, r.Filter)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one backends.Memory) bool {
		return len(r.Kinds) > 0 && !slices.Contains(r.Kinds, one.Kind) || !r.IncludeExpired && one.Expired(m.cfg.Clock())
	})
	upto := min(from+cmp.Or(r.Limit, 100), len(all))
	out := &backends.ListResponse{Memories: all[min(from, upto):upto]}
	if upto < len(all) {
		out.Next = strconv.Itoa(upto)
	}
	return out, nil
}

// Update implements backends.Manager for Text and Metadata: the server has nothing else.
func (m *Mem0) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	if r.Version != 0 || r.Quality != nil || r.Expires != nil {
		return nil, m.errorf("updating", backends.ErrInvalid, "Text and Metadata alone can be updated")
	}
	get, body := &backends.GetRequest{Scope: r.Scope, ID: r.ID}, map[string]any{}
	if r.Text != nil {
		body["text"] = *r.Text
	}
	if r.Metadata != nil {
		body["metadata"] = r.Metadata // the server merges, too; null stays, and is not returned
	}
	_, err := m.Get(ctx, get)
	if err == nil {
		err = m.one(ctx, "updating", http.MethodPut, r.ID, "", body, nil)
	}
	if err != nil {
		return nil, err
	}
	return m.Get(ctx, get)
}

// Delete implements backends.Manager.
func (m *Mem0) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r.Version != 0 {
		return m.errorf("deleting", backends.ErrInvalid, "Version: the server keeps none")
	}
	if _, err := m.Get(ctx, &backends.GetRequest{Scope: r.Scope, ID: r.ID}); err != nil {
		return err
	}
	return m.one(ctx, "deleting", http.MethodDelete, r.ID, "", nil, nil)
}

// DeleteAll implements backends.Manager, memory by memory: the count is also right beside an
// error. What the server is learning meanwhile may come after it.
func (m *Mem0) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (deleted int, err error) {
	for {
		all, more, err := m.all(ctx, r.Scope, r.Filter)
		for i := 0; i < len(all) && err == nil; i++ {
			if err = m.one(ctx, "deleting", http.MethodDelete, all[i].ID, "", nil, nil); err == nil {
				deleted++
			} else if errors.Is(err, backends.ErrNotFound) {
				err = nil
			}
		}
		if err != nil || !more || len(all) == 0 {
			return deleted, err
		}
	}
}

// History implements backends.Manager for memories that exist: of one that is deleted nothing
// says whose it was, and it is ErrNotFound.
func (m *Mem0) History(ctx context.Context, r *backends.HistoryRequest) (out []backends.Event, err error) {
	if _, err := m.Get(ctx, &backends.GetRequest{Scope: r.Scope, ID: r.ID}); err != nil {
		return nil, err
	}
	var rows []struct {
		Event, Role string
		Old         string `json:"old_memory"`
		New         string `json:"new_memory"`
		Created     string `json:"created_at"`
		Updated     string `json:"updated_at"`
	}
	err = m.one(ctx, "reading the history", http.MethodGet, r.ID, "/history", nil, &rows)
	for _, row := range rows {
		out = append(out, backends.Event{MemoryID: r.ID, Type: outcomes[row.Event], Old: row.Old, New: row.New, Role: row.Role, Time: timeOf(cmp.Or(row.Updated, row.Created), time.UTC)})
	}
	return out, err
}
