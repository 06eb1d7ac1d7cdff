// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Promote shares one fact of a person with the workspace that the scope names, and returns the
// copy. The speaker stays visible: the copy keeps its origin, with the user's id as the speaker,
// and Scope.UserID. Secrets in it are redacted. The person's own fact stays as it is, and their
// searches find it once. A change of the fact leaves the copy alone: delete it, and promote the new
// fact. A repeat changes nothing.
//
// Errors: ErrInvalid without Config.Shared, and for a memory that is past or not a fact; ErrNoScope
// where the scope lacks the person or the workspace; ErrNotFound for an id of another partition.
func (b *Backend) Promote(ctx context.Context, s backends.Scope, id string) (*backends.Memory, error) {
	return keeper.Call(ctx, b.keep, &backends.GetRequest{Scope: s, ID: id}, b.promote)
}

func (b *Backend) promote(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	scope, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	team, err := keeper.Workspace(scope)
	if err != nil {
		return nil, fmt.Errorf("mem0: promoting memory %s: %w", r.ID, err)
	}
	if !b.config.Shared {
		return nil, fmt.Errorf("mem0: promoting memory %s: %w: searches would miss it: set Config.Shared", r.ID, backends.ErrInvalid)
	}
	if ctx, err = b.keep.Begin(ctx, scope); err != nil {
		return nil, err
	}
	m, err := b.keep.Get(ctx, p, r.ID)
	if err != nil {
		return nil, err
	}
	if m.Kind != backends.KindFact || !m.Active() {
		return nil, fmt.Errorf("mem0: promoting memory %s: %w: facts that hold are shared", r.ID, backends.ErrInvalid)
	}
	rec := &store.Record{Memory: b.copyFor(p, team, m)}
	put := store.Put(rec)
	put.Expect, put.Actor, put.Role = store.MustNotExist, rec.Origin.Author, rec.Origin.Role
	applied, err := b.keep.Commit(ctx, team, &store.Batch{Mutations: []store.Mutation{put}}, nil)
	switch {
	case errors.Is(err, backends.ErrConflict): // it is a repeat
		return b.keep.Get(ctx, team, rec.ID)
	case err != nil:
		return nil, err
	}
	rec.Version = applied.Version
	return &rec.Memory, nil
}

// copyFor returns the workspace's copy of a person's fact.
func (b *Backend) copyFor(p, team backends.Partition, m *backends.Memory) backends.Memory {
	c := m.Clone()
	c.ID, c.Text = keeper.ContentID(team, backends.KindFact, p.String(), m.ID), redact.Text(m.Text)
	c.Scope.Workspace = team.ID
	c.Origin.Speaker = cmp.Or(backends.SpeakerName(p.ID), "member") // however many names its text has
	c.Metadata, _ = redact.Value(c.Metadata, redact.Text).(map[string]any)
	keeper.SetMeta(&c, backends.MetaPromotedFrom, m.ID)
	c.Supersedes, c.Version = "", 0
	c.Created = b.keep.Stamps(1)
	c.Updated = c.Created
	return c
}

// reach returns the scope of a call about memories, and its partition: the speaker's, or with
// Config.Shared the workspace of a scope that names it alone.
func (b *Backend) reach(ctx context.Context, s backends.Scope) (backends.Scope, backends.Partition, error) {
	return b.keep.Resolve(ctx, s, func(s backends.Scope) (backends.Partition, error) {
		if b.config.Shared && s.UserID == "" && s.AgentID == "" {
			return keeper.Workspace(s)
		}
		return s.Speaker()
	})
}

// places is reach for the manager. Other memories of a workspace belong to other backends.
func (b *Backend) places(ctx context.Context, s backends.Scope) ([]keeper.Place, error) {
	_, p, err := b.reach(ctx, s)
	place := keeper.Place{Partition: p}
	if p.Kind == backends.PartitionWorkspace {
		own := backends.Filter{Op: "in", Field: "kind", Value: []string{string(backends.KindFact), string(backends.KindDocument)}}
		place.Within, place.Forgets = &own, &own
	}
	if err != nil {
		return nil, err
	}
	return []keeper.Place{place}, nil
}

// searchShared searches a person's partition and beside it the facts of the workspace that the
// scope names. If the workspace fails, the person's own memories answer.
func (b *Backend) searchShared(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (*backends.SearchResponse, error) {
	team, err := keeper.Workspace(q.Scope)
	kinds := slices.DeleteFunc([]backends.Kind{backends.KindFact, backends.KindDocument}, func(k backends.Kind) bool {
		return len(q.Kinds) > 0 && !slices.Contains(q.Kinds, k)
	})
	if err != nil || len(kinds) == 0 {
		return b.searchOne(ctx, p, q)
	}
	facts := *q
	facts.Kinds, facts.Beside, facts.Filter = kinds, nil, q.Filter.Without("agent_id")
	if p == team {
		return b.searchFacts(ctx, team, &facts)
	}
	var found *backends.SearchResponse
	var failed error
	var both sync.WaitGroup
	both.Go(func() {
		failed = work.Catch("mem0: the workspace", func() (err error) {
			found, err = b.searchFacts(ctx, team, &facts)
			return err
		})
	})
	own, err := b.searchOne(ctx, p, q)
	both.Wait()
	if err != nil {
		return nil, err
	}
	if failed != nil {
		own.Degraded = errors.Join(own.Degraded, failed)
		return own, nil //nolint:nilerr // one's own memories answer, and Degraded says so
	}
	others, err := b.ofOthers(ctx, p, own.Hits, found.Hits)
	standing, err2 := b.ofOthers(ctx, p, own.Standing, found.Standing)
	own.Standing, own.Degraded = append(own.Standing, standing...), errors.Join(own.Degraded, found.Degraded, err, err2)
	whole, tokens := own.Whole && found.Whole, 0
	own.Hits = backends.MergeHits(own.Hits, others)
	for i := range own.Hits {
		tokens += text.Tokens(own.Hits[i].Text)
	}
	if own.Whole = whole && tokens <= q.Brief; !own.Whole {
		own.Hits = slices.DeleteFunc(own.Hits, func(h backends.Hit) bool { return h.Score == 0 && (whole || found.Whole) })
		own.Hits = own.Hits[:min(len(own.Hits), cmp.Or(q.TopK, defaultTopK))]
	}
	return own, nil
}

// searchFacts searches the facts of a workspace.
func (b *Backend) searchFacts(ctx context.Context, team backends.Partition, q *backends.SearchRequest) (*backends.SearchResponse, error) {
	resp, err := b.keep.Search(ctx, team, q)
	if err != nil {
		return nil, err
	}
	return resp, b.brief(ctx, team, q, resp)
}

// ofOthers returns the hits of a workspace that are new to the person: copies of the person's own
// facts are left out, and texts among their hits. Each text comes once.
func (b *Backend) ofOthers(ctx context.Context, p backends.Partition, own, shared []backends.Hit) ([]backends.Hit, error) {
	shown := map[string]bool{}
	for i := range own {
		shown[textKey(&own[i])] = true
	}
	ids := make([]string, len(shared))
	for i := range shared {
		ids[i], _ = shared[i].Metadata[backends.MetaPromotedFrom].(string)
	}
	held, err := b.keep.Held(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	var out []backends.Hit
	for i := range shared {
		if key := textKey(&shared[i]); held[ids[i]] == nil && !shown[key] {
			shown[key] = true
			out = append(out, shared[i])
		}
	}
	return out, nil
}

func textKey(h *backends.Hit) string { return keeper.TextKey(h.Kind, "", h.Text) }
