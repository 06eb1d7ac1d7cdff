// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// How many memories a retrieval returns.
const (
	defaultTopK = 5    // by default
	maxTopK     = 1000 // at most
)

// RetrieveRequest asks for experience that helps with a task.
type RetrieveRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Query string // The task, or any text to look for. Required.

	// TopK is how many memories to return: 1 to 1,000. Exactly so many come if so many match, with
	// and without Rerank. Optional. Defaults to Config.TopK.
	TopK int
	// Rerank asks the model to put four times as many in order first. Optional. Config.Rerank
	// also sets it.
	Rerank bool
	// Rewrite asks the model to make one piece of advice of the hits. Here and for Rerank the
	// memories share the prompt evenly: with very many, each is shortened. Optional. Config.Rewrite
	// also sets it.
	Rewrite bool

	MinScore float64          // Leave out less similar ones: see Hit.Score. Optional.
	Filter   *backends.Filter // Conditions, such as on quality or metadata.tags. Optional.
}

// RetrieveResponse is the answer to a [RetrieveRequest].
type RetrieveResponse struct {
	// Answer is a text for the agent: the hits, memory by memory, or the advice made of them. It is
	// empty without hits.
	Answer string
	// Hits are the found memories, the most helpful first. Score is the similarity to the query,
	// Quality the judge's score; neither overwrites the other.
	Hits      []backends.Hit
	Query     string // the query of the search, redacted
	Rewritten bool   // Answer is the model's advice
	// Degraded names failed parts of an answer: the embedder (the ranking is lexical only), or the
	// model that reranks (the order is the search's) or rewrites (the answer is the memories). It
	// is nil after a full success.
	Degraded error
	Report   backends.Report
}

// IDs returns the ids of the hits, for [RecordRequest].
func (r *RetrieveResponse) IDs() []string {
	ids := make([]string, len(r.Hits))
	for i := range r.Hits {
		ids[i] = r.Hits[i].ID
	}
	return ids
}

// Retrieve finds experience for a task: task memories of the workspace alone. It leaves counts as
// they are; see [Memory.Record]. Errors: ErrNoScope without a workspace, ErrInvalid for an unusable
// request, ErrUnavailable when the store fails. RetrieveResponse.Degraded reports a failing model.
func (m *Memory) Retrieve(ctx context.Context, r *RetrieveRequest) (_ *RetrieveResponse, err error) {
	defer work.Recover("task", &err)
	return m.retrieve(ctx, m.begin(), r)
}

func (m *Memory) retrieve(ctx context.Context, run *ask.Run, r *RetrieveRequest) (*RetrieveResponse, error) {
	scope, p, err := m.retrieval(ctx, r)
	if err != nil {
		return nil, err
	}
	asked := *r
	r = &asked
	r.TopK, r.Rerank, r.Rewrite = cmp.Or(r.TopK, m.config.TopK), r.Rerank || m.config.Rerank, r.Rewrite || m.config.Rewrite
	resp := &RetrieveResponse{Query: m.redact(r.Query)}
	degrade := func(stage string, err error) {
		if err != nil {
			run.Stage(stage).Fail(err)
			resp.Degraded = errors.Join(resp.Degraded, err)
		}
	}
	found, err := m.recall(ctx, run, p, scope, r, resp.Query)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	resp.Hits = found.Hits
	degrade(stageRecall, found.Degraded)
	switch {
	case r.Rerank && m.model != nil:
		degrade(stageRerank, m.rerank(ctx, run, resp.Query, resp.Hits))
	case (r.Rerank || r.Rewrite) && m.model == nil:
		degrade(stageRerank, fmt.Errorf("task: %w: reranking and rewriting need Config.Model", backends.ErrInvalid))
	}
	resp.Hits = resp.Hits[:min(r.TopK, len(resp.Hits))]
	resp.Answer = promptsIn[m.language.For(resp.Query)].numbered(resp.Hits)
	if r.Rewrite && m.model != nil && len(resp.Hits) > 0 {
		degrade(stageRewrite, m.rewrite(ctx, run, resp))
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("task: %w", context.Cause(ctx))
	}
	resp.Report = run.Report()
	return resp, nil
}

