// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// holdings are the data of a user, an agent or a workspace, for a call that walks through
// them.
type holdings struct {
	ctx context.Context
	s   Store
	p   backends.Partition // the owner's
}

// others calls do with the workspaces and agents that may have data of a user.
func (h *holdings) others(do func(backends.Partition) error) error {
	if h.p.Kind != backends.PartitionUser {
		return nil
	}
	return Each(func(page Page) (*PartitionPage, error) {
		return h.s.Partitions(h.ctx, h.p.Namespace, page)
	}, func(p backends.Partition) error {
		if p.Kind == backends.PartitionUser {
			return nil
		}
		return do(p)
	})
}

// eachRecord calls do once for each record of a partition, in the order of their changes,
// after head got the space of their vectors. It releases each record before the next.
func (h *holdings) eachRecord(p backends.Partition, head func(*Embedding) error, do func(*Record) error) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		set, err := h.s.Changes(h.ctx, p, cursor)
		switch {
		case err == nil && cursor == "":
			err = head(set.Embedding)
		case err == nil && set.Reset:
			err = fmt.Errorf("%s: %w: it was dropped meanwhile", p, backends.ErrConflict)
		}
		if err != nil {
			return err
		}
		slices.SortFunc(set.Records, func(a, b Record) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
		})
		for i := range set.Records {
			r := set.Records[i]
			set.Records[i] = Record{}
			if seen[r.ID] {
				continue
			}
			seen[r.ID] = true
			if err := do(&r); err != nil {
				return err
			}
		}
		if cursor = set.Cursor; !set.More {
			return nil
		}
	}
}

// deleted calls do for the user's deleted memories, with their histories.
func (h *holdings) deleted(p backends.Partition, do func(id string, events []backends.Event) error) error {
	seen := map[string]bool{}
	return Each(func(page Page) (*IDPage, error) {
		return h.s.Deleted(h.ctx, p, page)
	}, func(id string) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		events, err := h.s.History(h.ctx, p, id)
		own := p == h.p || slices.ContainsFunc(events, func(e backends.Event) bool { return slices.Contains(e.Users, h.p.ID) })
		if err != nil || len(events) == 0 || !own {
			return err
		}
		return do(id, events)
	})
}

// eachSession calls do for the sessions of a partition.
func (h *holdings) eachSession(p backends.Partition, do func(Session) error) error {
	return Each(func(page Page) (*SessionPage, error) {
		return h.s.List(h.ctx, SessionQuery{Partition: &p, Page: page})
	}, do)
}

// eachEntry calls do for the log of a session.
func (h *holdings) eachEntry(p backends.Partition, session string, do func(*Entry) error) error {
	for after := int64(0); ; {
		entries, err := h.s.Read(h.ctx, p, session, Range{After: after})
		if err != nil || len(entries) == 0 {
			return err
		}
		for i := range entries {
			if err := do(&entries[i]); err != nil {
				return err
			}
		}
		after = entries[len(entries)-1].Seq
	}
}

// eachBlob calls do for the blobs of a session.
func (h *holdings) eachBlob(p backends.Partition, session string, do func(BlobInfo) error) error {
	return Each(func(page Page) (*BlobPage, error) {
		return h.s.ListBlobs(h.ctx, p, session, "", page)
	}, do)
}

// All returns the records of a partition by their ids, and the space of their vectors. The
// function trim is called with each record and may drop unused fields. Optional.
func All(ctx context.Context, s Records, p backends.Partition, trim func(*Record)) (map[string]*Record, *Embedding, error) {
	all := map[string]*Record{}
	for cursor := ""; ; {
		set, err := s.Changes(ctx, p, cursor)
		if err != nil {
			return nil, nil, err
		}
		if set.Reset {
			clear(all)
		}
		for i := range set.Records {
			r := set.Records[i]
			if trim != nil {
				trim(&r)
			}
			all[r.ID] = &r
		}
		for _, id := range set.Removed {
			delete(all, id)
		}
		if cursor = set.Cursor; !set.More {
			return all, set.Embedding, nil
		}
	}
}

// transferPage is how many things are read and written together.
const transferPage = 1000

// listing is a page of a listing, and the cursor of the next. (The linter overlooks that
// Each uses it.)
type listing[T any] interface{ page() ([]T, string) }

func (l *PartitionPage) page() ([]backends.Partition, string) { return l.Partitions, l.Next } //nolint:unused // see listing
func (l *IDPage) page() ([]string, string)                    { return l.IDs, l.Next }        //nolint:unused // see listing
func (l *SessionPage) page() ([]Session, string)              { return l.Sessions, l.Next }   //nolint:unused // see listing
func (l *BlobPage) page() ([]BlobInfo, string)                { return l.Blobs, l.Next }      //nolint:unused // see listing

// Each calls do for every entry of a listing, such as [Records].Partitions, page by page.
// It returns the first error.
func Each[T any, L listing[T]](list func(Page) (L, error), do func(T) error) error {
	for at := (Page{Limit: transferPage}); ; {
		found, err := list(at)
		if err != nil {
			return err
		}
		all, next := found.page()
		for i := range all {
			if err := do(all[i]); err != nil {
				return err
			}
		}
		if at.Cursor = next; next == "" {
			return nil
		}
	}
}
