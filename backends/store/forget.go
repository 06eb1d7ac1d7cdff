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
		holdings: holdings{ctx, s, p}, receipt: &backends.Receipt{Partition: p},
		said: selection{part: part, messages: map[source]bool{}, turns: map[source]bool{}, quoted: map[source]bool{}},
		gone: map[string]bool{},
	}
	err := p.Validate()
	if err == nil && part == nil {
		err = f.drop()
	} else if err == nil {
		err = f.part()
	}
	if err == nil {
		err = f.others(f.elsewhere)
	}
	if err == nil && part != nil {
		f.receipt.IDs, err = f.memories(p)
		f.receipt.Memories = len(f.receipt.IDs)
	}
	if err == nil {
		err = f.reclaim()
	}
	if err != nil {
		err = fmt.Errorf("forgetting %s: %w", p, err)
	}
	return f.receipt, err
}

// forgetting is a call of Forget.
type forgetting struct {
	holdings
	receipt *backends.Receipt
	said    selection
	gone    map[string]bool // the user's own memories that a part erases
}

// drop ends the life of the partition. Writes that began in it are refused from then on, so
// the rest can be erased at leisure.
func (f *forgetting) drop() error {
	n, err := f.s.Drop(f.ctx, f.p)
	f.receipt.Erased = backends.Erased{Memories: n.Records, Sessions: n.Sessions, Messages: n.Messages, Blobs: n.Blobs}
	if err != nil {
		return err
	}
	life, err := f.s.Life(f.ctx, f.p)
	if err != nil || life == "" {
		return errors.Join(err, errors.New("no new life began"))
	}
	f.receipt.Checked = append(f.receipt.Checked, f.p.String()+": a new life began")
	return nil
}

// elsewhere erases the selected data of the user in another partition.
func (f *forgetting) elsewhere(p backends.Partition) (err error) {
	if f.said.part == nil {
		if err := f.s.Fence(f.ctx, p, f.p); err != nil {
			return err
		}
	}
	var n backends.Erased
	n.IDs, err = f.memories(p)
	if err == nil {
		err = f.eachSession(p, func(s Session) error { return f.shared(p, s, &n) })
	}
	if n.Memories = len(n.IDs); n.Memories+n.Sessions+n.Messages+n.Blobs > 0 {
		f.receipt.Elsewhere = append(f.receipt.Elsewhere, backends.Share{Partition: p, Erased: n})
	}
	return err
}

// shared erases the selected messages of a session elsewhere.
func (f *forgetting) shared(p backends.Partition, s Session, n *backends.Erased) error {
	if f.said.part == nil && s.Scope.UserID == f.p.ID {
		n.Sessions, n.Messages = n.Sessions+1, n.Messages+int(s.LastSeq)
		return f.s.Delete(f.ctx, p, s.ID)
	}
	return f.messages(p, s.ID, &n.Messages, func(e *Entry) bool { return e.UserID == f.p.ID && f.said.during(e.Time) })
}

// messages erases the messages of a session that choose reports. Erased messages are
// skipped, whatever choose reports.
func (f *forgetting) messages(p backends.Partition, session string, n *int, choose func(*Entry) bool) error {
	var seqs []int64
	err := f.eachEntry(p, session, func(e *Entry) error {
		if choose(e) && !e.Erased {
			seqs = append(seqs, e.Seq)
		}
		return nil
	})
	if err != nil || len(seqs) == 0 {
		return err
	}
	erased, err := f.s.EraseMessages(f.ctx, p, session, seqs...)
	*n += erased
	return err
}

// memories erases the selected memories of a partition and the histories of deleted ones,
// and looks again. It returns their ids.
func (f *forgetting) memories(p backends.Partition) (ids []string, err error) {
	for try := 0; ; try++ {
		all, space, err := All(f.ctx, f.s, p, nil)
		if err != nil {
			return ids, err
		}
		erase, err := f.erasure(p, all)
		if err != nil {
			return ids, err
		}
		if len(erase) == 0 {
			if n := len(ids); n > 0 {
				f.receipt.Checked = append(f.receipt.Checked, fmt.Sprintf("%s: %d memories and their histories are gone", p, n))
			}
			return ids, nil
		}
		for some := range slices.Chunk(erase, transferPage) {
			_, err = f.s.Apply(f.ctx, p, &Batch{Embedding: space, Mutations: slices.Concat(some...)})
			if errors.Is(err, backends.ErrConflict) && try < 16 { // a memory beside a chain changed: read again
				break
			}
			if err != nil {
				return ids, err
			}
			for _, group := range some {
				if len(group) == 1 { // a pair repairs: see mending
					ids = append(ids, group[0].ID)
				}
			}
		}
	}
}

// erasure returns the mutations that erase the selected memories and repair those beside
// them.
func (f *forgetting) erasure(p backends.Partition, all map[string]*Record) ([][]Mutation, error) {
	m := &mending{ctx: f.ctx, s: f.s, p: p, all: all, ended: map[string]bool{}}
	if p == f.p && f.said.part != nil {
		m.taught = f.said.changed
	}
	var gone []string
	gone, m.gone = f.selected(p, all)
	err := f.deleted(p, func(id string, events []backends.Event) error {
		gone, m.gone[id] = append(gone, id), true
		all[id] = wasDeleted(id, events)
		m.ended[id] = m.taught == nil || !slices.ContainsFunc(events, func(e backends.Event) bool { return e.Type == backends.OutcomeAdded && m.taught(&e) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m.groups(gone)
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

// selected returns the ids of the memories to erase: first the memories that were made from
// erased ones, then the ones that the forgotten words taught. A call that ends half-way
// thus keeps the memories that lead to the rest.
func (f *forgetting) selected(p backends.Partition, all map[string]*Record) (ids []string, gone map[string]bool) {
	gone = map[string]bool{}
	for before := -1; before < len(gone); {
		before = len(gone)
		for id, r := range all {
			copied, _ := r.Metadata[backends.MetaPromotedFrom].(string)
			made := p != f.p && f.gone[copied] || slices.ContainsFunc(r.Origin.Evidence, func(id string) bool { return gone[id] })
			if !gone[id] && (p == f.p || r.CameFrom(f.p.ID)) && (made || f.said.taught(&r.Memory)) {
				gone[id] = true
				ids = append(ids, id)
			}
		}
	}
	slices.Reverse(ids)
	return ids, gone
}

// reclaim overwrites erased bytes in the store's files, and notes the work that is left
// for an operator.
func (f *forgetting) reclaim() error {
	if outside, ok := f.s.(interface{ Outside() []string }); ok {
		f.receipt.Outside = outside.Outside()
	}
	if r, ok := f.s.(Reclaimer); ok {
		if err := r.Reclaim(f.ctx); err != nil {
			return err
		}
		f.receipt.Checked = append(f.receipt.Checked, "the store's files: what was erased is overwritten")
	}
	return nil
}
