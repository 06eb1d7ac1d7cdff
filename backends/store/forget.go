// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// Forget erases what a store holds of a user, as [backends.Forgetter] says, or the whole of
// an agent's or a workspace's partition. Of a user it reads every workspace and agent of
// the namespace. part, which may be nil for everything, is for users alone.
//
// A part is erased under the leases of its sessions: ErrConflict if a process that learns
// from one of them does not end within a minute.
func Forget(ctx context.Context, s Store, p backends.Partition, part *backends.Part) (*backends.Receipt, error) {
	f := &forgetting{holdings: holdings{ctx, s, p}, receipt: &backends.Receipt{Partition: p}}
	err := p.Validate()
	switch {
	case err != nil:
	case part != nil:
		err = f.part(part)
	default:
		err = f.everything()
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

	all   bool
	said  selection
	owner string // of the leases
}

// everything ends the life of the partition. Nothing that began in it can come back, so
// that what is elsewhere can be erased at leisure.
func (f *forgetting) everything() error {
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
	f.all = true
	return f.elsewhere()
}

// elsewhere erases what came from the user in the workspaces and agents of the namespace.
func (f *forgetting) elsewhere() error {
	return f.others(func(p backends.Partition) error {
		if f.all {
			if err := f.s.Fence(f.ctx, p, f.p); err != nil {
				return err
			}
		}
		n, err := f.in(p)
		if n != (backends.Erased{}) {
			f.receipt.Elsewhere = append(f.receipt.Elsewhere, backends.Share{Partition: p, Erased: n})
		}
		return err
	})
}

// in erases in one partition what is selected there.
func (f *forgetting) in(p backends.Partition) (n backends.Erased, err error) {
	if n.Memories, err = f.memories(p); err != nil {
		return n, err
	}
	err = f.sessions(p, &n)
	return n, err
}

// memories erases the memories that are selected and the histories of those that were
// deleted, and looks again.
func (f *forgetting) memories(p backends.Partition) (n int, err error) {
	for try := 0; ; try++ {
		c, err := f.chains(p)
		if err != nil {
			return n, err
		}
		erase, err := c.erasure(f)
		if err != nil {
			return n, err
		}
		if len(erase) == 0 {
			if n > 0 {
				f.receipt.Checked = append(f.receipt.Checked, fmt.Sprintf("%s: %d memories and their histories are gone", p, n))
			}
			return n, nil
		}
		for some := range slices.Chunk(erase, transferPage) { // a chunk is one change and what it entails
			b := &Batch{Embedding: c.space}
			for _, change := range some {
				b.Mutations = append(b.Mutations, change...)
			}
			_, err = f.s.Apply(f.ctx, p, b)
			if errors.Is(err, backends.ErrConflict) && try < 16 { // a memory beside a chain changed: read again
				break
			}
			if err != nil {
				return n, err
			}
			n += len(some)
		}
	}
}

// chains are the memories of a partition, with what they replaced.
type chains struct {
	p       backends.Partition
	space   *Embedding
	records map[string]*Record
}

func (h *holdings) chains(p backends.Partition) (*chains, error) {
	c := &chains{p: p, records: map[string]*Record{}}
	for cursor := ""; ; {
		set, err := h.s.Changes(h.ctx, p, cursor)
		if err != nil {
			return nil, err
		}
		if set.Reset {
			clear(c.records)
		}
		for i := range set.Records {
			c.records[set.Records[i].ID] = &set.Records[i]
		}
		for _, id := range set.Removed {
			delete(c.records, id)
		}
		c.space = set.Embedding
		if cursor = set.Cursor; !set.More {
			return c, nil
		}
	}
}

// erasure returns what erases the selected memories, each with what its going entails.
func (c *chains) erasure(f *forgetting) ([][]Mutation, error) {
	var out [][]Mutation
	for _, r := range c.records {
		if !f.selects(c.p, &r.Memory) {
			continue
		}
		change := []Mutation{Erase(r.ID)}
		repair, err := c.unlink(f, r)
		if err != nil {
			return nil, err
		}
		out = append(out, append(change, repair...))
	}
	err := f.deleted(c.p, func(id string, _ []backends.Event) error {
		out = append(out, []Mutation{Erase(id)})
		return nil
	})
	return out, err
}

// unlink returns what makes the predecessor of an erased memory the one of its successor,
// or hold again, without the text of the erased one in its history.
func (c *chains) unlink(f *forgetting, gone *Record) ([]Mutation, error) {
	before := c.records[gone.Supersedes]
	if before == nil || before.SupersededBy != gone.ID || f.selects(c.p, &before.Memory) {
		return nil, nil
	}
	events, err := f.s.History(f.ctx, c.p, before.ID)
	if err != nil {
		return nil, err
	}
	kept := *before
	kept.SupersededBy = gone.SupersededBy
	if gone.SupersededBy == "" {
		kept.Invalidated = time.Time{}
	}
	erase := Erase(before.ID)
	erase.Expect = before.Version
	events = slices.DeleteFunc(events, func(e backends.Event) bool { return e.By == gone.ID })
	return []Mutation{erase, Restore(before.ID, &kept, events)}, nil
}

// sessions erases the selected sessions and messages of a partition.
func (f *forgetting) sessions(p backends.Partition, n *backends.Erased) error {
	return f.eachSession(p, func(s Session) error {
		if f.all && s.Scope.UserID == f.p.ID {
			n.Sessions, n.Messages = n.Sessions+1, n.Messages+int(s.LastSeq)
			return f.s.Delete(f.ctx, p, s.ID)
		}
		seqs, err := f.selected(p, s.ID, func(e *Entry) bool { return e.UserID == f.p.ID && (f.all || f.said.during(e.Time)) })
		if err != nil || len(seqs) == 0 {
			return err
		}
		erased, err := f.s.EraseMessages(f.ctx, p, s.ID, seqs...)
		n.Messages += erased
		return err
	})
}

// selected returns the sequence numbers of the messages of a session that choose reports.
func (f *forgetting) selected(p backends.Partition, session string, choose func(*Entry) bool) (seqs []int64, err error) {
	err = f.eachEntry(p, session, func(e *Entry) error {
		if !e.Erased && choose(e) {
			seqs = append(seqs, e.Seq)
		}
		return nil
	})
	return seqs, err
}

// reclaim gives back what a file keeps, and says what is left to do.
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
