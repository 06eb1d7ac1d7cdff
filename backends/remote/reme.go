// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// scales undo that ReMe 0.2 multiplies the cosine of a personal memory by 0.1.
var scales = map[string]float64{string(backends.KindPersonal): 10}

// ReMe is a backend on a ReMe 0.2 server. It is safe for concurrent use.
type ReMe struct{ *frame }

// NewReMe returns a backend on the server of cfg.BaseURL. It makes no request yet. A
// malformed config is ErrInvalid.
func NewReMe(cfg *Config) (*ReMe, error) {
	r := &ReMe{newFrame("reme", cfg)}
	r.server, r.agentless, r.whose = r, true, keeper.Whom
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
	Created   string `json:"time_created"` // in the zone of the server
	Modified  string `json:"time_modified"`
	Metadata  map[string]any
	Score     float64

	Content, Author string
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
		return nil, r.errorf(c.doing, backends.ErrUnavailable, "flow %s failed on the server, whose log says why (success %v: %.300s)", c.path, out.Success, fmt.Sprint(out.Answer))
	}
	for _, row := range own(ctx, r.frame, rows, func(m *remeMemory) bool { return m.Workspace == name }) {
		hits = append(hits, backends.Hit{Score: min(max(row.Score*cmp.Or(scales[row.Type], 1), 0), 1), Memory: backends.Memory{
			ID: row.ID, Kind: backends.Kind(row.Type), Text: row.Content, WhenToUse: row.WhenToUse, Metadata: row.Metadata, Scope: p.Scope(),
			Origin: backends.Origin{Author: row.Author}, Created: timeOf(row.Created, time.Local), Updated: timeOf(row.Modified, time.Local),
		}})
	}
	return hits, nil
}

func (r *ReMe) search(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (hits []backends.Hit, err error) {
	places := map[backends.Kind]backends.Partition{}
	if workspace, none := q.Scope.Partition(backends.PartitionWorkspace); none == nil {
		places[backends.KindTask] = workspace
	}
	if p.Kind != backends.PartitionWorkspace {
		places[backends.KindPersonal] = p
	}
	for kind, p := range places {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, kind) {
			continue
		}
		found, err := r.flow(ctx, p, call{doing: "searching", path: "/retrieve_" + string(kind) + "_memory"}, "memory_list", map[string]any{"query": q.Query, "top_k": q.TopK})
		if err != nil {
			return nil, err
		}
		// The server searches all that is in a workspace.
		hits = backends.MergeHits(hits, slices.DeleteFunc(found, func(h backends.Hit) bool { return h.Kind != kind }))
	}
	return hits, nil
}

func (r *ReMe) add(ctx context.Context, p backends.Partition, q *backends.AddRequest, said []message) (items []backends.Item, err error) {
	if q.Verbatim || !q.Expires.IsZero() || q.Instructions != "" || len(q.Metadata) > 0 {
		return nil, r.errorf("learning", backends.ErrInvalid, "Verbatim, Expires, Instructions and Metadata: the server has none of them")
	}
	var attempts []any
	workspace, none := q.Scope.Partition(backends.PartitionWorkspace)
	shared := none == nil && r.cfg.Outcome != nil && q.Author == "" && q.Kind != backends.KindPersonal
	for rest := r.said(q, true); shared && len(rest) > 0; {
		n := 0
		for ; n < len(rest) && rest[n].of.Turn == rest[0].of.Turn; n++ {
			rest[n].Content = r.cfg.Redact(rest[n].Content)
		}
		score, known, err := r.cfg.Outcome(ctx, q.Scope, rest[0].of.Turn)
		if err != nil {
			return nil, fmt.Errorf("reme: outcome of turn %q: %w", rest[0].of.Turn, err)
		}
		if known {
			attempts = append(attempts, map[string]any{"messages": rest[:n], "score": score, "metadata": map[string]any{"query": rest[0].Content}})
		}
		rest = rest[n:]
	}
	if len(attempts) > 0 {
		if items, err = r.learn(ctx, workspace, "/summary_task_memory", attempts); err != nil {
			return nil, err
		}
	}
	if p.Kind == backends.PartitionWorkspace || q.Kind == backends.KindTask {
		return items, nil
	}
	learnt, err := r.learn(ctx, p, "/summary_personal_memory", []any{map[string]any{"messages": said}})
	return append(items, learnt...), err
}

// learn has the server's model learn from trajectories.
func (r *ReMe) learn(ctx context.Context, p backends.Partition, flow string, trajectories []any) (items []backends.Item, err error) {
	learnt, err := r.flow(ctx, p, call{doing: "learning", path: flow, slow: true, once: true}, "update_result", map[string]any{"trajectories": trajectories})
	for _, h := range learnt {
		items = append(items, backends.Item{Outcome: backends.OutcomeAdded, Memory: h.Memory})
	}
	return items, err
}
