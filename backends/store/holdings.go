// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
)

// holdings are what a store holds of somebody, for a call that goes through it.
type holdings struct {
	ctx context.Context
	s   Store
	p   backends.Partition // whose
}

// owns reports whether a memory came from the user, or is in the partition itself.
func (h *holdings) owns(p backends.Partition, m *backends.Memory) bool {
	return p == h.p || m.CameFrom(h.p.ID)
}

// others calls do with the workspaces and agents where something of a user may be.
func (h *holdings) others(do func(backends.Partition) error) error {
	if h.p.Kind != backends.PartitionUser {
		return nil
	}
	return each(func(page Page) ([]backends.Partition, string, error) {
		out, err := h.s.Partitions(h.ctx, h.p.Namespace, page)
		if err != nil {
			return nil, "", err
		}
		return out.Partitions, out.Next, nil
	}, func(p backends.Partition) error {
		if p.Kind == backends.PartitionUser {
			return nil
		}
		return do(p)
	})
}

// deleted calls do for the memories of the person that were deleted, and their histories.
func (h *holdings) deleted(p backends.Partition, do func(id string, events []backends.Event) error) error {
	seen := map[string]bool{}
	return each(func(page Page) ([]string, string, error) {
		ids, err := h.s.Deleted(h.ctx, p, page)
		if err != nil {
			return nil, "", err
		}
		return ids.IDs, ids.Next, nil
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
	return each(func(page Page) ([]Session, string, error) {
		out, err := h.s.List(h.ctx, SessionQuery{Partition: &p, Page: page})
		if err != nil {
			return nil, "", err
		}
		return out.Sessions, out.Next, nil
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

// eachBlobSession calls do for the sessions that have blobs.
func (h *holdings) eachBlobSession(p backends.Partition, do func(session string) error) error {
	return each(func(page Page) ([]string, string, error) {
		out, err := h.s.BlobSessions(h.ctx, p, page)
		if err != nil {
			return nil, "", err
		}
		return out.IDs, out.Next, nil
	}, do)
}

// eachBlob calls do for the names of a session's blobs.
func (h *holdings) eachBlob(p backends.Partition, session string, do func(name string) error) error {
	return each(func(page Page) ([]BlobInfo, string, error) {
		out, err := h.s.ListBlobs(h.ctx, p, session, "", page)
		if err != nil {
			return nil, "", err
		}
		return out.Blobs, out.Next, nil
	}, func(b BlobInfo) error { return do(b.Name) })
}

// transferPage is how many things are read and written together.
const transferPage = 1000

// each calls do for what list returns, page by page with the next cursor.
func each[T any](list func(Page) ([]T, string, error), do func(T) error) error {
	for page := (Page{Limit: transferPage}); ; {
		all, next, err := list(page)
		if err != nil {
			return err
		}
		for i := range all {
			if err := do(all[i]); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		page.Cursor = next
	}
}
