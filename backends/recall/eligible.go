// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// eligibility says which memories a search may return at all. It is asked before
// anything is ranked: what it turns away takes no place and sets no scale.
type eligibility struct {
	now        int64
	at         time.Time // what held then; zero: now
	kinds      []backends.Kind
	match      func(*backends.Memory) bool // nil: everything
	superseded bool                        // also what holds no more
	expired    bool                        // also what expired
}

func newEligibility(q *backends.SearchRequest, now time.Time) (eligibility, error) {
	e := eligibility{
		now: nanos(now), at: q.AsOf, kinds: slices.Clone(q.Kinds),
		superseded: q.IncludeSuperseded, expired: q.IncludeExpired,
	}
	if q.Filter == nil {
		return e, nil
	}
	var err error
	e.match, err = q.Filter.Compile()
	return e, err
}

func (e *eligibility) admits(d *doc) bool {
	switch {
	case d.memory == nil, !e.expired && e.now >= d.expires:
		return false
	case e.at.IsZero():
		if !d.active && !e.superseded {
			return false
		}
	case !e.held(d.memory):
		return false
	}
	if len(e.kinds) > 0 && !slices.Contains(e.kinds, d.memory.Kind) {
		return false
	}
	return e.match == nil || e.match(d.memory)
}

// held reports whether a memory had begun to hold at e.at, and had not ended.
func (e *eligibility) held(m *backends.Memory) bool {
	since := m.Valid
	if since.IsZero() {
		since = m.Observed
	}
	if since.IsZero() {
		since = m.Created
	}
	if since.After(e.at) {
		return false
	}
	if e.superseded || m.Active() {
		return true
	}
	return e.at.Before(m.Invalidated)
}
