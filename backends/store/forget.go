// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Forget erases the data of a user, as [backends.Forgetter] says, or the whole partition of
// an agent or a workspace. For a user it reads every workspace and agent of the namespace.
// A part is for users alone; a nil part means everything.
//
// Forget erases a part under the leases of its sessions. It returns ErrConflict if a
// process keeps learning from one of them for a minute.
func Forget(ctx context.Context, s Store, p backends.Partition, part *backends.Part) (*backends.Receipt, error) {
	f := &forgetting{
		walk: walk{ctx: ctx, s: s, owner: p, err: p.Validate()}, receipt: &backends.Receipt{Partition: p},
		said: selection{part: part, messages: map[source]bool{}, turns: map[source]bool{}, quoted: map[source]bool{}},
	}
	if part == nil {
		f.drop()
	} else {
		f.part()
	}
	f.others(f.elsewhere)
	if part != nil {
		f.receipt.IDs = f.memories(p)
		f.receipt.Memories = len(f.receipt.IDs)
	}
	f.reclaim()
	if f.err != nil {
		f.err = fmt.Errorf("forgetting %s: %w", p, f.err)
	}
	return f.receipt, f.err
}

// forgetting is a call of Forget. Nothing is erased after an error.
type forgetting struct {
	walk
	receipt *backends.Receipt
	said    selection
	gone    map[string]bool // the user's own memories that a part erases
}

// check notes what was read again, unless a call failed.
func (f *forgetting) check(err error, format string, args ...any) {
	if f.ok(err) {
		f.receipt.Checked = append(f.receipt.Checked, fmt.Sprintf(format, args...))
	}
}

// drop ends the epoch of the partition. Writes that began in it are refused from then on, so
// the rest can be erased at leisure.
func (f *forgetting) drop() {
	if f.err != nil {
		return
	}
	n, err := f.s.Drop(f.ctx, f.owner)
	f.receipt.Erased = backends.Erased{Memories: n.Records, Sessions: n.Sessions, Messages: n.Messages, Blobs: n.Blobs}
	if !f.ok(err) {
		return
	}
	epoch, err := f.s.Epoch(f.ctx, f.owner)
	if err == nil && epoch == "" {
		err = errors.New("no new epoch began")
	}
	f.check(err, "%s: a new epoch began", f.owner)
}

// elsewhere erases the selected data of the user in another partition.
func (f *forgetting) elsewhere(p backends.Partition) {
	if f.err == nil && f.said.part == nil {
		f.err = f.s.Fence(f.ctx, p, f.owner)
	}
	n := backends.Erased{IDs: f.memories(p)}
	n.Memories = len(n.IDs)
	f.sessions(p, func(s Session) {
		if f.said.part != nil || s.Scope.UserID != f.owner.ID {
			n.Messages += f.messages(p, s.ID, func(e *Entry) bool { return e.UserID == f.owner.ID && f.said.during(e.Time) })
		} else if f.ok(f.s.Delete(f.ctx, p, s.ID)) {
			n.Sessions, n.Messages = n.Sessions+1, n.Messages+int(s.LastSeq)
		}
	})
	if n.Memories+n.Sessions+n.Messages+n.Blobs > 0 {
		f.receipt.Elsewhere = append(f.receipt.Elsewhere, backends.Share{Partition: p, Erased: n})
	}
}

// messages erases the messages of a session that choose reports, and returns how many. Erased
// messages are skipped, whatever choose reports.
func (w *walk) messages(p backends.Partition, session string, choose func(*Entry) bool) int {
	var seqs []int64
	w.entries(p, session, func(e *Entry) {
		if choose(e) && !e.Erased {
			seqs = append(seqs, e.Seq)
		}
	})
	if w.err != nil || len(seqs) == 0 {
		return 0
	}
	n, err := w.s.EraseMessages(w.ctx, p, session, seqs...)
	w.ok(err)
	return n
}

// memories erases the selected memories of a partition and the histories of deleted ones,
// and looks again. It returns their ids.
func (f *forgetting) memories(p backends.Partition) (ids []string) {
	for try := 0; f.err == nil; try++ {
		m, groups := f.erasure(p)
		if len(groups) == 0 {
			break
		}
		err := m.apply(groups, func(group []Mutation) {
			if len(group) == 1 { // a pair repairs: see mending
				ids = append(ids, group[0].ID)
			}
		})
		if !errors.Is(err, backends.ErrConflict) || try >= retries { // else a memory beside a chain changed: read again
			f.ok(err)
		}
	}
	if len(ids) > 0 {
		f.check(nil, "%s: %d memories and their histories are gone", p, len(ids))
	}
	return ids
}

// erasure returns the mutations that erase the selected memories and repair those beside
// them.
func (f *forgetting) erasure(p backends.Partition) (*mending, [][]Mutation) {
	m, gone := f.selected(p)
	if p == f.owner && f.said.part != nil {
		m.taught = f.said.changed
	}
	f.deleted(p, func(id string, events []backends.Event) {
		gone, m.gone[id] = append(gone, id), true
		m.all[id] = wasDeleted(id, events)
		m.ended[id] = m.taught == nil || !slices.ContainsFunc(events, func(e backends.Event) bool { return e.Type == backends.OutcomeAdded && m.taught(&e) })
	})
	if f.err != nil {
		return m, nil
	}
	groups, err := m.groups(gone)
	f.ok(err)
	return m, groups
}

// wasDeleted returns a deleted memory's place in its chain.
func wasDeleted(id string, events []backends.Event) *Record {
	r := &Record{Memory: backends.Memory{ID: id}}
	for i := range events {
		r.Supersedes = cmp.Or(events[i].Supersedes, r.Supersedes)
		r.SupersededBy = cmp.Or(events[i].By, r.SupersededBy)
	}
	return r
}

// selected returns the memories to erase: first the memories that were made from erased ones,
// then the ones that the forgotten words taught. A call that ends half-way thus keeps the
// memories that lead to the rest.
func (f *forgetting) selected(p backends.Partition) (*mending, []string) {
	m, err := mend(f.ctx, f.s, p)
	f.ok(err)
	ids := m.choose(func(r *Record, made bool) bool {
		copied, _ := r.Metadata[backends.MetaPromotedFrom].(string)
		made = made || p != f.owner && f.gone[copied]
		return (p == f.owner || r.CameFrom(f.owner.ID)) && (made || f.said.taught(&r.Memory))
	})
	slices.Reverse(ids)
	return m, ids
}

// reclaim overwrites erased bytes in the store's files, and notes the work that is left
// for an operator.
func (f *forgetting) reclaim() {
	if outside, ok := f.s.(interface{ Outside() []string }); ok && f.err == nil {
		f.receipt.Outside = outside.Outside()
	}
	if r, ok := f.s.(Reclaimer); ok && f.err == nil {
		f.check(r.Reclaim(f.ctx), "the store's files: what was erased is overwritten")
	}
}
