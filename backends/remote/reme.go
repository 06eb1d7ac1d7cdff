// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/keeper"
)

const (
	personalScale = 10   // ReMe 0.2 multiplies the cosine of a personal memory by 0.1
	logSize       = 2000 // messages of a log among which a turn is looked for
)

// ReMe is a backend on a ReMe 0.2 server. It implements backends.Judge. It is safe for
// concurrent use.
type ReMe struct{ *frame }

var (
	_ backends.Backend = (*ReMe)(nil)
	_ backends.Judge   = (*ReMe)(nil)
)

// NewReMe returns a backend on the server of cfg.BaseURL. It makes no request yet. A
// malformed config is ErrInvalid.
func NewReMe(cfg *Config) (*ReMe, error) {
	r := &ReMe{}
	var err error
	if r.frame, err = newFrame("reme", cfg, r); err != nil {
		return nil, err
	}
	r.agentless, r.whose = true, keeper.Whom
	return r, r.connect("Authorization", "Bearer ")
}

// workspace returns the workspace of the server that is a partition's: "namespace.kind.id"
// where that says which is which, else a hash.
func (r *ReMe) workspace(p backends.Partition) string {
	plain := ""
	if !strings.Contains(p.Namespace+p.ID, ".") {
		plain = p.Namespace + "." + string(p.Kind) + "." + p.ID
	}
	return r.cfg.partitionName(p, plain)
}

// remeMemory is a memory as the server has it.
type remeMemory struct {
	Workspace string `json:"workspace_id"`
	ID        string `json:"memory_id"`
	Type      string `json:"memory_type"`
	WhenToUse string `json:"when_to_use"`
	Content   string
	Score     float64
	Created   string `json:"time_created"` // in the zone of the server
	Modified  string `json:"time_modified"`
	Author    string
	Metadata  map[string]any
}

// flow calls a flow on a partition's workspace, and returns the memories of the answer. The
// server answers 200 also where a step of the flow failed: then what that step writes is not
// in the answer's metadata.
func (r *ReMe) flow(ctx context.Context, p backends.Partition, c call, writes string, body map[string]any) (hits []backends.Hit, err error) {
	var out struct {
		Answer   any
		Success  bool
		Metadata map[string]json.RawMessage
	}
	var rows []remeMemory
	name := r.workspace(p)
	body["workspace_id"] = name
	c.method, c.body, c.out = http.MethodPost, body, &out
	if err := r.do(ctx, c); err != nil {
		return nil, err
	}
	if !out.Success || out.Metadata[writes] == nil || out.Metadata["memory_list"] != nil && json.Unmarshal(out.Metadata["memory_list"], &rows) != nil {
		return nil, r.errorf(c.doing, backends.ErrUnavailable, "flow %s failed on the server, whose log says why (success %v: %.*s)", c.path, out.Success, maxReason, fmt.Sprint(out.Answer))
	}
	for _, row := range own(ctx, r.frame, rows, func(m *remeMemory) bool { return m.Workspace == name }) {
		hits = append(hits, backends.Hit{Score: min(max(row.Score, 0), 1), Memory: backends.Memory{
			ID: row.ID, Kind: backends.Kind(row.Type), Text: row.Content, WhenToUse: row.WhenToUse, Metadata: row.Metadata, Scope: held(p, backends.Scope{}),
			Origin: backends.Origin{Author: row.Author}, Created: timeOf(row.Created, time.Local), Updated: timeOf(row.Modified, time.Local),
		}})
	}
	return hits, nil
}

func (r *ReMe) search(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (hits []backends.Hit, err error) {
	find := func(p backends.Partition, kind backends.Kind, scale float64) ([]backends.Hit, error) {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, kind) {
			return nil, nil
		}
		found, err := r.flow(ctx, p, call{doing: "searching", path: "/retrieve_" + string(kind) + "_memory"}, "memory_list", map[string]any{"query": q.Query, "top_k": q.TopK})
		for i := range found {
			found[i].Score = min(scale*found[i].Score, 1)
		}
		return slices.DeleteFunc(found, func(h backends.Hit) bool { return h.Kind != kind }), err // the server searches all kinds
	}
	if p.Kind != backends.PartitionWorkspace {
		if hits, err = find(p, backends.KindPersonal, personalScale); err != nil {
			return nil, err
		}
	}
	if workspace, none := q.Scope.Partition(backends.PartitionWorkspace); none == nil {
		var shared []backends.Hit
		shared, err = find(workspace, backends.KindTask, 1)
		hits = backends.MergeHits(hits, shared)
	}
	return hits, err
}

