// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan decides the effect of a batch or a session update, the same for every
// store. It reads through a function and leaves the writing to the store. A store reads
// records, calls [Batch], and writes the [Plan] wholly or not at all.
//
// A store that plans under a lock writes the plan as it is. A store that plans first and
// commits later compares every [Check] when it commits, and plans again on fresh records
// if a check fails. A plan holds for the records that it was made from, changed or not.
//
// [Session] does the same for one session. It returns the state after an update, for a
// store that knows that the state before is still current. [Append] does it for an append, and
// [Erase] for an erasure of messages.
//
// Stores themselves validate the batch, replay idempotency keys, raise versions and look up
// sessions. They share the encodings of values and cursors here: [Encode], [Decode], [Micros],
// [Names] and [Cut]. [Retry] repeats a call that failed for a moment.
package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Input is the state that a batch is planned on.
type Input struct {
	Now time.Time // when the batch is applied, as it is stored

	// Next is the version that the batch raises the partition to, if it changes
	// something. An Expect for a record that the batch itself changed is compared with
	// it, too.
	Next int64

	// Embedding is the partition's, nil before the first vector.
	Embedding *store.Embedding

	// Record returns a record as it is stored before the batch, or nil. It is called at
	// most once for each id, and the plan leaves the result unchanged. Record may leave
	// out the vectors of all records; then a put counts as one with a new vector. An
	// error ends the planning.
	Record func(id string) (*store.Record, error)
}

// Plan is the list of writes for a store, all or nothing. Its records share vectors,
// metadata and message ids with the batch and with [Input].Record: encode them or copy
// them, and leave the originals unchanged.
type Plan struct {
	Results []store.Result // one for each mutation

	// Writes has one entry for each record that the batch changed, in the order of their
	// first changes. A successor comes before the record that it supersedes. A record
	// that the batch created and deleted again is left out: readers never saw it.
	Writes []Write

	// Checks has one entry for each record that was read, changed or not, in the order
	// of [Touched]: the plan holds as long as all of them do.
	Checks []Check

	// Erased are the ids whose histories go before Events are appended.
	Erased []string

	// Events are appended to the histories, in order and complete.
	Events []backends.Event

	Embedding *store.Embedding // the partition's from now on; nil: as it was

	// Changed says that mutations or the embedding raise the partition's version. It may
	// be set while Writes is empty. A session update raises the version too: the store
	// adds that.
	Changed bool

	// Version is the partition's version after the batch, if it changes something:
	// Input.Next, or a later one if the batch restores records. A plan with a later one
	// holds only while the partition's version is still the one before Input.Next.
	Version int64
}

// Write is the state of one record after the batch.
type Write struct {
	ID     string
	Record *store.Record // its Version is Input.Next, or a later one of a restore; nil: deleted, at Plan.Version
	Old    int64         // the version before the batch; 0: the record is new

	// SameVector says that the vector stays: only the memory needs writing. Record.Vector
	// is then the value from Input.Record. A store whose Input.Record leaves vectors out
	// must not write it.
	SameVector bool
}

// Check is a record that a plan was made from.
type Check struct {
	ID      string
	Version int64 // 0: the record was missing
}

// Batch plans b, which must be valid and stays unchanged. The error is ErrDimension for
// another embedding than the partition's, ErrConflict for a mutation whose condition is
// false, ErrInvalid for a sum that is infinite. It names the mutation.
func Batch(b *store.Batch, in *Input) (*Plan, error) {
	embedding, err := declared(b, in.Embedding)
	if err != nil {
		return nil, err
	}
	p := &planner{in: in, drafts: make(map[string]*draft, len(b.Mutations))}
	p.out = Plan{Embedding: embedding, Changed: embedding != nil, Version: in.Next, Results: make([]store.Result, 0, len(b.Mutations))}
	for i := range b.Mutations {
		r, err := p.mutate(&b.Mutations[i])
		if err != nil {
			return nil, fmt.Errorf("mutation %d (%s): %w", i, b.Mutations[i].Op, err)
		}
		p.out.Changed = p.out.Changed || r.Event != ""
		p.out.Results = append(p.out.Results, r)
	}
	for _, d := range p.changed {
		if d.old != 0 || d.record != nil {
			p.out.Writes = append(p.out.Writes, Write{ID: d.id, Record: d.record, Old: d.old, SameVector: d.sameVector})
		}
	}
	return &p.out, nil
}

