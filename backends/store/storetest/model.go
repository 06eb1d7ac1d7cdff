// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// model is the contract in the plainest code: one partition in maps. Package plan decides
// the effect of a batch or an update, and has tests of its own; the property test
// compares stores with the model.
type model struct {
	version  int64
	records  map[string]*store.Record
	events   map[string][]backends.Event
	keys     map[string]store.Applied
	space    *store.Embedding
	sessions map[string]*modelSession
	blobs    map[string]map[string][]byte // by session, which may begin later
}

// modelSession is a session of the model.
type modelSession struct {
	state   store.Session
	entries []store.Entry
}

func newModel() *model {
	return &model{records: map[string]*store.Record{}, events: map[string][]backends.Event{},
		keys: map[string]store.Applied{}, sessions: map[string]*modelSession{}, blobs: map[string]map[string][]byte{}}
}

// apply returns what Apply should return, and the error that it should wrap.
func (m *model) apply(b *store.Batch, now time.Time) (*store.Applied, error) {
	if first, ok := m.keys[b.Key]; ok && b.Key != "" {
		first.Replayed = true
		return &first, nil
	}
	todo, err := plan.Batch(b, &plan.Input{Now: now, Next: m.version + 1, Embedding: m.space,
		Record: func(id string) (*store.Record, error) { return m.records[id], nil }})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = m.update(b.Session, now); err != nil {
			return nil, err
		}
	}
	if todo.Changed || b.Session != nil {
		m.version = todo.Version
	}
	out.Version = m.version
	m.write(todo)
	if b.Key != "" {
		m.keys[b.Key] = store.Applied{Version: out.Version, Results: out.Results}
	}
	return out, nil
}

func (m *model) write(todo *plan.Plan) {
	if todo.Embedding != nil {
		m.space = todo.Embedding
	}
	for _, w := range todo.Writes {
		if m.records[w.ID] = w.Record; w.Record == nil {
			delete(m.records, w.ID)
		}
	}
	for _, id := range todo.Erased {
		delete(m.events, id)
	}
	for _, e := range todo.Events {
		m.events[e.MemoryID] = append(m.events[e.MemoryID], e)
	}
}

// living returns the session, nil if it is missing or expired.
func (m *model) living(id string, now time.Time) *modelSession {
	s := m.sessions[id]
	if s != nil && !s.state.Expires.IsZero() && !now.Before(s.state.Expires) {
		delete(m.sessions, id)
		delete(m.blobs, id)
		return nil
	}
	return s
}

func (m *model) update(u *store.SessionUpdate, now time.Time) (*store.Session, error) {
	s := m.living(u.Session, now)
	if s == nil {
		return nil, backends.ErrNotFound
	}
	state, err := plan.Session(u, &s.state, now) // clocks do not jump in the model's tests
	if err != nil {
		return nil, err
	}
	s.state = *state
	s.state.Updated = now
	out := s.state
	return &out, nil
}

func (m *model) appendTo(p backends.Partition, id string, a *store.Append, now time.Time) *store.Session {
	s := m.living(id, now)
	created := s == nil
	if created {
		s = &modelSession{state: store.Session{Partition: p, ID: id, Scope: a.Scope, Created: now, Updated: now}}
		m.sessions[id] = s
	}
	pending, before := s.state.Pending(), s.state.LastSeq
	for _, e := range a.Entries {
		if slices.ContainsFunc(s.entries, func(have store.Entry) bool { return have.ID == e.ID }) {
			continue
		}
		s.state.LastSeq++
		s.state.Tokens += int64(e.Tokens)
		e.Seq, e.Time = s.state.LastSeq, now
		s.entries = append(s.entries, e)
		s.state.Updated = now
	}
	if a.TTL > 0 && (created || s.state.LastSeq > before) {
		s.state.Expires = now.Add(a.TTL)
	}
	if a.Learnt && !pending {
		s.state.Watermark = s.state.LastSeq
	}
	out := s.state
	return &out
}

// eraseMessages erases messages by their numbers, and returns how many.
func (m *model) eraseMessages(id string, seqs []int64, now time.Time) (n int) {
	s := m.living(id, now)
	if s == nil {
		return 0
	}
	for i, e := range s.entries {
		if slices.Contains(seqs, e.Seq) && !e.Erased {
			s.state.Tokens -= int64(e.Tokens)
			s.entries[i] = e.Erase()
			n++
		}
	}
	if n > 0 {
		s.state.Title, s.state.Summary, s.state.SummaryUpto, s.state.Updated = "", "", 0, now
	}
	return n
}

func (m *model) read(id string, r store.Range, now time.Time) []store.Entry {
	out := []store.Entry{}
	s := m.living(id, now)
	if s == nil {
		return out
	}
	for _, e := range s.entries {
		if e.Seq > r.After && (r.Upto == 0 || e.Seq <= r.Upto) {
			out = append(out, e)
		}
	}
	if r.Last {
		return out[max(0, len(out)-r.Size()):]
	}
	return out[:min(len(out), r.Size())]
}

func (m *model) putBlob(id, name string, data []byte, now time.Time) {
	m.living(id, now) // the blobs of an expired session go first
	if m.blobs[id] == nil {
		m.blobs[id] = map[string][]byte{}
	}
	if m.blobs[id][name] = data; data == nil {
		delete(m.blobs[id], name)
	}
}

func (m *model) listBlobs(id, prefix string, now time.Time) []store.BlobInfo {
	m.living(id, now)
	out := []store.BlobInfo{}
	for _, name := range slices.Sorted(maps.Keys(m.blobs[id])) {
		if strings.HasPrefix(name, prefix) {
			out = append(out, store.BlobInfo{Name: name, Size: int64(len(m.blobs[id][name]))})
		}
	}
	return out
}
