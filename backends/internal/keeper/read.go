// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Search returns the memories of the partition that answer the query, as [backends.Backend]
// says. The partition is p. The request's scope is the caller, who sees a workspace as
// [Keeper.Shown] shows it.
func (k *Keeper) Search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	q := *r
	q.Filter = k.Visible(r.Scope, p, r.Filter)
	resp, err := k.config.Ranker.Search(ctx, p, &q)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	k.showHits(r.Scope, p, resp.Hits)
	return resp, nil
}

// Get returns one memory, active or ended. An expired memory is ErrNotFound, as is one of
// another partition.
func (k *Keeper) Get(ctx context.Context, p backends.Partition, id string) (*backends.Memory, error) {
	rec, err := k.record(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if rec.Expired(k.config.Clock()) {
		return nil, k.errorf("memory %s: %w: it expired; Update clears the expiry", id, backends.ErrNotFound)
	}
	return &rec.Memory, nil
}

// Records returns the existing records with the given ids, in the order asked for, as the
// store holds them: for compare-and-swap. They are the caller's.
func (k *Keeper) Records(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	for _, id := range ids {
		if err := store.ValidateID("memory", id); err != nil {
			return nil, k.errorf("%w", err)
		}
	}
	recs, err := k.config.Store.Get(ctx, p, ids...)
	if err != nil {
		return nil, k.errorf("reading %d memories: %w", len(ids), err)
	}
	return recs, nil
}

// record returns one record, or ErrNotFound.
func (k *Keeper) record(ctx context.Context, p backends.Partition, id string) (*store.Record, error) {
	recs, err := k.Records(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if len(recs) == 0 {
		return nil, k.errorf("memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	return &recs[0], nil
}

// All returns every memory of the partition except the core blocks, in the order stored,
// superseded and expired ones too. They belong to the ranker and must stay unchanged: see
// [backends.Memory.Clone].
func (k *Keeper) All(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	return k.every(ctx, p, false)
}

// Lookup returns the memories that have at least one of the keys, each once, under the
// terms of [Keeper.All]. See [Keys].
func (k *Keeper) Lookup(ctx context.Context, p backends.Partition, keys ...string) ([]*backends.Memory, error) {
	found, err := k.config.Ranker.Lookup(ctx, p, keys...)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	return found, nil
}

// Held returns the memories of the partition that have one of the ids, by id, under the
// terms of [Keeper.All]. It reads the ranker's index, and leaves vectors alone.
func (k *Keeper) Held(ctx context.Context, p backends.Partition, ids ...string) (map[string]*backends.Memory, error) {
	byID := make(map[string]*backends.Memory, len(ids))
	if len(ids) == 0 {
		return byID, nil
	}
	found, err := k.config.Ranker.Get(ctx, p, ids...)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	for _, m := range found {
		byID[m.ID] = m
	}
	return byID, nil
}

// every returns the memories of a partition in the order stored; core includes its core
// blocks.
func (k *Keeper) every(ctx context.Context, p backends.Partition, core bool) ([]*backends.Memory, error) {
	all, err := k.config.Ranker.All(ctx, p)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	if !core {
		all = slices.DeleteFunc(all, func(m *backends.Memory) bool { return m.Kind.Traits().InPrompt })
	}
	return all, nil
}

// History returns the events of the memory, of its predecessors and of its successors,
// oldest first. It answers after a deletion too. An unknown id is ErrNotFound.
func (k *Keeper) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := store.ValidateID("memory", id); err != nil {
		return nil, k.errorf("%w", err)
	}
	all, err := k.every(ctx, p, true)
	if err != nil {
		return nil, err
	}
	// Events and memories name the links of a chain, and one of them may be gone. A deleted
	// memory has only events, and the links of a memory from a dump may be in its record
	// alone.
	beside := map[string][]string{}
	for _, m := range all {
		for _, other := range []string{m.Supersedes, m.SupersededBy} {
			if other != "" {
				beside[m.ID], beside[other] = append(beside[m.ID], other), append(beside[other], m.ID)
			}
		}
	}
	seen := map[string]bool{"": true, id: true}
	var events []backends.Event
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		own, err := k.config.Store.History(ctx, p, queue[0])
		if err != nil {
			return nil, k.errorf("history of memory %s: %w", queue[0], err)
		}
		next := beside[queue[0]]
		for _, e := range own {
			next = append(next, e.Supersedes, e.By)
		}
		for _, id := range next {
			if !seen[id] {
				seen[id] = true
				queue = append(queue, id)
			}
		}
		events = append(events, own...)
	}
	if len(events) == 0 {
		return nil, k.errorf("memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	slices.SortStableFunc(events, func(a, b backends.Event) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), a.Time.Compare(b.Time))
	})
	return events, nil
}

// Brief returns the request for the brief of a search, with the filter that its caller may use, or
// nil for a search that has none: one without a Brief, and one of the past.
func (k *Keeper) Brief(p backends.Partition, q *backends.SearchRequest) *backends.SearchRequest {
	if q.Brief == 0 || !q.AsOf.IsZero() || !q.KnownAt.IsZero() || q.IncludeSuperseded {
		return nil
	}
	admitted := *q
	admitted.Filter = k.Visible(q.Scope, p, q.Filter)
	return &admitted
}

// List returns a page of memories in the order of the request, as [backends.Manager] says. Core
// blocks are listed only where Kinds asks for them. The partition is p; the request's
// scope is the caller, as in [Keeper.Search].
func (k *Keeper) List(ctx context.Context, p backends.Partition, r *backends.ListRequest) (*backends.ListResponse, error) {
	matches, err := k.Visible(r.Scope, p, r.Filter).Compile()
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	after, err := parseCursor(r.Cursor)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	all, err := k.every(ctx, p, slices.Contains(r.Kinds, backends.KindCore))
	if err != nil {
		return nil, err
	}
	now, byID, part := k.config.Clock(), map[string]*backends.Memory{}, strings.ToLower(r.Part)
	for _, m := range all {
		byID[m.ID] = m
	}
	order, at := inOrder, func(m *backends.Memory) time.Time { return m.Created }
	if r.Newest {
		order, at = newestFirst, (*backends.Memory).Since
		slices.SortFunc(all, order)
	}
	stands := func(m *backends.Memory) bool {
		return !m.Kind.Traits().Inferred || m.Stands(now, func(id string) *backends.Memory { return byID[id] })
	}
	wanted := func(m *backends.Memory) bool {
		return (r.IncludeSuperseded || m.Active() && stands(m)) && (r.IncludeExpired || !m.Expired(now)) &&
			(len(r.Kinds) == 0 || slices.Contains(r.Kinds, m.Kind)) && matches(m) &&
			(part == "" || strings.Contains(strings.ToLower(m.Text), part)) && (m.Text != "" || !silent(m))
	}
	resp := &backends.ListResponse{}
	limit := store.Page{Limit: r.Limit}.Size()
	from, found := slices.BinarySearchFunc(all, after, order)
	switch {
	case r.Cursor == "":
		from = 0
	case found: // it was on the page before
		from++
	}
	for _, m := range all[from:] {
		if !wanted(m) {
			continue
		}
		if n := len(resp.Memories); n == limit {
			last := &resp.Memories[n-1]
			resp.Next = base64.RawURLEncoding.EncodeToString([]byte(at(last).UTC().Format(time.RFC3339Nano) + "|" + last.ID))
			break
		}
		resp.Memories = append(resp.Memories, k.Shown(r.Scope, p, m.Clone()))
	}
	return resp, nil
}

// inOrder compares memories by the order in which they were stored, the order of recall's
// All.
func inOrder(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// newestFirst compares memories by the start of their validity, the later one first.
func newestFirst(a, b *backends.Memory) int {
	return cmp.Or(b.Since().Compare(a.Since()), strings.Compare(b.ID, a.ID))
}

// parseCursor returns a memory that has the place of a cursor.
func parseCursor(s string) (m *backends.Memory, err error) {
	m = &backends.Memory{}
	if s == "" {
		return m, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	created, id, ok := strings.Cut(string(raw), "|")
	if err == nil && ok {
		m.ID = id
		m.Created, err = time.Parse(time.RFC3339Nano, created)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("cursor %q: %w: use the Next of the page before", s, backends.ErrInvalid)
	}
	return m, nil
}
