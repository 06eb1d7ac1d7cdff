// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// defaultTopK is the default number of hits of a search, maxTopK the most.
const (
	defaultTopK = 5
	maxTopK     = 1000
)

// experience are the kinds of memory that live in a workspace.
var experience = []backends.Kind{backends.KindTask, backends.KindTool, backends.KindSkill}

// search asks the partitions that the scope names, side by side, and joins the answers.
func (b *Backend) search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r.TopK < 0 || r.TopK > maxTopK {
		return nil, fmt.Errorf("reme: TopK %d: %w: 1 to %d, or 0 for %d", r.TopK, backends.ErrInvalid, maxTopK, defaultTopK)
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.Scope = at.scope
	if q.TopK == 0 {
		q.TopK = defaultTopK
	}
	var about, said, learnt backends.SearchResponse
	var both errgroup.Group
	ask := func(what string, into *backends.SearchResponse, search func() (*backends.SearchResponse, error)) {
		both.Go(func() error {
			return work.Catch("reme: "+what, func() error {
				resp, err := search()
				if err == nil {
					*into = *resp
				}
				return err
			})
		})
	}
	if at.personal != nil && len(q.Kinds) == 0 {
		ask("what is not learnt yet", &said, func() (*backends.SearchResponse, error) {
			s := b.statements(&q)
			if len(s.Beside) == 0 {
				return &backends.SearchResponse{}, nil
			}
			return b.keeper.Search(ctx, *at.personal, s)
		})
	}
	if at.personal != nil && asksFor(q.Kinds, backends.KindPersonal) {
		ask("personal memory", &about, func() (*backends.SearchResponse, error) {
			resp, err := b.personal.Retrieve(ctx, &PersonalRetrieveRequest{SearchRequest: q})
			if err != nil {
				return nil, err
			}
			return &resp.SearchResponse, nil
		})
	}
	if at.workspace != nil && asksFor(q.Kinds, experience...) {
		ask("the workspace", &learnt, func() (*backends.SearchResponse, error) {
			asked := q
			asked.Filter = keeper.Both(q.Filter.Without("agent_id"), task.Offered(q.Scope)) // agents share a workspace on purpose
			asked.TopK = min(maxTopK, 2*q.TopK)                                             // room for the sources of a skill
			asked.Kinds = slices.DeleteFunc(slices.Clone(experience), func(k backends.Kind) bool { return !asksFor(q.Kinds, k) })
			scale := scaleOf(q.Query)
			asked.Threshold /= scale
			resp, err := b.keeper.Search(ctx, *at.workspace, &asked)
			if err == nil {
				resp.Hits = withoutStoodFor(resp.Hits)
				for i := range resp.Hits {
					resp.Hits[i].Score = min(1, scale*resp.Hits[i].Score)
				}
			}
			return resp, err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	// A hit with an id is a stored episode, which package reme does not write.
	said.Hits = slices.DeleteFunc(said.Hits, func(h backends.Hit) bool { return h.ID != "" })
	hits := backends.MergeHits(backends.MergeHits(about.Hits, said.Hits), learnt.Hits)
	hits = hits[:min(len(hits), q.TopK)]
	b.keeper.Ranker().Passages(q.Query, hits)
	out := &backends.SearchResponse{Hits: hits, Degraded: errors.Join(about.Degraded, learnt.Degraded)}
	if at.personal == nil || !asksFor(q.Kinds, backends.KindPersonal) {
		return out, nil
	}
	return out, b.brief(ctx, *at.personal, &q, out)
}

// brief adds what always applies to the speaker. Where all that is known of them takes at most
// q.Brief tokens, it adds that, too, with what they said and what is still to be learnt.
func (b *Backend) brief(ctx context.Context, p backends.Partition, q *backends.SearchRequest, resp *backends.SearchResponse) error {
	admitted := b.keeper.Brief(p, q)
	if admitted == nil {
		return nil
	}
	admitted.Kinds = []backends.Kind{backends.KindPersonal}
	var standing, known []backends.Hit
	visit := func(key string, most int, into *[]backends.Hit) (bool, error) {
		tokens := 0
		ok, err := b.keeper.Ranker().Each(ctx, p, admitted, key, func(m *backends.Memory, _ func() bool) bool {
			if !m.Delicate {
				*into, tokens = append(*into, backends.Hit{Memory: m.Clone()}), tokens+text.Tokens(m.Text)
			}
			return tokens <= most
		})
		slices.SortFunc(*into, func(a, b backends.Hit) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
		return ok, err
	}
	_, err := visit(keeper.StandingKey, math.MaxInt, &standing)
	if resp.Standing = standing; err != nil || q.Brief < 0 {
		return err
	}
	whole, err := visit("", q.Brief, &known)
	if err != nil || !whole {
		return err
	}
	if len(q.Kinds) == 0 && q.Filter == nil {
		for _, m := range b.statements(q).Beside {
			known = append(known, backends.Hit{Memory: m})
		}
	}
	shown := map[[2]string]bool{}
	for _, h := range resp.Hits {
		shown[[2]string{h.ID, h.Text}] = true
	}
	resp.Whole = true
	resp.Hits = append(resp.Hits, slices.DeleteFunc(known, func(h backends.Hit) bool { return shown[[2]string{h.ID, h.Text}] })...)
	return nil
}

// usualTask is how many tokens a task has whose scores are as the search gives them.
const usualTask = 80

// scaleOf is the factor of the scores of experience: a score is the share of the query's words that
// a memory has, and of a long task it has few, however well it fits. So beyond usualTask the amount
// counts instead of the share. examples/bench/README.md has what that does on ReMe's pools.
func scaleOf(task string) float64 { return max(1, float64(text.Tokens(task))/usualTask) }

// withoutStoodFor leaves out the experiences that a skill among the hits is made of.
func withoutStoodFor(hits []backends.Hit) []backends.Hit {
	stoodFor := map[string]bool{}
	for i := range hits {
		for _, id := range hits[i].Origin.Evidence {
			stoodFor[id] = hits[i].Kind == backends.KindSkill
		}
	}
	return slices.DeleteFunc(hits, func(h backends.Hit) bool { return stoodFor[h.ID] })
}

// statements returns the search for statements of users that are still to be learnt.
func (b *Backend) statements(q *backends.SearchRequest) *backends.SearchRequest {
	out := *q
	out.Kinds, out.Beside = []backends.Kind{backends.KindEpisode}, nil
	for _, m := range q.Beside {
		if m.Origin.Role == string(schema.User) && speech.Classify(m.Text) == speech.Statement {
			m.Text = b.keeper.Redact(m.Text)
			out.Beside = append(out.Beside, m)
		}
	}
	return &out
}

// asksFor reports whether any of some is among kinds; an empty list means all.
func asksFor(kinds []backends.Kind, some ...backends.Kind) bool {
	return len(kinds) == 0 || slices.ContainsFunc(some, func(k backends.Kind) bool { return slices.Contains(kinds, k) })
}

// places are the partitions that a scope names: the speaker's and the workspace. One of them may be
// missing.
type places struct {
	scope     backends.Scope
	personal  *backends.Partition // the user's, else the agent's own
	workspace *backends.Partition
}

// places returns the partitions of a call. A zero scope stands for the scope of the context.
func (b *Backend) places(ctx context.Context, s backends.Scope) (*places, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	out := &places{scope: s}
	if out.personal, err = named(s.Speaker()); err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	if out.workspace, err = named(s.Partition(backends.PartitionWorkspace)); err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	if out.personal == nil && out.workspace == nil {
		return nil, fmt.Errorf("reme: %w: name a user or an agent for personal memory, a workspace for task and tool memory", backends.ErrNoScope)
	}
	return out, nil
}

// named returns the partition, or nil if the scope leaves it out.
func named(p backends.Partition, err error) (*backends.Partition, error) {
	if errors.Is(err, backends.ErrNoScope) {
		return nil, nil
	}
	return &p, err
}

// all returns the places, the speaker's first: forgetting a user must leave shared memories alone.
func (p *places) all() []keeper.Place {
	var out []keeper.Place
	for _, of := range []*backends.Partition{p.personal, p.workspace} {
		if of != nil {
			out = append(out, keeper.Place{Partition: *of, Caller: p.scope})
		}
	}
	return out
}
