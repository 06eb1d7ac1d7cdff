// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"net/http"
	"slices"

	"github.com/einomem/einomem/backends"
)

// ReMe is a backend on a ReMe 0.2 server. It is safe for concurrent use.
type ReMe struct{ *frame }

// NewReMe returns a backend on the server of cfg.BaseURL, and connects with the first call. A
// malformed config is ErrInvalid.
func NewReMe(cfg *Config) (*ReMe, error) {
	r := &ReMe{newFrame("reme", cfg)}
	r.server, r.textsAlone, r.learnsOnly, r.whose = r, true, true, backends.Scope.Owner
	return r, r.connect("Authorization", "Bearer ")
}

// flow calls a flow on a partition's workspace, and returns the memories of the answer. The
// server answers 200 even if a step of the flow failed: then the answer's metadata lacks
// that step's part.
func (r *ReMe) flow(ctx context.Context, p backends.Partition, c call, in map[string]any) ([]backends.Hit, error) {
	var out struct {
		Success  bool
		Metadata struct {
			Memories []row `json:"memory_list"`
			Update   any   `json:"update_result"`
		}
	}
	workspace := r.nameOf(p)
	in["workspace_id"] = workspace
	c.method, c.in, c.out = http.MethodPost, in, &out
	if err := r.do(ctx, c); err != nil {
		return nil, err
	}
	if !out.Success || !c.learns && out.Metadata.Memories == nil || c.learns && out.Metadata.Update == nil {
		return nil, r.errorf(c.doing, backends.ErrUnavailable, "flow %s failed on the server, whose log says why", c.path)
	}
	return r.hits(ctx, p, out.Metadata.Memories, func(m *row) bool { return m.Workspace == workspace }), nil
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
		c := call{doing: "searching", path: "/retrieve_" + string(kind) + "_memory"}
		found, err := r.flow(ctx, p, c, map[string]any{"query": q.Query, "top_k": q.TopK})
		if err != nil {
			return nil, err
		}
		// The server searches the whole workspace.
		hits = backends.MergeHits(hits, slices.DeleteFunc(found, func(h backends.Hit) bool { return h.Kind != kind }))
	}
	return hits, nil
}

func (r *ReMe) add(ctx context.Context, p backends.Partition, q *backends.AddRequest, said []message) (*backends.AddResponse, error) {
	if p.Kind == backends.PartitionWorkspace || q.Kind == backends.KindTask {
		return nil, r.errorf("learning", backends.ErrInvalid, "task memory is searched, not learnt: name a user or an agent")
	}
	body := map[string]any{"trajectories": []any{map[string]any{"messages": said}}}
	c := call{doing: "learning", path: "/summary_personal_memory", learns: true}
	out := &backends.AddResponse{}
	learnt, err := r.flow(ctx, p, c, body)
	for _, h := range learnt {
		out.Items = append(out.Items, backends.Item{Outcome: backends.OutcomeAdded, Memory: h.Memory})
	}
	return out, err
}
