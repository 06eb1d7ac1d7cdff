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

// walk goes through the data of a user, an agent or a workspace, in pages of the store. It
// keeps the first error, and calls nothing from then on.
type walk struct {
	ctx   context.Context
	s     Store
	owner backends.Partition
	err   error
}

// ok notes an error, and reports whether the walk goes on.
func (w *walk) ok(err error) bool {
	if w.err == nil {
		w.err = err
	}
	return w.err == nil
}

// alone reports whether data of these users in a partition came from the owner alone.
func (w *walk) alone(p backends.Partition, users []string) bool {
	return p == w.owner || slices.Equal(users, []string{w.owner.ID})
}

// lines calls do for the owner's data in a partition, in the order of an [Export]. The owner's
// partition begins even if it is empty. Another one, or a session of several users, begins
// with its first content.
func (w *walk) lines(p backends.Partition, do func(*line) error) {
	h := &holding{walk: w, p: p, own: p == w.owner, do: do}
	h.memories()
	w.deleted(p, func(id string, events []backends.Event) {
		if !slices.ContainsFunc(events, func(e backends.Event) bool { return !w.alone(p, e.Users) }) {
			h.put(&line{Deleted: id, Events: events}, true)
		}
	})
	w.sessions(p, h.session)
	if h.own {
		each(w, func(at Page) (*IDPage, error) { return w.s.BlobSessions(w.ctx, p, at) }, h.archive)
	}
}

// holding is the owner's data in one partition, on its way into lines.
type holding struct {
	*walk
	p       backends.Partition
	own     bool // p is the owner's
	do      func(*line) error
	pending []*line // heads without content as yet
}

// put hands a line on. A head that does not begin waits for its first content.
func (h *holding) put(l *line, begins bool) {
	if h.pending = append(h.pending, l); !begins {
		return
	}
	for _, l := range h.pending {
		if h.err == nil {
			h.err = h.do(l)
		}
	}
	h.pending = nil
}

// memories puts the head of the partition, and each record once, in the order of their changes.
// It releases each record before the next.
func (h *holding) memories() {
	began, seen := false, map[string]bool{}
	for set, err := range changes(h.ctx, h.s, h.p) {
		if err == nil && began && set.Reset {
			err = fmt.Errorf("%s: %w: it was dropped meanwhile", h.p, backends.ErrConflict)
		}
		if !h.ok(err) {
			return
		}
		if !began {
			h.put(&line{Partition: &h.p, Share: !h.own, Version: exportVersion, Embedding: set.Embedding}, h.own)
		}
		began = true
		slices.SortFunc(set.Records, func(a, b Record) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
		})
		for i := range set.Records {
			r := set.Records[i]
			set.Records[i] = Record{}
			if !seen[r.ID] && h.alone(h.p, r.From()) {
				h.put(&line{Memory: &r.Memory, Vector: r.Vector, Events: h.history(h.p, r.ID)}, true)
			}
			seen[r.ID] = true
		}
	}
}

// session puts a session with its log; from a session of several users, the messages of the
// owner.
func (h *holding) session(s Session) {
	whole := h.own || s.Scope.UserID == h.owner.ID
	head := &line{Session: &s}
	if !whole {
		head = &line{Session: &Session{Partition: h.p, ID: s.ID, Scope: s.Scope}, Share: true}
	}
	h.put(head, whole)
	h.entries(h.p, s.ID, func(e *Entry) {
		if !whole && (e.Erased || e.UserID != h.owner.ID) {
			return
		}
		if !whole {
			e.Seq = 0 // the numbers between them belong to others
		}
		h.put(&line{Message: e}, true)
	})
	h.pending = h.pending[:max(0, len(h.pending)-1)] // a session without a message of the owner
}

// archive puts the blobs of a session.
func (h *holding) archive(session string) {
	h.blobs(h.p, session, func(b BlobInfo) {
		data, err := h.s.GetBlob(h.ctx, h.p, session, b.Name)
		if h.ok(err) {
			h.put(&line{Blob: &blobLine{session, b.Name, data}}, true)
		}
	})
}

// history returns the history of a memory.
func (w *walk) history(p backends.Partition, id string) []backends.Event {
	if w.err != nil {
		return nil
	}
	events, err := w.s.History(w.ctx, p, id)
	w.ok(err)
	return events
}

// deleted calls do for the deleted memories that came from the owner, with their histories.
func (w *walk) deleted(p backends.Partition, do func(id string, events []backends.Event)) {
	seen := map[string]bool{}
	each(w, func(at Page) (*IDPage, error) { return w.s.Deleted(w.ctx, p, at) }, func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		events := w.history(p, id)
		own := func(e backends.Event) bool { return p == w.owner || slices.Contains(e.Users, w.owner.ID) }
		if w.err == nil && slices.ContainsFunc(events, own) {
			do(id, events)
		}
	})
}

// others calls do for the workspaces and agents that may have data of a user.
func (w *walk) others(do func(backends.Partition)) {
	if w.owner.Kind != backends.PartitionUser {
		return
	}
	each(w, func(at Page) (*PartitionPage, error) { return w.s.Partitions(w.ctx, w.owner.Namespace, at) }, func(p backends.Partition) {
		if p.Kind != backends.PartitionUser {
			do(p)
		}
	})
}

// sessions calls do for the sessions of a partition.
func (w *walk) sessions(p backends.Partition, do func(Session)) {
	each(w, func(at Page) (*SessionPage, error) { return w.s.List(w.ctx, SessionQuery{Partition: &p, Page: at}) }, do)
}

// entries calls do for the log of a session.
func (w *walk) entries(p backends.Partition, session string, do func(*Entry)) {
	for after := int64(0); w.err == nil; {
		some, err := w.s.Read(w.ctx, p, session, Range{After: after})
		if !w.ok(err) || len(some) == 0 {
			return
		}
		after = some[len(some)-1].Seq // before do changes an entry
		for i := range some {
			if w.err == nil {
				do(&some[i])
			}
		}
	}
}

// blobs calls do for the blobs of a session.
func (w *walk) blobs(p backends.Partition, session string, do func(BlobInfo)) {
	each(w, func(at Page) (*BlobPage, error) { return w.s.ListBlobs(w.ctx, p, session, "", at) }, do)
}

// each calls do for every entry of a listing, until an error.
func each[T any, L listing[T]](w *walk, list func(Page) (L, error), do func(T)) {
	if w.err == nil {
		w.ok(Each(list, func(one T) error {
			do(one)
			return w.err
		}))
	}
}
