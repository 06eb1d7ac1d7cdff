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
)

// modelSession is a session of the model.
type modelSession struct {
	state   store.Session
	entries []store.Entry
}

func (s *modelSession) clone() *modelSession {
	return &modelSession{state: s.state, entries: slices.Clone(s.entries)}
}

// living returns the session, nil when it does not exist or is expired.
func (m *model) living(id string, now time.Time) *modelSession {
	s := m.sessions[id]
	if s != nil && !s.state.Expires.IsZero() && !now.Before(s.state.Expires) {
		delete(m.sessions, id)
		delete(m.blobs, id)
		return nil
	}
	return s
}

func (m *model) appendTo(p backends.Partition, id string, a *store.Append, now time.Time) *store.Session {
	s := m.living(id, now)
	if s == nil {
		s = &modelSession{state: store.Session{Partition: p, ID: id, Created: now, Updated: now}}
		m.sessions[id] = s
	}
	waits := s.state.Pending()
	for _, e := range a.Entries {
		if slices.ContainsFunc(s.entries, func(have store.Entry) bool { return have.ID == e.ID }) {
			continue
		}
		s.state.LastSeq++
		s.state.Tokens += int64(e.Tokens)
		e.Seq, e.Time = s.state.LastSeq, now
		s.entries = append(s.entries, e)
		s.state.Updated = now
		if a.TTL > 0 {
			s.state.Expires = now.Add(a.TTL)
		}
	}
	if a.Learnt && !waits {
		s.state.Watermark = s.state.LastSeq
	}
	out := s.state
	return &out
}

func (m *model) update(u *store.SessionUpdate, now time.Time) (*store.Session, error) {
	s := m.living(u.Session, now)
	if s == nil {
		return nil, backends.ErrNotFound
	}
	st := s.state
	lease := &st.Lease
	if u.Summarised != nil && *u.Summarised != st.SummaryUpto {
		return nil, backends.ErrConflict
	}
	if u.Token != 0 && (lease.Owner == "" || lease.Token != u.Token || !now.Before(lease.Expires)) {
		return nil, backends.ErrConflict
	}
	if a := u.Acquire; a != nil {
		if lease.Owner != "" && lease.Owner != a.Owner && now.Before(lease.Expires) {
			return nil, backends.ErrConflict
		}
		if lease.Owner != a.Owner {
			lease.Token = max(lease.Token+1, now.UnixMicro())
		}
		lease.Owner, lease.Expires = a.Owner, now.Add(a.For)
	}
	if u.Release {
		lease.Owner, lease.Expires = "", time.Time{}
	}
	if u.Watermark != nil {
		st.Watermark = max(st.Watermark, *u.Watermark)
	}
	if u.Title != nil {
		st.Title = *u.Title
	}
	if u.Summary != nil {
		st.Summary = *u.Summary
	}
	if u.SummaryUpto != nil {
		st.SummaryUpto = *u.SummaryUpto
	}
	if u.Expires != nil {
		st.Expires = *u.Expires
	}
	st.Updated = now
	s.state = st
	return &st, nil
}

func (m *model) read(id string, r store.Range, now time.Time) []store.Entry {
	s := m.living(id, now)
	if s == nil {
		return nil
	}
	var out []store.Entry
	for _, e := range s.entries {
		if e.Seq > r.After && (r.Upto == 0 || e.Seq <= r.Upto) {
			out = append(out, e)
		}
	}
	if n := r.Size(); len(out) > n {
		if r.Last {
			return out[len(out)-n:]
		}
		return out[:n]
	}
	return out
}

func (m *model) putBlob(id, name string, data []byte, now time.Time) {
	m.living(id, now) // what is of an expired one goes first
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
