// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"maps"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// model is the contract as the plainest code that fulfils it: one partition in
// maps, copied before each batch. The property test compares stores with it.
type model struct {
	version  int64
	records  map[string]store.Record
	events   map[string][]backends.Event
	keys     map[string]store.Applied
	space    *store.Embedding
	sessions map[string]*modelSession
	blobs    map[string]map[string][]byte // by session, which need not exist
}

func newModel() *model {
	return &model{records: map[string]store.Record{}, events: map[string][]backends.Event{},
		keys: map[string]store.Applied{}, sessions: map[string]*modelSession{}, blobs: map[string]map[string][]byte{}}
}

// clone copies what a batch may change.
func (m *model) clone() *model {
	out := *m
	out.records, out.keys = maps.Clone(m.records), maps.Clone(m.keys)
	out.events, out.sessions = map[string][]backends.Event{}, map[string]*modelSession{}
	for id, events := range m.events {
		out.events[id] = slices.Clone(events)
	}
	for id, s := range m.sessions {
		out.sessions[id] = s.clone()
	}
	return &out
}

// apply returns what Apply should, and the error that it should wrap.
func (m *model) apply(b *store.Batch, now time.Time) (*store.Applied, error) {
	if first, ok := m.keys[b.Key]; ok && b.Key != "" {
		first.Replayed = true
		return &first, nil
	}
	work := m.clone()
	out, err := work.carryOut(b, now)
	if err != nil {
		return nil, err
	}
	*m = *work
	return out, nil
}

func (m *model) carryOut(b *store.Batch, now time.Time) (*store.Applied, error) {
	changed := b.Session != nil
	m.version++
	if b.Embedding != nil && (m.space == nil || *m.space != *b.Embedding) {
		if m.space != nil && !b.Reembed {
			return nil, backends.ErrDimension
		}
		m.space, changed = b.Embedding, true
	}
	out := &store.Applied{Results: []store.Result{}}
	for _, mutation := range b.Mutations {
		r, err := m.mutate(mutation, now)
		if err != nil {
			return nil, err
		}
		changed = changed || r.Event != ""
		out.Results = append(out.Results, r)
	}
	if b.Session != nil {
		s, err := m.update(b.Session, now)
		if err != nil {
			return nil, err
		}
		out.Session = s
	}
	if !changed {
		m.version--
	}
	out.Version = m.version
	if b.Key != "" {
		m.keys[b.Key] = store.Applied{Version: out.Version, Results: out.Results}
	}
	return out, nil
}

func (m *model) mutate(mu store.Mutation, now time.Time) (store.Result, error) {
	id := mu.ID
	if mu.Op == store.OpPut {
		id = mu.Record.ID
	}
	old, exists := m.records[id]
	if mu.Expect == store.MustNotExist && exists || mu.Expect > 0 && (!exists || old.Version != mu.Expect) {
		return store.Result{}, backends.ErrConflict
	}
	switch {
	case mu.Op == store.OpPut:
		return m.put(*mu.Record, now), nil
	case mu.Op == store.OpDelete && !exists, mu.Op == store.OpRetract && exists && !old.Active():
		return store.Result{ID: id}, nil
	case !exists, mu.Op == store.OpSupersede && !old.Active():
		return store.Result{}, backends.ErrConflict
	}
	return m.change(mu, old, now), nil
}

// change carries out a mutation of a record that exists, and allows it.
func (m *model) change(mu store.Mutation, old store.Record, now time.Time) store.Result {
	tell := func(e backends.Event) store.Result {
		e.MemoryID, e.Time, e.Version = mu.ID, now, m.version
		m.events[mu.ID] = append(m.events[mu.ID], e)
		return store.Result{ID: mu.ID, Event: e.Type}
	}
	old.Version, old.Updated = m.version, now
	var r store.Result
	switch mu.Op {
	case store.OpDelete:
		delete(m.records, mu.ID)
		return tell(backends.Event{Type: backends.EventDeleted, Old: old.Text})
	case store.OpRetract:
		old.Invalidated = mu.At
		r = tell(backends.Event{Type: backends.EventRetracted, Old: old.Text})
	case store.OpSupersede:
		by := *mu.Record
		by.Supersedes = mu.ID
		m.put(by, now)
		old.SupersededBy, old.Invalidated = by.ID, now
		tell(backends.Event{Type: backends.EventSuperseded, Old: old.Text, New: by.Text, By: by.ID})
		r = store.Result{ID: by.ID, Event: backends.EventSuperseded}
	case store.OpIncrement:
		old.Metadata = maps.Clone(old.Metadata)
		if old.Metadata == nil {
			old.Metadata = map[string]any{}
		}
		sum, _ := old.Metadata[mu.Field].(float64)
		old.Metadata[mu.Field] = sum + mu.Delta
		r = store.Result{ID: mu.ID, Event: backends.EventUpdated, Value: sum + mu.Delta}
	}
	m.records[mu.ID] = old
	return r
}

func (m *model) put(r store.Record, now time.Time) store.Result {
	e := backends.Event{MemoryID: r.ID, Type: backends.EventAdded, New: r.Text, Supersedes: r.Supersedes, Time: now, Version: m.version}
	r.Version, r.Created, r.Updated = m.version, now, now
	if old, exists := m.records[r.ID]; exists {
		e.Type, e.Old, r.Created = backends.EventUpdated, old.Text, old.Created
		if old.Supersedes == r.Supersedes {
			e.Supersedes = ""
		}
	}
	m.records[r.ID] = r
	if e.Type == backends.EventAdded || e.Old != e.New || e.Supersedes != "" {
		m.events[r.ID] = append(m.events[r.ID], e)
	}
	return store.Result{ID: r.ID, Event: e.Type}
}
