// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// eligibility decides which memories a search may return at all. It comes before the ranking: a
// memory that it excludes has neither a place nor an influence on the scale.
type eligibility struct {
	request *backends.SearchRequest
	match   func(*backends.Memory) bool
	at      time.Time
	now     int64 // the same
	plain   bool  // the search asks for current memories and has no other condition
	current bool  // the search asks for current memories
}

func newEligibility(q *backends.SearchRequest, now time.Time) (eligibility, error) {
	match, err := q.Filter.Compile()
	current := q.AsOf.IsZero() && q.KnownAt.IsZero() && !q.IncludeSuperseded && !q.IncludeExpired
	return eligibility{request: q, match: match, at: now, now: nanos(now), plain: current && len(q.Kinds) == 0 && q.Filter == nil, current: current}, err
}

// admits asks for the memory in a slot.
func (x *index) admits(e *eligibility, slot int32) bool {
	glance := &x.glances[slot]
	switch {
	case e.plain && e.now >= glance.until, glance.inferred && e.current && !x.docs[slot].memory.Stands(e.at, x.memory):
		return false
	case e.plain:
		return true
	}
	return e.admits(&x.docs[slot])
}

// memory returns the memory with an id, or nil.
func (x *index) memory(id string) *backends.Memory {
	if slot, ok := x.slots[id]; ok {
		return x.docs[slot].memory
	}
	return nil
}

func (e *eligibility) admits(d *doc) bool {
	switch q := e.request; {
	case d.memory == nil, e.expired(d):
		return false
	case !q.KnownAt.IsZero() && d.memory.Created.After(q.KnownAt):
		return false
	case q.AsOf.IsZero() && !q.IncludeSuperseded && e.ended(d), !q.AsOf.IsZero() && !e.held(d):
		return false
	case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, d.memory.Kind):
		return false
	}
	return e.match(d.memory)
}

func (e *eligibility) expired(d *doc) bool { return !e.request.IncludeExpired && e.now >= d.expires }

// ended reports whether the store knew, at KnownAt, that a memory was superseded or retracted.
func (e *eligibility) ended(d *doc) bool {
	at := e.request.KnownAt
	return !d.active && (at.IsZero() || !d.memory.Updated.After(at))
}

// held reports whether a memory held at the time AsOf: it had begun, and its end was still to come.
func (e *eligibility) held(d *doc) bool {
	at := e.request.AsOf
	return !d.memory.Since().After(at) && (e.request.IncludeSuperseded || !e.ended(d) || at.Before(d.memory.Invalidated))
}
