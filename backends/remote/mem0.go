// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"sync"

	"github.com/einomem/einomem/backends"
)

// Mem0 is a backend on a mem0 server, or on the mem0 platform. It is safe for concurrent use.
type Mem0 struct {
	*frame
	addPath, searchPath string

	events sync.Map // of the platform, by the idempotency keys of what it has yet to learn
}

// NewMem0 returns a backend on the server of cfg.BaseURL: the platform if cfg.Platform is set, else
// an open-source server. It connects with the first call. A malformed config is ErrInvalid.
func NewMem0(cfg *Config) (*Mem0, error) {
	m := &Mem0{frame: newFrame("mem0", cfg), addPath: "/memories", searchPath: "/search"}
	m.server = m
	if m.cfg.Platform {
		m.addPath, m.searchPath = "/v3/memories/add/", "/v3/memories/search/"
		return m, m.connect("Authorization", "Token ")
	}
	return m, m.connect("X-API-Key", "")
}

// outcomes are mem0's names of them. Releases before version 2 also update and delete.
var outcomes = map[string]backends.Outcome{
	"ADD": backends.OutcomeAdded, "UPDATE": backends.OutcomeUpdated, "DELETE": backends.OutcomeRetracted, "NONE": backends.OutcomeUnchanged,
}

// field returns mem0's field for the name of a partition: user_id or agent_id.
func field(p backends.Partition) string { return string(p.Kind) + "_id" }

func (m *Mem0) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error) {
	name := m.nameOf(p)
	body := map[string]any{"query": r.Query, "top_k": r.TopK, "filters": map[string]any{field(p): name}}
	var out struct{ Results []row }
	err := m.do(ctx, call{doing: "searching", method: http.MethodPost, path: m.searchPath, in: body, out: &out})
	return m.hits(ctx, p, out.Results, func(r *row) bool {
		if p.Kind == backends.PartitionUser {
			return r.User == name
		}
		return r.Agent == name && r.User == "" // a user's words to an agent belong to the user
	}), err
}

func (m *Mem0) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) (*backends.AddResponse, error) {
	if event, ok := m.events.Load(r.IdempotencyKey); ok {
		return m.queued(ctx, r.IdempotencyKey, event.(string))
	}
	if m.cfg.Platform && r.Author == backends.AuthorAgent && !r.Verbatim { // nobody asks later what it made of a note
		r = asSaid(r)
	}
	about := m.memoryOf(p, r, &said[len(said)-1])
	about.ID, about.Text, about.Metadata = "", "", nil
	if said[0].Role != said[len(said)-1].Role { // the server decides who said what it learns
		about.Origin.Role = ""
	}
	if !r.Verbatim {
		about.Kind = backends.KindFact
	}
	kept, _ := json.Marshal(about)
	metadata := map[string]any{MemoryKey: string(kept)}
	maps.Copy(metadata, r.Metadata)
	body := map[string]any{"messages": said, field(p): m.nameOf(p), "metadata": metadata, "infer": !r.Verbatim}
	if r.Instructions != "" {
		body["prompt"], body["custom_instructions"] = r.Instructions, r.Instructions // the server's name, and the platform's
	}
	var answer struct {
		Results []row
		Event   string `json:"event_id"` // of the platform, which learns later
	}
	err := m.do(ctx, call{doing: "learning", method: http.MethodPost, path: m.addPath, in: body, out: &answer, learns: true})
	out := &backends.AddResponse{Queued: answer.Event != "" && len(answer.Results) == 0}
	for _, row := range answer.Results {
		row.Metadata = metadata // the answer leaves it out
		out.Items = append(out.Items, backends.Item{Outcome: outcomes[row.Event], Memory: row.memory(p)})
	}
	if err == nil && out.Queued && r.IdempotencyKey != "" {
		m.events.Store(r.IdempotencyKey, answer.Event)
	}
	return out, err
}

// queued asks the platform whether it has learnt from an addition. One that failed is to be
// repeated.
func (m *Mem0) queued(ctx context.Context, key, event string) (*backends.AddResponse, error) {
	var answer struct{ Status string }
	c := call{doing: "asking whether it is learnt", method: http.MethodGet, path: "/v1/event/" + url.PathEscape(event) + "/", out: &answer, absent: new(bool)}
	if err := m.do(ctx, c); err != nil {
		return nil, err
	}
	if answer.Status == "PENDING" || answer.Status == "RUNNING" {
		return &backends.AddResponse{Queued: true}, nil
	}
	m.events.Delete(key)
	if answer.Status == "FAILED" {
		return nil, m.errorf(c.doing, backends.ErrModel, "the platform failed to learn from it")
	}
	return &backends.AddResponse{}, nil
}
