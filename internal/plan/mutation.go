// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// mutate carries out one mutation on the drafts.
func (p *planner) mutate(m *store.Mutation) (store.Result, error) {
	id := m.ID
	if m.Op == store.OpPut {
		id = m.Record.ID
	}
	d, err := p.draft(id)
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
	default: // Validate lets nothing else through
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

// put writes w over the draft's record, if there is one.
func (p *planner) put(m *store.Mutation, w store.Record, d *draft) store.Result {
	event, old := backends.Event{Type: backends.EventAdded, New: w.Text, Supersedes: w.Supersedes}, d.record
	created := p.in.Now
	if old != nil {
		event.Type, event.Old, created = backends.EventUpdated, old.Text, old.Created
		if old.Supersedes == w.Supersedes {
			event.Supersedes = ""
		}
	}
	w.Version = p.in.Next
	w.Created, w.Updated = firstTime(w.Created, created), firstTime(w.Updated, p.in.Now)
	p.write(d, &w)
	if old == nil || event.Old != event.New || event.Supersedes != "" { // else it would tell nothing
		p.tell(m, w.ID, event)
	}
	return store.Result{ID: w.ID, Event: event.Type}
}

// supersede hides the draft's record behind that of the mutation.
func (p *planner) supersede(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record == nil || !d.record.Active() {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist or holds no more", backends.ErrConflict, m.ID)
	}
	by := *m.Record
	by.Supersedes = m.ID
	successor, err := p.draft(by.ID)
	if err != nil {
		return store.Result{}, err
	}
	p.put(m, by, successor)
	hidden := p.touch(d)
	hidden.SupersededBy, hidden.Invalidated = by.ID, firstTime(by.Valid, by.Observed, p.in.Now)
	p.tell(m, m.ID, backends.Event{Type: backends.EventSuperseded, Old: hidden.Text, New: by.Text, By: by.ID})
	return store.Result{ID: by.ID, Event: backends.EventSuperseded}, nil
}

// retract marks the draft's record as holding no more.
func (p *planner) retract(m *store.Mutation, d *draft) (store.Result, error) {
	if d.record == nil {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist", backends.ErrConflict, m.ID)
	}
	if !d.record.Active() {
		return store.Result{ID: m.ID}, nil
	}
	memory := p.touch(d)
	memory.Invalidated = firstTime(m.At, p.in.Now)
	p.tell(m, m.ID, backends.Event{Type: backends.EventRetracted, Old: memory.Text})
	return store.Result{ID: m.ID, Event: backends.EventRetracted}, nil
}

// delete removes the draft's record, if there is one.
func (p *planner) delete(m *store.Mutation, d *draft) store.Result {
	if d.record == nil {
		return store.Result{ID: m.ID}
	}
	p.tell(m, m.ID, backends.Event{Type: backends.EventDeleted, Old: d.record.Text})
	p.remove(d)
	return store.Result{ID: m.ID, Event: backends.EventDeleted}
}

// increment adds to a number in the metadata of the draft's record. It leaves no
// event: the history tells what became of the text.
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
	p.touch(d)
	d.metadata()[m.Field] = value
	return store.Result{ID: m.ID, Event: backends.EventUpdated, Value: value}, nil
}

// number reads a value of metadata as a store would give it back: what an earlier
// mutation of the batch put there may be of any type that is a number in JSON.
func number(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	text, err := json.Marshal(v)
	if err != nil {
		return 0, false
	}
	var stored any
	if err := json.Unmarshal(text, &stored); err != nil {
		return 0, false
	}
	f, ok := stored.(float64)
	return f, ok
}

// tell adds an event to the history of a record.
func (p *planner) tell(m *store.Mutation, id string, e backends.Event) {
	e.MemoryID, e.Actor, e.Role, e.Time, e.Version = id, m.Actor, m.Role, p.in.Now, p.in.Next
	p.out.Events = append(p.out.Events, e)
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
