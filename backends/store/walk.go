// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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

// all calls do for the owner's data in their partition, and in the partitions that may have a
// share of it: see lines.
func (w *walk) all(do func(*line) error) error {
	w.lines(w.owner, do)
	w.others(func(p backends.Partition) { w.lines(p, do) })
	return w.err
}

// lines calls do for the owner's data in a partition, in the order of an [Export]. The owner's
// partition begins even if it is empty. Another one, or a session of several users, begins
// with its first content. A record is released before the next.
func (w *walk) lines(p backends.Partition, do func(*line) error) {
	own := p == w.owner
	var pending []*line
	put := func(l *line, begins bool) {
		if pending = append(pending, l); !begins {
			return
		}
		for _, l := range pending {
			if w.err == nil {
				w.err = do(l)
			}
		}
		pending = nil
	}
	began, seen := false, map[string]bool{}
	for set, err := range changes(w.ctx, w.s, p) {
		if err == nil && began && set.Reset {
			err = fmt.Errorf("%s: %w: it was dropped meanwhile", p, backends.ErrConflict)
		}
		if !w.ok(err) {
			return
		}
		if !began {
			put(&line{Partition: &p, Share: !own, Version: exportVersion, Embedding: set.Embedding}, own)
		}
		began = true
		slices.SortFunc(set.Records, func(a, b Record) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
		})
		for i := range set.Records {
			r := set.Records[i]
			set.Records[i] = Record{}
			if !seen[r.ID] && w.alone(p, r.From()) {
				put(&line{Memory: &r.Memory, Vector: r.Vector, Events: w.history(p, r.ID)}, true)
			}
			seen[r.ID] = true
		}
	}
	w.deleted(p, func(id string, events []backends.Event) {
		if !slices.ContainsFunc(events, func(e backends.Event) bool { return !w.alone(p, e.Users) }) {
			put(&line{Deleted: id, Events: events}, true)
		}
	})
	w.sessions(p, func(s Session) {
		whole := own || s.Scope.UserID == w.owner.ID
		head := &line{Session: &s}
		if !whole {
			head = &line{Session: &Session{Partition: p, ID: s.ID, Scope: s.Scope}, Share: true}
		}
		put(head, whole)
		w.entries(p, s.ID, func(e *Entry) {
			if !whole && (e.Erased || e.UserID != w.owner.ID) {
				return
			}
			if !whole {
				e.Seq = 0 // the numbers between them belong to others
			}
			put(&line{Message: e}, true)
		})
		pending = pending[:max(0, len(pending)-1)] // a session without a message of the owner
	})
	if !own {
		return
	}
	each(w, func(at Page) (*IDPage, error) { return w.s.BlobSessions(w.ctx, p, at) }, func(session string) {
		w.blobs(p, session, func(b BlobInfo) {
			data, err := w.s.GetBlob(w.ctx, p, session, b.Name)
			if w.ok(err) {
				put(&line{Blob: &blobLine{session, b.Name, data}}, true)
			}
		})
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

// changes yields all changes of a partition, page by page.
func changes(ctx context.Context, s Records, p backends.Partition) iter.Seq2[*ChangeSet, error] {
	return func(yield func(*ChangeSet, error) bool) {
		for cursor := ""; ; {
			set, err := s.Changes(ctx, p, cursor)
			if !yield(set, err) || err != nil || !set.More {
				return
			}
			cursor = set.Cursor
		}
	}
}

// All returns the records of a partition by their ids, and the space of their vectors. The
// function trim is called with each record and may drop unused fields. Optional.
func All(ctx context.Context, s Records, p backends.Partition, trim func(*Record)) (map[string]*Record, *Embedding, error) {
	var space *Embedding
	all := map[string]*Record{}
	for set, err := range changes(ctx, s, p) {
		if err != nil {
			return nil, nil, err
		}
		if space = set.Embedding; set.Reset {
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
	}
	return all, space, nil
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
