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
const mem0Key = "einomem_key" // the idempotency key under which it was learnt, beside MemoryKey

// Mem0 is a backend on a mem0 server, or on the mem0 platform. It implements
// backends.Manager. It is safe for concurrent use.
type Mem0 struct {
	*frame
	addPath, searchPath, listPath, path string
	slash                               string // at the end of paths
}

// NewMem0 returns a backend on the server of cfg.BaseURL: the platform where cfg.Platform is
// set, else an open-source server. It makes no request yet. A malformed config is ErrInvalid.
func NewMem0(cfg *Config) (*Mem0, error) {
	m := &Mem0{frame: newFrame("mem0", cfg), addPath: "/memories", searchPath: "/search", listPath: "/memories", path: "/memories/%s"}
	if m.server = m; !m.cfg.Platform {
		return m, m.connect("X-API-Key", "")
	}
	m.addPath, m.searchPath, m.listPath, m.path, m.slash = "/v3/memories/add/", "/v3/memories/search/", "/v3/memories/", "/v1/memories/%s", "/"
	return m, m.connect("Authorization", "Token ")
}

// mem0Row is a memory as the server has it, or what became of one.
type mem0Row struct {
	ID, Memory, Event string
	UserID            string `json:"user_id"`
	AgentID           string `json:"agent_id"`
	Metadata          map[string]any
	Score             float64
	Created           string `json:"created_at"`
	Updated           string `json:"updated_at"`
	Old               string `json:"old_memory"` // these two in a history
	New               string `json:"new_memory"`
}

// identity returns the field and the value by which mem0 keeps a partition apart.
func (m *Mem0) identity(p backends.Partition) (field, value string) {
	plain := ""
	if p.Namespace == backends.DefaultNamespace {
		plain = p.ID
	}
	return string(p.Kind) + "_id", m.cfg.partitionName(p, plain) // user_id or agent_id
}

func (m *Mem0) belongs(p backends.Partition) func(*mem0Row) bool {
	field, value := m.identity(p)
	return func(r *mem0Row) bool { // what a user said to an agent is the user's
		return field == "user_id" && r.UserID == value || field == "agent_id" && r.AgentID == value && r.UserID == ""
	}
}

func (m *Mem0) memoryOf(p backends.Partition, r *mem0Row) backends.Memory {
	out := decode(r.Metadata[MemoryKey], p)
	out.ID, out.Text, out.Metadata = r.ID, r.Memory, maps.Clone(r.Metadata)
	out.Created, out.Updated = timeOf(r.Created, time.UTC), timeOf(r.Updated, time.UTC)
	maps.DeleteFunc(out.Metadata, func(k string, v any) bool { return v == nil || k == mem0Key || k == MemoryKey })
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
	metadata := map[string]any{MemoryKey: string(kept)}
	maps.Copy(metadata, r.Metadata)
	if r.IdempotencyKey != "" { // the server knows no keys: what an earlier try stored bears ours
		metadata[mem0Key] = r.IdempotencyKey
		rows, err := m.find(ctx, p, map[string]any{"query": said[0].Content, "top_k": maxTopK, "threshold": 0}, map[string]any{mem0Key: r.IdempotencyKey})
		rows = slices.DeleteFunc(rows, func(row mem0Row) bool { return row.Metadata[mem0Key] != r.IdempotencyKey })
		if err != nil || len(rows) > 0 {
			return m.items(p, rows), err
		}
	}
	field, value := m.identity(p)
	body := map[string]any{"messages": said, field: value, "metadata": metadata, "infer": !r.Verbatim}
	if r.Instructions != "" {
		body["prompt"], body["custom_instructions"] = r.Instructions, r.Instructions // the server's name, and the platform's
	}
	var out struct{ Results []mem0Row } // none from the platform, which learns later
	err := m.do(ctx, call{doing: "learning", method: http.MethodPost, path: m.addPath, body: body, out: &out, slow: true, once: true})
	for i := range out.Results { // which repeat no metadata
		out.Results[i].Metadata = metadata
	}
	return m.items(p, out.Results), err
}

// items reports what became of an addition.
func (m *Mem0) items(p backends.Partition, rows []mem0Row) (out []backends.Item) {
	for i := range rows {
		out = append(out, backends.Item{Outcome: cmp.Or(outcomes[rows[i].Event], backends.Outcome(rows[i].Event)), Memory: m.memoryOf(p, &rows[i])})
	}
	return out
}

// outcomes are what mem0 calls them. Releases before version 2 also update and delete.
var outcomes = map[string]backends.Outcome{
	"": backends.OutcomeAdded, "ADD": backends.OutcomeAdded, "UPDATE": backends.OutcomeUpdated, "DELETE": backends.OutcomeRetracted, "NONE": backends.OutcomeUnchanged,
}

// one does something with one memory of those whom a scope names: servers do not check that.
func (m *Mem0) one(ctx context.Context, s backends.Scope, c call, below string) error {
	if c.method != http.MethodGet || below != "" {
		if _, err := m.Get(ctx, &backends.GetRequest{Scope: s, ID: c.id}); err != nil {
			return err
		}
	}
	c.path = fmt.Sprintf(m.path, url.PathEscape(c.id)) + below + m.slash
	return m.do(ctx, c)
}

