// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"fmt"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// mutate carries out one mutation.
func (a *applier) mutate(m *store.Mutation) (store.Result, error) {
	id := m.ID
	if m.Op == store.OpPut {
		id = m.Record.ID
	}
	old, err := a.record(a.part.pk, id)
	if err != nil {
		return store.Result{}, err
	}
	if err := expect(m, id, old); err != nil {
		return store.Result{}, err
	}
	switch m.Op {
	case store.OpPut:
		return a.put(m, m.Record, old)
	case store.OpSupersede:
		return a.supersede(m, old)
	case store.OpRetract:
		return a.retract(m, old)
	case store.OpDelete:
		return a.remove(m, old)
	default: // Validate lets nothing else through
		return a.increment(m, old)
	}
}

// expect compares the version that a mutation expects with the record's.
func expect(m *store.Mutation, id string, old *store.Record) error {
	switch {
	case m.Expect == 0:
		return nil
	case m.Expect == store.MustNotExist && old == nil:
		return nil
	case m.Expect == store.MustNotExist:
		return fmt.Errorf("%w: record %q exists, at version %d", backends.ErrConflict, id, old.Version)
	case old == nil:
		return fmt.Errorf("%w: record %q does not exist, version %d was expected", backends.ErrConflict, id, m.Expect)
	case old.Version != m.Expect:
		return fmt.Errorf("%w: record %q has version %d, %d was expected: read it again", backends.ErrConflict, id, old.Version, m.Expect)
	}
	return nil
}

// put writes a copy of r over old, which is nil when there is none.
func (a *applier) put(m *store.Mutation, r, old *store.Record) (store.Result, error) {
	w := *r
	w.Version = a.version
	event := backends.Event{Type: backends.EventAdded, New: w.Text, Supersedes: w.Supersedes}
	if old != nil {
		event.Type, event.Old = backends.EventUpdated, old.Text
		if old.Supersedes == w.Supersedes {
			event.Supersedes = ""
		}
	}
	switch {
	case !w.Created.IsZero():
	case old != nil:
		w.Created = old.Created
	default:
		w.Created = a.now
	}
	if w.Updated.IsZero() {
		w.Updated = a.now
	}
	if err := a.saveRecord(a.part.pk, &w); err != nil {
		return store.Result{}, err
	}
	if old == nil {
		if _, err := a.exec(`DELETE FROM tombstones WHERE part = ? AND id = ?`, a.part.pk, w.ID); err != nil {
			return store.Result{}, err
		}
	}
	result := store.Result{ID: w.ID, Event: event.Type}
	if event.Old == event.New && old != nil && event.Supersedes == "" {
		return result, nil // it would tell nothing
	}
	return result, a.tell(m, w.ID, event)
}

// supersede hides old behind the mutation's record.
func (a *applier) supersede(m *store.Mutation, old *store.Record) (store.Result, error) {
	if old == nil || !old.Active() {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist or holds no more", backends.ErrConflict, m.ID)
	}
	r := *m.Record
	r.Supersedes = m.ID
	before, err := a.record(a.part.pk, r.ID)
	if err != nil {
		return store.Result{}, err
	}
	if _, err := a.put(m, &r, before); err != nil {
		return store.Result{}, err
	}
	hidden := old.Memory
	hidden.SupersededBy, hidden.Invalidated = r.ID, firstTime(r.Valid, r.Observed, a.now)
	if err := a.touch(&hidden); err != nil {
		return store.Result{}, err
	}
	event := backends.Event{Type: backends.EventSuperseded, Old: old.Text, New: r.Text, By: r.ID}
	return store.Result{ID: r.ID, Event: event.Type}, a.tell(m, m.ID, event)
}

// retract marks old as holding no more.
func (a *applier) retract(m *store.Mutation, old *store.Record) (store.Result, error) {
	if old == nil {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist", backends.ErrConflict, m.ID)
	}
	if !old.Active() {
		return store.Result{ID: m.ID}, nil
	}
	old.Invalidated = firstTime(m.At, a.now)
	if err := a.touch(&old.Memory); err != nil {
		return store.Result{}, err
	}
	return store.Result{ID: m.ID, Event: backends.EventRetracted}, a.tell(m, m.ID, backends.Event{Type: backends.EventRetracted, Old: old.Text})
}

// remove deletes old and leaves a tombstone, so that indexes hear of it.
func (a *applier) remove(m *store.Mutation, old *store.Record) (store.Result, error) {
	if old == nil {
		return store.Result{ID: m.ID}, nil
	}
	if _, err := a.exec(`DELETE FROM records WHERE part = ? AND id = ?`, a.part.pk, m.ID); err != nil {
		return store.Result{}, err
	}
	if _, err := a.exec(`INSERT INTO tombstones (part, id, version) VALUES (?, ?, ?)`, a.part.pk, m.ID, a.version); err != nil {
		return store.Result{}, err
	}
	return store.Result{ID: m.ID, Event: backends.EventDeleted}, a.tell(m, m.ID, backends.Event{Type: backends.EventDeleted, Old: old.Text})
}

// increment adds to a number in old's metadata. It leaves no event: the history
// tells what became of the text.
func (a *applier) increment(m *store.Mutation, old *store.Record) (store.Result, error) {
	if old == nil {
		return store.Result{}, fmt.Errorf("%w: record %q does not exist", backends.ErrConflict, m.ID)
	}
	var value float64
	if have, ok := old.Metadata[m.Field]; ok {
		if value, ok = have.(float64); !ok {
			return store.Result{}, fmt.Errorf("%w: metadata %q of record %q is no number", backends.ErrConflict, m.Field, m.ID)
		}
	}
	value += m.Delta
	if math.IsInf(value, 0) {
		return store.Result{}, fmt.Errorf("%w: metadata %q of record %q would be infinite", backends.ErrInvalid, m.Field, m.ID)
	}
	if old.Metadata == nil {
		old.Metadata = map[string]any{}
	}
	old.Metadata[m.Field] = value
	return store.Result{ID: m.ID, Event: backends.EventUpdated, Value: value}, a.touch(&old.Memory)
}

// touch writes a memory that exists, as changed now.
func (a *applier) touch(m *backends.Memory) error {
	m.Version, m.Updated = a.version, a.now
	return a.saveMemory(a.part.pk, m)
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