func (r *ReMe) add(ctx context.Context, p backends.Partition, q *backends.AddRequest, said []message) ([]backends.Item, error) {
	switch {
	case q.Verbatim || !q.Expires.IsZero() || q.Instructions != "" || len(q.Metadata) > 0:
		return nil, r.errorf("learning", backends.ErrInvalid, "Verbatim, Expires, Instructions and Metadata: the server has none of them")
	case q.Kind == backends.KindTask: // of which RecordOutcome says how it went
		return nil, nil
	case p.Kind == backends.PartitionWorkspace || q.Kind != "" && q.Kind != backends.KindPersonal:
		return nil, r.errorf("learning", backends.ErrInvalid, "kind %q for %s: messages teach what is personal to a user or an agent", q.Kind, p.Kind)
	}
	return r.learn(ctx, p, "/summary_personal_memory", map[string]any{"messages": said})
}

// learn has the server's model learn from a trajectory.
func (r *ReMe) learn(ctx context.Context, p backends.Partition, flow string, trajectory map[string]any) (items []backends.Item, err error) {
	learnt, err := r.flow(ctx, p, call{doing: "learning", path: flow, slow: true, once: true}, "update_result", map[string]any{"trajectories": []any{trajectory}})
	for _, h := range learnt {
		items = append(items, backends.Item{Outcome: backends.OutcomeAdded, Memory: h.Memory})
	}
	return items, err
}

// RecordOutcome implements backends.Judge: the turn is read from Config.Sessions, and learnt
// from redacted. The server knows no repeats: one is learnt from twice.
func (r *ReMe) RecordOutcome(ctx context.Context, q *backends.OutcomeRequest) (*backends.AddResponse, error) {
	s, speaker, err := r.enter(q.Scope)
	if err != nil {
		return nil, err
	}
	defer r.calls.Leave()
	workspace, err := s.Partition(backends.PartitionWorkspace)
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: %w", err)
	}
	if r.cfg.Sessions == nil || math.IsNaN(q.Score) || math.IsInf(q.Score, 0) {
		return nil, r.errorf("outcome of a turn", backends.ErrInvalid, "score %v, or Config.Sessions is not set to the store that logs the turns", q.Score)
	}
	entries, err := r.cfg.Sessions.Read(ctx, speaker, s.SessionID, store.Range{Limit: logSize, Last: true})
	if err != nil {
		return nil, fmt.Errorf("reme: outcome of a turn: reading the log: %w", err)
	}
	var turn []map[string]any
	id, query := q.Turn, ""
	for _, e := range slices.Backward(entries) {
		if id = cmp.Or(id, e.Turn); e.Turn != id || e.Message.Message == nil || einox.IsPrivate(e.Message.Message) {
			continue
		}
		said := einox.Text(e.Message.Message)
		for _, c := range e.ToolCalls {
			said += "\ncalled " + c.Function.Name + " " + c.Function.Arguments
		}
		if said = r.cfg.Redact(strings.TrimSpace(said)); e.Role == schema.User {
			query = said
		}
		turn = append(turn, map[string]any{"role": e.Role, "content": said})
	}
	if len(turn) == 0 {
		return nil, r.errorf("outcome of a turn", backends.ErrNotFound, "turn %q of session %q: it is not among the newest %d messages of the log", q.Turn, s.SessionID, logSize)
	}
	slices.Reverse(turn)
	query = strings.TrimSpace(query + "\n" + r.cfg.Redact(q.Note))
	items, err := r.learn(ctx, workspace, "/summary_task_memory", map[string]any{"messages": turn, "score": q.Score, "metadata": map[string]any{"query": query}})
	if err != nil {
		return nil, err
	}
	return &backends.AddResponse{Items: items}, nil
}