// Get implements backends.Manager.
func (m *Mem0) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	_, p, err := m.at(r.Scope)
	if err != nil {
		return nil, err
	}
	var row mem0Row // stays empty for the null of an id that is not known
	if err := m.one(ctx, r.Scope, call{doing: "reading", method: http.MethodGet, id: r.ID, out: &row}, ""); err != nil {
		return nil, err
	}
	if r.ID == "" || row.ID != r.ID || !m.belongs(p)(&row) {
		return nil, m.errorf("reading", backends.ErrNotFound, "memory %q", r.ID)
	}
	out := m.memoryOf(p, &row)
	return &out, nil
}

// List implements backends.Manager for the first 1000 memories of a partition. Where there
// may be more, OnError gets an error.
func (m *Mem0) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	_, p, err := m.at(r.Scope)
	fits, invalid := m.fitting(r.Filter, r.Kinds, r.IncludeExpired)
	from, number := strconv.Atoi(cmp.Or(r.Cursor, "0"))
	if err := errors.Join(err, invalid, number); err != nil || from < 0 || r.Limit < 0 || r.Limit > maxTopK {
		return nil, cmp.Or(err, m.errorf("listing", backends.ErrInvalid, "Limit %d, Cursor %q", r.Limit, r.Cursor))
	}
	var out struct {
		Results []mem0Row
		Next    any
	}
	field, value := m.identity(p)
	c := call{doing: "listing", method: http.MethodGet, path: m.listPath, out: &out, query: url.Values{field: {value}, "top_k": {strconv.Itoa(maxTopK)}, "show_expired": {"true"}}}
	if m.cfg.Platform {
		c.method, c.query, c.body = http.MethodPost, url.Values{"page_size": {strconv.Itoa(maxTopK)}}, map[string]any{"filters": map[string]any{field: value}}
	}
	if err := m.do(ctx, c); err != nil {
		return nil, err
	}
	if out.Next != nil || len(out.Results) >= maxTopK {
		m.report(ctx, m.errorf("listing", backends.ErrUnavailable, "the server lists %d memories alone", len(out.Results)))
	}
	var all []backends.Memory
	for _, row := range own(ctx, m.frame, out.Results, m.belongs(p)) {
		if one := m.memoryOf(p, &row); fits(&one) {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b backends.Memory) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	upto, next := min(from+cmp.Or(r.Limit, 100), len(all)), ""
	if upto < len(all) {
		next = strconv.Itoa(upto)
	}
	return &backends.ListResponse{Memories: all[min(from, upto):upto], Next: next}, nil
}

// Update implements backends.Manager for Text and Metadata: the server has nothing else.
func (m *Mem0) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	if r.Version != 0 || r.Quality != nil || r.Expires != nil {
		return nil, m.errorf("updating", backends.ErrInvalid, "Text and Metadata alone can be updated")
	}
	body := struct {
		Text     *string        `json:"text,omitempty"`
		Metadata map[string]any `json:"metadata,omitempty"` // the server merges, too; a null stays there, and is not returned
	}{r.Text, r.Metadata}
	if err := m.one(ctx, r.Scope, call{doing: "updating", method: http.MethodPut, id: r.ID, body: body}, ""); err != nil {
		return nil, err
	}
	return m.Get(ctx, &backends.GetRequest{Scope: r.Scope, ID: r.ID})
}

// Delete implements backends.Manager. The server keeps no versions.
func (m *Mem0) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r.Version != 0 {
		return m.errorf("deleting", backends.ErrInvalid, "the server keeps no versions")
	}
	return m.one(ctx, r.Scope, call{doing: "deleting", method: http.MethodDelete, id: r.ID}, "")
}

// DeleteAll implements backends.Manager, memory by memory: the count is also right beside an
// error. What the server is learning meanwhile may come after it.
func (m *Mem0) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (deleted int, err error) {
	for {
		page, err := m.List(ctx, &backends.ListRequest{Scope: r.Scope, Filter: r.Filter, IncludeExpired: true, Limit: maxTopK})
		if err != nil || len(page.Memories) == 0 {
			return deleted, err
		}
		for _, one := range page.Memories {
			if err := m.Delete(ctx, &backends.DeleteRequest{Scope: r.Scope, ID: one.ID}); err != nil {
				return deleted, err
			}
			deleted++
		}
	}
}

// History implements backends.Manager for memories that exist: of one that is deleted nothing
// says whose it was, and it is ErrNotFound.
func (m *Mem0) History(ctx context.Context, r *backends.HistoryRequest) (out []backends.Event, err error) {
	var rows []mem0Row
	err = m.one(ctx, r.Scope, call{doing: "reading the history", method: http.MethodGet, id: r.ID, out: &rows}, "/history")
	for _, row := range rows {
		out = append(out, backends.Event{MemoryID: r.ID, Type: outcomes[row.Event], Old: row.Old, New: row.New, Time: timeOf(cmp.Or(row.Updated, row.Created), time.UTC)})
	}
	return out, err
}
