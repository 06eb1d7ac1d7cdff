// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// mutate carries out one mutation on the drafts.
func (p *planner) mutate(m *store.Mutation) (store.Result, error) {
	d, err := p.draft(target(m))
	if err != nil {
		return store.Result{}, err
	}
	if err := expect(m, d); err != nil {
		return store.Result{}, err
	}
	switch m.Op {
	case store.OpPut:
		return p.put(m, *m.Record, d), nil
	case store.OpSupersede:
		return p.supersede(m, d)
	case store.OpRetract:
		return p.retract(m, d)
	case store.OpDelete:
		return p.delete(m, d), nil
	case store.OpErase:
		return p.erase(m, d), nil
	case store.OpRestore:
		return p.restore(m, d)
	default: // Validate leaves only this one
		return p.increment(m, d)
	}
}

// expect compares the version that a mutation expects with the record's.
func expect(m *store.Mutation, d *draft) error {
	switch {
	case m.Expect == 0:
		return nil
	case m.Expect == store.MustNotExist && d.record == nil:
		return nil
	case m.Expect == store.MustNotExist:
		return fmt.Errorf("%w: record %q exists, at version %d", backends.ErrConflict, d.id, d.record.Version)
	case d.record == nil:
		return fmt.Errorf("%w: record %q does not exist, version %d was expected", backends.ErrConflict, d.id, m.Expect)
	case d.record.Version != m.Expect:
		return fmt.Errorf("%w: record %q has version %d, %d was expected: read it again", backends.ErrConflict, d.id, d.record.Version, m.Expect)
	}
	return nil
}

// put writes r over the draft's record, if there is one.
func (p *planner) put(m *store.Mutation, r store.Record, d *draft) store.Result {
	event, old := backends.Event{Type: backends.OutcomeAdded, New: r.Text, Supersedes: r.Supersedes}, d.record
	created := p.in.Now
	if old != nil {
		event.Type, event.Old, created = backends.OutcomeUpdated, old.Text, old.Created
		if old.Supersedes == r.Supersedes {
			event.Supersedes = ""
		}
	}
	r.Version = p.out.Version
	r.Created, r.Updated = firstTime(r.Created, created), firstTime(r.Updated, p.in.Now)
	// Two empty vectors may differ: one may have been left out, the other removed.
	d.sameVector = d.sameVector && len(r.Vector) > 0 && bytes.Equal(old.Vector, r.Vector)
	p.set(d, &r)
	if old == nil || event.Old != event.New || event.Supersedes != "" || old.Active() != r.Active() {
		p.event(m, r.ID, ended(event, old, &r))
	}
	return store.Result{ID: r.ID, Event: event.Type}
}

// ended returns the event of a put, which may end the record.
func ended(e backends.Event, old, r *store.Record) backends.Event {
	switch {
	case old == nil || !old.Active() || r.Active():
	case r.SupersededBy != "":
		e.Type, e.By = backends.OutcomeSuperseded, r.SupersededBy
	default:
		e.Type = backends.OutcomeRetracted
	}
	return e
}

// supersede hides the draft's record behind the mutation's record.
func (p *planner) supersede(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record == nil || !d.record.Active() {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist, or is superseded or retracted already", backends.ErrConflict, m.ID)
	}
	by := *m.Record
	by.Supersedes = m.ID
	successor, err := p.draft(by.ID)
	if err != nil {
		return store.Result{}, err
	}
	p.put(m, by, successor)
	hidden := p.edit(d)
	hidden.SupersededBy, hidden.Invalidated = by.ID, firstTime(by.Valid, by.Observed, p.in.Now)
	p.event(m, m.ID, backends.Event{Type: backends.OutcomeSuperseded, Old: hidden.Text, New: by.Text, By: by.ID})
	return store.Result{ID: by.ID, Event: backends.OutcomeSuperseded}, nil
}

// retract ends the draft's record.
func (p *planner) retract(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record == nil {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist", backends.ErrConflict, m.ID)
	}
	if !d.record.Active() {
		return store.Result{ID: m.ID}, nil
	}
	retracted := p.edit(d)
	retracted.Invalidated = firstTime(m.At, p.in.Now)
	p.event(m, m.ID, backends.Event{Type: backends.OutcomeRetracted, Old: retracted.Text})
	return store.Result{ID: m.ID, Event: backends.OutcomeRetracted}, nil
}

// delete removes the draft's record, if there is one.
func (p *planner) delete(m *store.Mutation, d *draft) store.Result {
	if d.record == nil {
		return store.Result{ID: m.ID}
	}
	p.event(m, m.ID, backends.Event{Type: backends.OutcomeDeleted, Old: d.record.Text})
	p.set(d, nil)
	d.sameVector = false
	return store.Result{ID: m.ID, Event: backends.OutcomeDeleted}
}

// erase removes the draft's record with its history, including events of this batch.
func (p *planner) erase(m *store.Mutation, d *draft) store.Result {
	p.out.Erased = append(p.out.Erased, m.ID)
	p.out.Events = slices.DeleteFunc(p.out.Events, func(e backends.Event) bool { return e.MemoryID == m.ID })
	if d.record != nil {
		p.set(d, nil)
		d.sameVector = false
	}
	return store.Result{ID: m.ID, Event: backends.OutcomeDeleted}
}

// increment adds to a number in the metadata of the draft's record. The history is about
// the text, so it stays as it is.
func (p *planner) increment(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record == nil {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist", backends.ErrConflict, m.ID)
	}
	var value float64
	if have, ok := d.record.Metadata[m.Field]; ok {
		if value, ok = number(have); !ok {
			return store.Result{}, fmt.Errorf("%w: metadata %q of record %q is no number", backends.ErrConflict, m.Field, m.ID)
		}
	}
	value += m.Delta
	if math.IsInf(value, 0) {
		return store.Result{}, fmt.Errorf("%w: metadata %q of record %q would be infinite", backends.ErrInvalid, m.Field, m.ID)
	}
	metadata := map[string]any{}
	maps.Copy(metadata, d.record.Metadata)
	metadata[m.Field] = value
	p.edit(d).Metadata = metadata
	return store.Result{ID: m.ID, Event: backends.OutcomeUpdated, Value: value}, nil
}

// restore writes a record with its history, or the history of a deleted one. Each
// restored record has a version of its own, so versions have the order of the mutations.
// The versions in the mutation leave the partition's as it is.
func (p *planner) restore(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record != nil {
		return store.Result{}, fmt.Errorf("%w: record %q exists: restore into a partition that does not hold it", backends.ErrConflict, m.ID)
	}
	if p.restored {
		p.out.Version++
	}
	p.restored = true
	for _, e := range m.Events {
		e.Version = min(max(e.Version, 0), p.out.Version)
		p.out.Events = append(p.out.Events, e)
	}
	if m.Record == nil {
		return store.Result{ID: m.ID, Event: backends.OutcomeDeleted}, nil
	}
	r := *m.Record
	r.Version = p.out.Version
	r.Created, r.Updated = firstTime(r.Created, p.in.Now), firstTime(r.Updated, p.in.Now)
	p.set(d, &r)
	return store.Result{ID: m.ID, Event: backends.OutcomeAdded}, nil
}

// number reads a value of metadata as a store would return it. An earlier mutation of the
// batch may have put a value of any type that is a number in JSON.
func number(v any) (float64, bool) {
	text, err := json.Marshal(v)
	if err != nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
