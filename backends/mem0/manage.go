// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// actorCaller is the actor of changes that the application made itself.
const actorCaller = "caller"

// deleteBatch is how many memories one write of DeleteAll removes.
const deleteBatch = 5000

// Get implements [backends.Manager]. A memory that expired is ErrNotFound.
func (b *Backend) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	rec, err := b.record(ctx, p, r.ID)
	if err != nil {
		return nil, err
	}
	if rec.Expired(b.config.Clock()) {
		return nil, fmt.Errorf("mem0: memory %s: %w: it expired; Update clears the expiry", r.ID, backends.ErrNotFound)
	}
	return &rec.Memory, nil
}

func (b *Backend) record(ctx context.Context, p backends.Partition, id string) (*store.Record, error) {
	if err := store.ValidateID("memory", id); err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	recs, err := b.store.Get(ctx, p, id)
	if err != nil {
		return nil, fmt.Errorf("mem0: reading memory %s: %w", id, err)
	}
	if len(recs) == 0 {
		return nil, fmt.Errorf("mem0: memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	return &recs[0], nil
}

// List implements [backends.Manager]. Core blocks are listed only where Kinds asks
// for them.
func (b *Backend) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	matches, err := r.Filter.Compile()
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	after, err := parseCursor(r.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := b.all(ctx, p, slices.Contains(r.Kinds, backends.KindCore))
	if err != nil {
		return nil, err
	}
	now := b.config.Clock()
	wanted := func(m *backends.Memory) bool {
		return (r.IncludeSuperseded || m.Active()) && (r.IncludeExpired || !m.Expired(now)) &&
			(len(r.Kinds) == 0 || slices.Contains(r.Kinds, m.Kind)) && matches(m)
	}
	resp := &backends.ListResponse{}
	limit := store.Page{Limit: r.Limit}.Size()
	from, _ := slices.BinarySearchFunc(all, after, func(m *backends.Memory, after position) int {
		return cmp.Or(positionOf(m).compare(after), -1) // the one at the cursor was on the page before
	})
	for _, m := range all[from:] {
		if !wanted(m) {
			continue
		}
		if n := len(resp.Memories); n == limit {
			resp.Next = positionOf(&resp.Memories[n-1]).cursor()
			break
		}
		resp.Memories = append(resp.Memories, clone(m))
	}
	return resp, nil
}

// all returns the memories of a partition in the order stored, with its core blocks
// or without.
func (b *Backend) all(ctx context.Context, p backends.Partition, core bool) ([]*backends.Memory, error) {
	all, err := b.ranker.All(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	if !core {
		return all, nil
	}
	blocks, err := b.ranker.CoreBlocks(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	for _, m := range blocks {
		at, _ := slices.BinarySearchFunc(all, positionOf(m), func(m *backends.Memory, q position) int { return positionOf(m).compare(q) })
		all = slices.Insert(all, at, m)
	}
	return all, nil
}

// refuseCore returns ErrInvalid for a core block: nothing here knows its limit, or
// whether the agent may change it at all.
func refuseCore(m *backends.Memory) error {
	if m.Kind != backends.KindCore {
		return nil
	}
	return fmt.Errorf("mem0: memory %s: %w: it is a core block, which is edited by core_memory_append and core_memory_replace, or by Set of package core", m.ID, backends.ErrInvalid)
}

// position is a memory's place in the order in which they were stored, which is
// that of recall's All.
type position struct {
	created time.Time
	id      string
}

func positionOf(m *backends.Memory) position { return position{m.Created, m.ID} }

func (p position) compare(q position) int {
	if c := p.created.Compare(q.created); c != 0 {
		return c
	}
	return strings.Compare(p.id, q.id)
}

func (p position) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.created.UTC().Format(time.RFC3339Nano) + "|" + p.id))
}

func parseCursor(s string) (position, error) {
	if s == "" {
		return position{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	created, id, ok := strings.Cut(string(raw), "|")
	t, terr := time.Parse(time.RFC3339Nano, created)
	if err != nil || terr != nil || !ok {
		return position{}, fmt.Errorf("mem0: cursor %q: %w: use the Next of the page before", s, backends.ErrInvalid)
	}
	return position{t, id}, nil
}

// Delete implements [backends.Manager]. A core block is ErrInvalid.
func (b *Backend) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return err
	}
	return b.retry(ctx, r.Version == 0, func() error {
		rec, err := b.record(ctx, p, r.ID)
		if err != nil {
			return err
		}
		if err := refuseCore(&rec.Memory); err != nil {
			return err
		}
		m := store.Delete(r.ID)
		m.Expect, m.Actor = rec.Version, actorCaller
		if r.Version != 0 {
			m.Expect = r.Version
		}
		if _, err = b.store.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{m}}); err != nil {
			return fmt.Errorf("mem0: deleting memory %s: %w", r.ID, err)
		}
		return nil
	})
}

// retry repeats a read-and-write that lost a race, if it may.
func (b *Backend) retry(ctx context.Context, may bool, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !may || !errors.Is(err, backends.ErrConflict) || attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
	}
}

// DeleteAll implements [backends.Manager]: active or not, expired or not, core blocks
// too: it is how somebody is forgotten. Large partitions take several writes; after an error the call may be repeated.
func (b *Backend) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return 0, err
	}
	matches, err := r.Filter.Compile()
	if err != nil {
		return 0, fmt.Errorf("mem0: %w", err)
	}
	all, err := b.all(ctx, p, true)
	if err != nil {
		return 0, err
	}
	var deletes []store.Mutation
	for _, m := range all {
		if matches(m) {
			d := store.Delete(m.ID)
			d.Actor = actorCaller
			deletes = append(deletes, d)
		}
	}
	done := 0
	for part := range slices.Chunk(deletes, deleteBatch) {
		if _, err := b.store.Apply(ctx, p, &store.Batch{Mutations: part}); err != nil {
			return done, fmt.Errorf("mem0: deleting %d memories: %w", len(deletes), err)
		}
		done += len(part)
	}
	return done, nil
}

// Reset erases every user's and every agent's partition of a namespace: memories,
// history, sessions. Workspaces are left. The namespace must be named; that of
// scopes without one is [backends.DefaultNamespace].
func (b *Backend) Reset(ctx context.Context, namespace string) (store.DropCount, error) {
	var total store.DropCount
	if strings.TrimSpace(namespace) == "" {
		return total, fmt.Errorf("mem0: reset: %w: name the namespace, such as backends.DefaultNamespace", backends.ErrNoScope)
	}
	if _, err := (backends.Scope{Namespace: namespace}).Normalize(); err != nil {
		return total, fmt.Errorf("mem0: reset: %w", err)
	}
	namespace = strings.TrimSpace(namespace)
	for cursor := ""; ; {
		page, err := b.store.Partitions(ctx, namespace, store.Page{Cursor: cursor})
		if err != nil {
			return total, fmt.Errorf("mem0: reset: %w", err)
		}
		for _, p := range page.Partitions {
			if p.Kind == backends.PartitionWorkspace {
				continue
			}
			n, err := b.store.Drop(ctx, p)
			if err != nil {
				return total, fmt.Errorf("mem0: reset of %s: %w", p, err)
			}
			total.Records += n.Records
			total.Sessions += n.Sessions
			total.Messages += n.Messages
			total.Blobs += n.Blobs
		}
		if cursor = page.Next; cursor == "" {
			return total, nil
		}
	}
}
