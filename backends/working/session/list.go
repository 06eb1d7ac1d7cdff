// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// ListRequest asks for the sessions of a user, or of an agent that has none.
type ListRequest struct {
	Scope  backends.Scope // its user, else its agent, counts. Required.
	Limit  int            // Optional. Defaults to 100; at most 1000.
	Cursor string         // Optional. ListResponse.Next of the page before.
}

// ListResponse is a page of sessions.
type ListResponse struct {
	Sessions []Info
	Next     string // empty on the last page
	Total    int    // how many sessions there are, on all pages
}

// List returns sessions, those that changed last coming first. One that is there
// throughout the listing is met once, also if it changes meanwhile; one that is
// begun meanwhile is not met.
//
// Each page costs the states of all sessions in the partition: stores list the
// oldest first. The cursor takes eight bytes for each session that was met.
func (s *Service) List(ctx context.Context, r *ListRequest) (*ListResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("listing sessions: %w: no request", backends.ErrInvalid)
	}
	p, err := r.Scope.Speaker()
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	met, err := parseListing(r.Cursor)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: cursor: %w: %w", backends.ErrInvalid, err)
	}
	all, err := s.all(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("listing the sessions of %s: %w", p, err)
	}
	return page(all, met, store.Page{Limit: r.Limit}.Size()), nil
}

// all reads the states of all sessions of a partition.
func (s *Service) all(ctx context.Context, p backends.Partition) ([]store.Session, error) {
	var out []store.Session
	for cursor := ""; ; {
		page, err := s.cfg.Sessions.List(ctx, store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000, Cursor: cursor}})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Sessions...)
		if cursor = page.Next; cursor == "" {
			return out, nil
		}
	}
}

// page returns the newest sessions that the listing has not met.
func page(all []store.Session, l *listing, size int) *ListResponse {
	out := &ListResponse{Total: len(all)}
	if l.began.IsZero() {
		for i := range all {
			if all[i].Updated.After(l.began) {
				l.began = all[i].Updated
			}
		}
	}
	all = slices.DeleteFunc(all, func(st store.Session) bool { return st.Created.After(l.began) || l.has(st.ID) })
	slices.SortFunc(all, func(a, b store.Session) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	more := len(all) > size
	for i := range all[:min(size, len(all))] {
		out.Sessions = append(out.Sessions, *infoOf(&all[i]))
		l.meet(all[i].ID)
	}
	if more {
		out.Next = l.String()
	}
	return out
}
