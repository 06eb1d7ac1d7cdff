// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

// maxLast is how many calls of a tool are read at most.
const maxLast = 10_000

// RetrieveRequest asks about tools: by name, by a task, or both; with empty fields about all tools
// of the workspace.
type RetrieveRequest struct {
	Scope backends.Scope // Required, or the context's. Names the workspace.
	Tools []string       // The names of tools. Optional.
	// Query is a task in words: the tools whose guidelines fit it best follow the named ones.
	// Optional.
	Query string
	TopK  int // How many tools Query finds. Optional. Defaults to 5.

	Last      int  // How many of the newest calls the statistics cover. Optional. Defaults to Config.Window; at most 10,000.
	WithCalls bool // return these calls, too
}

// Tool is the knowledge about a tool; Summarize adds the outcome of its guideline.
type Tool struct {
	Name       string           `json:"name"`
	Guideline  string           `json:"guideline"`        // statistics excluded; empty before the first one
	Statistics Statistics       `json:"statistics"`       // of the present, whenever the guideline was written
	New        int64            `json:"new"`              // calls beyond the guideline; in Summarize, beyond the former one
	Calls      []Call           `json:"calls,omitempty"`  // on request, oldest first
	Memory     *backends.Memory `json:"memory,omitempty"` // the stored guideline; nil before the first one
	Score      float64          `json:"score"`            // how well it fits the query; 0 for a named tool
	Text       string           `json:"text"`             // guideline and statistics, for a prompt

	// Outcome is set by Summarize alone: OutcomeAdded for a first guideline; OutcomeUpdated;
	// OutcomeUnchanged if fewer than RefreshAfter calls are new, or another process covered them
	// meanwhile; or OutcomeFailed: Err has the cause.
	Outcome backends.Outcome `json:"outcome,omitempty"`
	Err     error            `json:"-"`
}

// RetrieveResponse is the answer to a [RetrieveRequest].
type RetrieveResponse struct {
	Tools    []Tool   `json:"tools"`             // in the order of the names, then of the query
	Unknown  []string `json:"unknown,omitempty"` // unknown names
	Answer   string   `json:"answer"`            // all tools as text
	Degraded error    `json:"-"`                 // failed parts of the search: see backends.SearchResponse
}

// Retrieve returns the knowledge about tools, with present statistics. A tool with calls that is
// still to get a guideline has statistics alone. If all names are unknown, the response comes with
// ErrNotFound.
func (m *Memory) Retrieve(ctx context.Context, r *RetrieveRequest) (*RetrieveResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	s, p, err := m.keeper.Resolve(ctx, r.Scope, keeper.Workspace)
	if err != nil {
		return nil, err
	}
	if r.Last < 0 || r.Last > maxLast {
		return nil, fmt.Errorf("tool: Last %d: %w: from 1 to %d, or 0 for Config.Window", r.Last, backends.ErrInvalid, maxLast)
	}
	names := namesOf(r.Tools)
	resp, named, scores := &RetrieveResponse{}, len(names), map[string]float64{}
	switch {
	case strings.TrimSpace(r.Query) != "":
		found, err := m.keeper.Search(ctx, p, &backends.SearchRequest{Query: r.Query, TopK: r.TopK, Kinds: []backends.Kind{backends.KindTool}})
		if err != nil {
			return nil, err
		}
		resp.Degraded = found.Degraded
		for _, hit := range found.Hits {
			if name := toolOf(p, &hit.Memory); name != "" && !slices.Contains(names, name) {
				names, scores[name] = append(names, name), hit.Score
			}
		}
	case named == 0:
		if names, err = m.tools(ctx, p); err != nil {
			return nil, err
		}
	}
	all := make([]*Tool, len(names))
	errs := each(len(names), func(i int) (err error) {
		all[i], err = m.tool(ctx, p, r, names[i])
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var texts []string
	for i, t := range all {
		if t == nil {
			resp.Unknown = append(resp.Unknown, names[i])
			continue
		}
		t.Score = scores[t.Name]
		resp.Tools = append(resp.Tools, *m.shown(s, p, t))
		texts = append(texts, "# "+text.Line(t.Name, 256)+"\n"+t.Text)
	}
	resp.Answer = strings.Join(texts, "\n\n---\n\n")
	if len(resp.Tools) == 0 && named > 0 {
		err = fmt.Errorf("tool: %w: the tools %q are unknown in %s", backends.ErrNotFound, resp.Unknown, p)
	}
	return resp, err
}

// tool returns the knowledge about one tool, or nil.
func (m *Memory) tool(ctx context.Context, p backends.Partition, r *RetrieveRequest, name string) (*Tool, error) {
	last := r.Last
	if last == 0 {
		last = m.cfg.Window
	}
	st := &state{Tool: Tool{Name: name}}
	if err := m.read(ctx, p, st, last); err != nil || st.Statistics.Total == 0 && st.Memory == nil {
		return nil, err
	}
	if r.WithCalls {
		st.Calls = st.calls
	}
	return &st.Tool, nil
}
