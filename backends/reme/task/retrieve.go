// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

// How many memories a retrieval gives.
const (
	DefaultTopK = 5    // where the request says nothing
	MaxTopK     = 1000 // at most
)

// RetrieveRequest asks for experience that helps with a task.
type RetrieveRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Query string // What the task is, or what to look for. Required without Messages.
	// Messages are what was said so far. Without a Query it is made of them: by the
	// model if there is one, else of the last three. With one they tell the model that
	// rewrites what the task has come to.
	Messages []*schema.Message

	// TopK is how many memories are wanted: 1 to MaxTopK. Exactly so many come if so
	// many match, with and without Rerank. Optional. Defaults to DefaultTopK.
	TopK int
	// Rerank asks the model to put a pool of four times as many in order. Optional.
	Rerank bool
	// Rewrite asks the model to make one advice of what was found. Optional.
	Rewrite bool
	// Simple asks no model for anything, and gives the memories as a list with a line
	// above and one below. Optional.
	Simple bool

	MinScore   float64          // Leave out what is less similar: see Hit.Score. Optional.
	MinQuality float64          // Leave out what was judged to be worth less; what nobody judged stays. Optional.
	Tags       []string         // Only memories with at least one of these tags. Optional.
	Filter     *backends.Filter // Further conditions. Optional.

	IncludeSources bool // Fill Hit.Sources. Optional.
}

// RetrieveResponse is the answer to a [RetrieveRequest].
type RetrieveResponse struct {
	// Answer is a text for the agent: what was found, memory by memory, or the advice
	// made of it. Empty when nothing was found.
	Answer string
	// Hits are what was found, the most helpful first. Score is the similarity to the
	// query, Quality what the judge said; neither overwrites the other.
	Hits      []backends.Hit
	Query     string // what was looked for
	Rewritten bool   // Answer is the model's advice
	// Degraded names what failed while there is still an answer: the embedder (the
	// ranking is lexical alone), the model that makes a query (it is the last
	// messages), reranks (the order is that of the search) or rewrites (the answer is
	// the memories). Nil when nothing failed.
	Degraded error
	Report   flow.Report
}

// IDs returns the ids of the hits, for [RecordRequest].
func (r *RetrieveResponse) IDs() []string {
	ids := make([]string, len(r.Hits))
	for i := range r.Hits {
		ids[i] = r.Hits[i].ID
	}
	return ids
}

// Retrieve finds experience for a task: task memories of the workspace, and no others.
// Nothing is counted by it; see [Memory.Record]. Errors: ErrNoScope without a
// workspace, ErrInvalid for a request that cannot succeed, ErrUnavailable when the
// store does not answer. What a model fails to do is no error: see
// RetrieveResponse.Degraded.
func (m *Memory) Retrieve(ctx context.Context, r *RetrieveRequest) (*RetrieveResponse, error) {
	return m.retrieve(ctx, m.models.Begin(), r)
}

func (m *Memory) retrieve(ctx context.Context, run *flow.Run, r *RetrieveRequest) (*RetrieveResponse, error) {
	scope, p, err := m.retrieval(ctx, r)
	if err != nil {
		return nil, err
	}
	resp := &RetrieveResponse{}
	degrade := func(stage string, err error) error {
		if err != nil {
			run.Stage(stage).Fail(err)
			resp.Degraded = errors.Join(resp.Degraded, err)
		}
		return ctx.Err()
	}
	resp.Query, err = m.query(ctx, run, r)
	if stop := degrade(StageQuery, err); stop != nil {
		return nil, fmt.Errorf("task: %w", stop)
	}
	err = m.recall(ctx, run, p, scope, r, resp)
	if err != nil {
		return nil, err
	}
	if r.Rerank && !r.Simple {
		if stop := degrade(StageRerank, m.rerank(ctx, run, resp.Query, resp.Hits)); stop != nil {
			return nil, fmt.Errorf("task: %w", stop)
		}
	}
	resp.Hits = resp.Hits[:min(topK(r), len(resp.Hits))]
	resp.Answer = m.answer(r, resp)
	if r.Rewrite && !r.Simple && len(resp.Hits) > 0 {
		if stop := degrade(StageRewrite, m.rewrite(ctx, run, r, resp)); stop != nil {
			return nil, fmt.Errorf("task: %w", stop)
		}
	}
	resp.Report = run.Report()
	return resp, nil
}

// retrieval checks a request.
func (m *Memory) retrieval(ctx context.Context, r *RetrieveRequest) (backends.Scope, backends.Partition, error) {
	if r == nil {
		return backends.Scope{}, backends.Partition{}, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := m.workspace(ctx, r.Scope)
	switch {
	case err != nil:
	case r.TopK < 0 || r.TopK > MaxTopK:
		err = fmt.Errorf("task: TopK %d: %w: 1 to %d, or 0 for %d", r.TopK, backends.ErrInvalid, MaxTopK, DefaultTopK)
	case strings.TrimSpace(r.Query) == "" && len(r.Messages) == 0:
		err = fmt.Errorf("task: %w: nothing to look for; give Query or Messages", backends.ErrInvalid)
	case math.IsNaN(r.MinQuality) || r.MinQuality > 1:
		err = fmt.Errorf("task: MinQuality %v: %w: 0 to 1", r.MinQuality, backends.ErrInvalid)
	}
	return scope, p, err
}

func topK(r *RetrieveRequest) int {
	if r.TopK == 0 {
		return DefaultTopK
	}
	return r.TopK
}

// recall searches the workspace: for as many memories as are wanted, or for a pool
// that is to be put in order.
func (m *Memory) recall(ctx context.Context, run *flow.Run, p backends.Partition, scope backends.Scope, r *RetrieveRequest, resp *RetrieveResponse) error {
	stage := run.Stage(StageRecall)
	stage.Took(1)
	wanted := topK(r)
	if r.Rerank && !r.Simple {
		wanted = min(MaxTopK, 4*wanted)
	}
	found, err := m.keeper.Search(ctx, p, &backends.SearchRequest{
		Scope: scope, Query: resp.Query, TopK: wanted, Threshold: r.MinScore, Kinds: kinds, Filter: r.filter(), WithSources: r.IncludeSources,
	})
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	if m.config.Embeds {
		run.Embedded(1)
	}
	if found.Degraded != nil {
		stage.Fail(found.Degraded)
		resp.Degraded = errors.Join(resp.Degraded, fmt.Errorf("task: %w", found.Degraded))
	}
	stage.Gave(len(found.Hits))
	resp.Hits = found.Hits
	return nil
}

// filter returns the conditions of a request, nil for none.
func (r *RetrieveRequest) filter() *backends.Filter {
	var all []backends.Filter
	if r.MinQuality > 0 {
		all = append(all, backends.Not(backends.Lt("quality", r.MinQuality)))
	}
	if len(r.Tags) > 0 {
		var any []backends.Filter
		for _, tag := range r.Tags {
			any = append(any, backends.Contains("metadata."+MetaTags, tag))
		}
		all = append(all, backends.Or(any...))
	}
	if r.Filter != nil {
		all = append(all, *r.Filter)
	}
	if len(all) == 0 {
		return nil
	}
	f := backends.And(all...)
	return &f
}