// retrieval checks a request.
func (m *Memory) retrieval(ctx context.Context, r *RetrieveRequest) (backends.Scope, backends.Partition, error) {
	if r == nil {
		return backends.Scope{}, backends.Partition{}, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := m.keeper.Resolve(ctx, r.Scope, keeper.Workspace)
	switch {
	case err != nil:
	case r.TopK < 0 || r.TopK > maxTopK:
		err = fmt.Errorf("task: TopK %d: %w: 1 to %d, or 0 for %d", r.TopK, backends.ErrInvalid, maxTopK, defaultTopK)
	case strings.TrimSpace(r.Query) == "":
		err = fmt.Errorf("task: %w: nothing to look for; give Query", backends.ErrInvalid)
	}
	return scope, p, err
}

// recall searches the workspace: for TopK memories, or for more of them to put in order.
func (m *Memory) recall(ctx context.Context, run *ask.Run, p backends.Partition, scope backends.Scope, r *RetrieveRequest, query string) (*backends.SearchResponse, error) {
	stage := run.Stage(stageRecall)
	stage.In(1)
	wanted := r.TopK
	if r.Rerank {
		wanted = min(maxTopK, 4*wanted)
	}
	found, err := m.keeper.Search(ctx, p, &backends.SearchRequest{
		Scope: scope, Query: query, TopK: wanted, Threshold: r.MinScore, Kinds: []backends.Kind{backends.KindTask}, Filter: keeper.Both(r.Filter, confirmed(scope)),
	})
	if err != nil {
		return nil, err
	}
	stage.Out(len(found.Hits))
	if m.keeper.Embeds() {
		run.Embedded(1)
	}
	return found, nil
}

// numbered writes memory by memory, each under its number.
func (p *prompts) numbered(hits []backends.Hit) string {
	parts := make([]string, len(hits))
	for i := range hits {
		parts[i] = p.one(i+1, hits[i].WhenToUse, hits[i].Text)
		if example, _ := hits[i].Metadata[metaExample].(string); example != "" {
			parts[i] += "\n  " + p.Example + text.Indent(example, "  ")
		}
	}
	return strings.Join(parts, "\n\n")
}

// one writes one memory. It indents lines that might look like the heading of another.
func (p *prompts) one(n int, when, content string) string {
	return fmt.Sprintf("%s %d\n  %s%s\n  %s%s", p.Memory, n, p.WhenToUse, text.Indent(when, "  "), p.Content, text.Indent(content, "  "))
}

// maxQueryShown is how many characters of a query a model sees.
const maxQueryShown = 4000

// shownHits are hits as one prompt shows them, numbered from 0, each within an even share
// of its tokens.
func (m *Memory) shownHits(hits []backends.Hit) fenced {
	var b strings.Builder
	for i := range hits {
		shown := m.shown(fmt.Sprint("experience ", i), hits[i].WhenToUse, hits[i].Text)
		b.WriteString(text.Fit(shown, m.prompt/len(hits), text.Tokens))
	}
	return fenced{"experiences", b.String()}
}

// order is the model's answer about memories.
type order struct {
	Ranked    []int  `json:"ranked_indices" jsonschema_description:"numbers, the most helpful first; empty if none helps"`
	Reasoning string `json:"reasoning,omitempty" jsonschema_description:"why, in a sentence"`
}

// rerank lets the model put the hits in order: the named ones first, in its order, then the others
// as they were. Their Rerank part falls from 1 by even steps; the others have 0. On an error the
// order is as before.
func (m *Memory) rerank(ctx context.Context, run *ask.Run, query string, hits []backends.Hit) error {
	if len(hits) < 2 {
		return nil
	}
	stage := run.Stage(stageRerank)
	stage.In(len(hits))
	q := m.question(m.language.For(query), func(p *prompts) string { return p.Rerank }, fenced{"task", indent(text.Middle(query, maxQueryShown))}, m.shownHits(hits))
	q.Tool, q.Purpose = "task_rerank", "Give the order of the experiences."
	answer, err := ask.For(ctx, run, q, func(o *order) error {
		for i, n := range o.Ranked {
			if n < 0 || n >= len(hits) || slices.Contains(o.Ranked[:i], n) {
				return fmt.Errorf("ranked_indices: %d stands there twice, or is no number from 0 to %d", n, len(hits)-1)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("task: the order stays as the search gave it: %w", err)
	}
	ranked := answer.Value.Ranked
	for i, n := range ranked {
		hits[n].Parts.Rerank = 1 - float64(i)/float64(len(hits))
	}
	slices.SortStableFunc(hits, func(a, b backends.Hit) int { return cmp.Compare(b.Parts.Rerank, a.Parts.Rerank) })
	stage.Out(len(ranked))
	stage.Drop(len(hits) - len(ranked))
	return nil
}

// rewrite makes one piece of advice of the hits.
func (m *Memory) rewrite(ctx context.Context, run *ask.Run, resp *RetrieveResponse) error {
	stage := run.Stage(stageRewrite)
	stage.In(len(resp.Hits))
	l := m.language.For(resp.Query)
	q := m.question(l, func(p *prompts) string { return p.Rewrite }, fenced{"task", indent(text.Middle(resp.Query, maxQueryShown))}, m.shownHits(resp.Hits))
	advice, err := ask.Text(ctx, run, q, func(s string) error {
		if !text.HasWords(s) {
			return errors.New("the advice is blank")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("task: the answer is not rewritten: %w", err)
	}
	stage.Out(1)
	resp.Answer, resp.Rewritten = advice, true
	return nil
}
