// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// ListRequest asks for a page of memories.
type ListRequest struct {
	Scope       backends.Scope   // Required. Names the workspace. Defaults to that of the context.
	Kinds       []backends.Kind  // Optional. Defaults to all but core blocks.
	Tags        []string         // Optional. Memories that bear all of these tags.
	From, Until time.Time        // Optional. Memories made from then on, and before then.
	Filter      *backends.Filter // Optional. Further conditions.
	Past        bool             // Optional. Also what was superseded, retracted or expired.
	Limit       int              // Optional. Defaults to 100; at most 1000.
	Cursor      string           // Optional. Next of the page before.
}

// List returns memories of a workspace in the order in which they were made, in
// pages. A workspace that does not exist has none.
func (l *Library) List(ctx context.Context, r *ListRequest) (*backends.ListResponse, error) {
	if r == nil {
		r = &ListRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	var all []backends.Filter
	for _, tag := range r.Tags {
		all = append(all, backends.Contains("metadata.tags", tag))
	}
	if !r.From.IsZero() {
		all = append(all, backends.Gte("created", r.From))
	}
	if !r.Until.IsZero() {
		all = append(all, backends.Lt("created", r.Until))
	}
	if r.Filter != nil {
		all = append(all, *r.Filter)
	}
	q := &backends.ListRequest{Scope: at.scope, Kinds: r.Kinds, IncludeSuperseded: r.Past, IncludeExpired: r.Past, Limit: r.Limit, Cursor: r.Cursor}
	if len(all) > 0 {
		filter := backends.And(all...)
		q.Filter = &filter
	}
	return l.keeper.List(ctx, at.partition, q)
}

// WorkspacesRequest asks for a page of workspaces.
type WorkspacesRequest struct {
	Namespace string // Optional. Defaults to [backends.DefaultNamespace].
	Page      store.Page
}

// WorkspacesResponse is a page of workspaces. It may hold fewer than its limit, even
// none, and have a Next.
type WorkspacesResponse struct {
	Workspaces []string
	Next       string // the cursor of the next page; empty on the last
}

// Workspaces lists the workspaces of a namespace that hold something: memories,
// histories of those that were, or the log of tool calls. Delete with Erase takes one
// off the list.
func (l *Library) Workspaces(ctx context.Context, r *WorkspacesRequest) (*WorkspacesResponse, error) {
	if r == nil {
		r = &WorkspacesRequest{}
	}
	s, err := backends.Scope{Namespace: r.Namespace}.Normalize()
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	if s.Namespace == "" {
		s.Namespace = backends.DefaultNamespace
	}
	page, err := l.keeper.Store().Partitions(ctx, s.Namespace, r.Page)
	if err != nil {
		return nil, fmt.Errorf("library: listing workspaces of %s: %w", s.Namespace, err)
	}
	out := &WorkspacesResponse{Next: page.Next}
	for _, p := range page.Partitions {
		if p.Kind == backends.PartitionWorkspace {
			out.Workspaces = append(out.Workspaces, p.ID)
		}
	}
	return out, nil
}