// declared compares the batch's embedding with the partition's. It returns the new one,
// or nil if it stays.
func declared(b *store.Batch, have *store.Embedding) (*store.Embedding, error) {
	switch {
	case b.Embedding == nil, have != nil && *have == *b.Embedding:
		return nil, nil
	case have != nil && !b.Reembed:
		return nil, fmt.Errorf("%w: the partition holds vectors of %s with %d dimensions, the batch vectors of %s with %d: re-embed the partition",
			backends.ErrDimension, have.Model, have.Dim, b.Embedding.Model, b.Embedding.Dim)
	}
	e := *b.Embedding
	return &e, nil
}

// Touched lists the ids that planning b may read, each once, in the order of the
// mutations, so that a store can read them in one call.
func Touched(b *store.Batch) []string {
	out := make([]string, 0, len(b.Mutations))
	seen := make(map[string]bool, len(b.Mutations))
	for i := range b.Mutations {
		m := &b.Mutations[i]
		ids := []string{target(m)}
		if m.Op == store.OpSupersede {
			ids = append(ids, m.Record.ID)
		}
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}

// target is the id of the record that a mutation changes.
func target(m *store.Mutation) string {
	if m.Op == store.OpPut {
		return m.Record.ID
	}
	return m.ID
}

// planner plans one batch.
type planner struct {
	in       *Input
	drafts   map[string]*draft
	changed  []*draft // in the order of their first changes
	restored bool     // a mutation before restored something
	out      Plan
}

// draft is a record in the course of a batch.
type draft struct {
	id         string
	old        int64         // its version before the batch; 0: it is new
	record     *store.Record // its present state; nil: missing
	changed    bool
	sameVector bool // as before the batch
}

// draft returns the record with the given id as the mutations so far left it.
func (p *planner) draft(id string) (*draft, error) {
	if d, ok := p.drafts[id]; ok {
		return d, nil
	}
	r, err := p.in.Record(id)
	if err != nil {
		return nil, err
	}
	d := &draft{id: id, record: r}
	if r != nil {
		d.old, d.sameVector = r.Version, true
	}
	p.drafts[id] = d
	p.out.Checks = append(p.out.Checks, Check{ID: id, Version: d.old})
	return d, nil
}

// set makes r the draft's record; nil deletes it.
func (p *planner) set(d *draft, r *store.Record) {
	if !d.changed {
		d.changed = true
		p.changed = append(p.changed, d)
	}
	d.record = r
}

// edit returns the draft's memory, which must exist, for a change in place. Its metadata
// is shared and must stay unchanged.
func (p *planner) edit(d *draft) *backends.Memory {
	own := *d.record
	own.Version, own.Updated = p.out.Version, p.in.Now
	p.set(d, &own)
	return &d.record.Memory
}

// event adds an event to the history of a record.
func (p *planner) event(m *store.Mutation, id string, e backends.Event) {
	if d := p.drafts[id]; d != nil && d.record != nil {
		e.Users = d.record.From()
	}
	e.MemoryID, e.Actor, e.Role, e.Time, e.Version = id, m.Actor, m.Role, p.in.Now, p.out.Version
	e.Session, e.Messages = m.Session, m.Messages
	p.out.Events = append(p.out.Events, e)
}

// Expired reports whether a session is gone at now, removed or not.
func Expired(s *store.Session, now time.Time) bool {
	return !s.Expires.IsZero() && !now.Before(s.Expires)
}

// Append adds a, which must be valid, to the log of a session. It changes the state st, and reports
// whether it did. A session of version 0 was created for it, with Partition, ID and Created: it
// counts as changed, and gets the scope. Append calls write with the index of each entry and its
// number in the log. An entry is added if write returns true; one whose id the log holds is skipped.
// Version and Updated stay as they are.
func Append(a *store.Append, st *store.Session, now time.Time, write func(i int, seq int64) (bool, error)) (bool, error) {
	idle, changed := !st.Pending(), st.Version == 0
	if changed {
		st.Scope = a.Scope
	}
	for i := range a.Entries {
		added, err := write(i, st.LastSeq+1)
		if err != nil {
			return false, err
		}
		if added {
			changed = true
			st.LastSeq++
			st.Tokens += int64(a.Entries[i].Tokens)
		}
	}
	if changed && a.Learnt && idle {
		st.Watermark = st.LastSeq
	}
	if changed && a.TTL > 0 {
		st.Expires = now.Add(a.TTL)
	}
	return changed, nil
}

// Erase takes the content out of messages of a session, and returns their rests. Messages that were
// erased before are left out. It changes the state st if there are others. Version and Updated stay
// as they are.
func Erase(st *store.Session, entries []store.Entry) []store.Entry {
	var rests []store.Entry
	for _, e := range entries {
		if !e.Erased {
			st.Tokens -= int64(e.Tokens)
			rests = append(rests, e.Erase())
		}
	}
	if len(rests) > 0 {
		st.Title, st.Summary, st.SummaryUpto = "", "", 0
	}
	return rests
}

// Session returns the state of a session after u, which must be valid. The state before
// is st, of a session that exists and has not expired; it stays unchanged. A state
// together with an error means that the lease is doubted, see [store.Acquire]: an update
// stores the state and returns the error. Version and Updated stay as they are: the store
// sets them when it writes. The error is ErrConflict if the version, the summary, the
// token or the lease differs from the expected one.
func Session(u *store.SessionUpdate, st *store.Session, now time.Time) (*store.Session, error) {
	out := *st
	out.Failures = slices.Clone(st.Failures)
	err := holds(u, st, now)
	if err == nil && u.Acquire != nil {
		err = acquire(u.Acquire, &out.Lease, now)
	}
	if err != nil {
		err = fmt.Errorf("session %q: %w", u.Session, err)
		if out.Lease != st.Lease {
			return &out, err
		}
		return nil, err
	}
	if u.Release {
		out.Lease = store.Lease{Token: out.Lease.Token}
	}
	set(u, &out)
	return &out, nil
}

// holds checks the version, the summary and the token that the update expects.
func holds(u *store.SessionUpdate, st *store.Session, now time.Time) error {
	if u.Version != 0 && u.Version != st.Version {
		return fmt.Errorf("%w: it has version %d, %d was expected: read it again", backends.ErrConflict, st.Version, u.Version)
	}
	if u.Summarised != nil && *u.Summarised != st.SummaryUpto {
		return fmt.Errorf("%w: its summary reaches up to message %d, %d was expected: read it again", backends.ErrConflict, st.SummaryUpto, *u.Summarised)
	}
	if u.Token == 0 {
		return nil
	}
	switch l := st.Lease; {
	case l.Owner == "" || l.Token != u.Token:
		return fmt.Errorf("%w: token %d is not that of the lease, which is %d: acquire it again", backends.ErrConflict, u.Token, l.Token)
	case !now.Before(l.Expires):
		return fmt.Errorf("%w: the lease of token %d ended at %s: acquire it again", backends.ErrConflict, u.Token, l.Expires)
	}
	return nil
}

// acquire grants the lease if it is free, expired, or the owner's already.
func acquire(a *store.Acquire, l *store.Lease, now time.Time) error {
	if l.Owner != "" && l.Owner != a.Owner {
		if err := held(l, now); err != nil {
			return err
		}
	}
	if l.Owner != a.Owner {
		l.Owner = a.Owner
		l.Token = max(l.Token+1, now.UnixMicro())
	}
	l.Expires, l.For, l.Doubted = now.Add(a.For), a.For, time.Time{}
	return nil
}

// held returns an error while another owner may hold the lease, and notes the first doubt
// about its end.
func held(l *store.Lease, now time.Time) error {
	if l.Plausible(now) {
		if now.Before(l.Expires) {
			return fmt.Errorf("%w: %s holds the lease until %s", backends.ErrConflict, l.Owner, l.Expires)
		}
		return nil
	}
	if l.Doubted.IsZero() || now.Before(l.Doubted) {
		l.Doubted = now
	}
	if over := l.Doubted.Add(l.For); now.Before(over) {
		return fmt.Errorf("%w: %s has the lease until %s, by a clock that jumped: it is over at %s unless it is renewed",
			backends.ErrConflict, l.Owner, l.Expires, over)
	}
	return nil
}

// set sets the fields that the update names.
func set(u *store.SessionUpdate, st *store.Session) {
	if u.Watermark != nil { // at most the end of the log: later messages are still to be learnt from
		st.Watermark = max(st.Watermark, min(*u.Watermark, st.LastSeq))
	}
	assign(&st.Title, u.Title)
	assign(&st.Summary, u.Summary)
	assign(&st.SummaryUpto, u.SummaryUpto)
	assign(&st.Retry, u.Retry)
	if u.Failures != nil {
		st.Failures = slices.Clone(*u.Failures)
	}
	assign(&st.Expires, u.Expires)
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
