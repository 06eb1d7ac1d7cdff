// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// resolve looks the targets up as they are now. A target that changed since the
// decision is errStale. Of two replacements of one memory the second is added
// beside the first; a retraction of what is replaced or retracted anyway is left
// out.
func (t *batch) resolve(ctx context.Context) error {
	now, err := t.targets(ctx)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for i := range t.entries {
		e := &t.entries[i]
		if e.target == nil || e.outcome == backends.OutcomeUnchanged {
			continue
		}
		e.now = now[e.target.ID]
		if e.now == nil || !e.now.Active() || e.now.Text != e.target.Text {
			return fmt.Errorf("mem0: memory %s: %w", e.target.ID, errStale)
		}
		if e.outcome != backends.OutcomeSuperseded {
			continue
		}
		if gone[e.now.ID] {
			e.outcome, e.target, e.now = backends.OutcomeAdded, nil, nil
			continue
		}
		gone[e.now.ID] = true
	}
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool {
		if e.outcome != backends.OutcomeRetracted {
			return false
		}
		again := gone[e.now.ID]
		gone[e.now.ID] = true
		return again
	})
	return nil
}

// targets returns, by id, the memories that the entries are to change.
func (t *batch) targets(ctx context.Context) (map[string]*backends.Memory, error) {
	var ids []string
	for i := range t.entries {
		if target := t.entries[i].target; target != nil {
			ids = append(ids, target.ID)
		}
	}
	return t.backend.keep.Held(ctx, t.in.partition, ids...)
}

// dedupe turns what is known already into unchanged. A replacement that is known
// as another memory retracts its target instead; one that says what its target
// says changes nothing.
func (t *batch) dedupe(ctx context.Context) error {
	first, known, err := t.known(ctx)
	if err != nil {
		return err
	}
	t.keepStated(known)
	for i := range t.entries {
		e := &t.entries[i]
		if !e.writes() {
			continue
		}
		k := identityOf(&e.memory)
		switch {
		case first[k] != nil && e.outcome == backends.OutcomeSuperseded:
			e.outcome, e.at = backends.OutcomeRetracted, since(&e.memory)
		case first[k] != nil:
			e.outcome, e.same = backends.OutcomeUnchanged, first[k]
		case known[k] != nil:
			e.known(known[k])
		default:
			first[k] = e
		}
	}
	return nil
}

// keepStated leaves memories alone that the same plan states again: an answer that
// takes a fact away and says it as well says that it holds. So such an answer, given
// again and again, does not pile up copies.
func (t *batch) keepStated(known map[identity]*backends.Memory) {
	stated := map[string]bool{}
	for i := range t.entries {
		if e := &t.entries[i]; e.writes() {
			if m := known[identityOf(&e.memory)]; m != nil {
				stated[m.ID] = true
			}
		}
	}
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool {
		return e.outcome == backends.OutcomeRetracted && stated[e.now.ID]
	})
	for i := range t.entries {
		if e := &t.entries[i]; e.outcome == backends.OutcomeSuperseded && stated[e.now.ID] {
			e.outcome, e.target, e.now = backends.OutcomeAdded, nil, nil
		}
	}
}

// known returns the identities that the batch is about to write, and the active
// memories that have them already.
func (t *batch) known(ctx context.Context) (wanted map[identity]*entry, known map[identity]*backends.Memory, err error) {
	wanted, known = map[identity]*entry{}, map[identity]*backends.Memory{}
	var keys []string
	for i := range t.entries {
		if e := &t.entries[i]; e.writes() {
			k := identityOf(&e.memory)
			wanted[k] = nil
			keys = append(keys, k.key())
		}
	}
	if len(keys) == 0 {
		return wanted, known, nil
	}
	found, err := t.backend.keep.Lookup(ctx, t.in.partition, keys...)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range found {
		if k := identityOf(m); t.holds(m) && known[k] == nil {
			known[k] = m
		}
	}
	return wanted, known, nil
}

// holds reports whether a memory is one that saying it again would repeat.
func (t *batch) holds(m *backends.Memory) bool { return m.Active() && !m.Expired(t.in.now) }

// replaces returns the entry that supersedes or retracts the memory.
func (t *batch) replaces(id string) *entry {
	for i := range t.entries {
		e := &t.entries[i]
		if (e.outcome == backends.OutcomeSuperseded || e.outcome == backends.OutcomeRetracted) && e.now != nil && e.now.ID == id {
			return e
		}
	}
	return nil
}

// known settles an entry whose text the partition holds as m.
func (e *entry) known(m *backends.Memory) {
	if e.outcome == backends.OutcomeSuperseded && e.now.ID != m.ID {
		e.outcome, e.at = backends.OutcomeRetracted, since(&e.memory)
		return
	}
	e.outcome, e.memory, e.now, e.target = backends.OutcomeUnchanged, m.Clone(), nil, nil
}

// since returns from when a memory holds.
func since(m *backends.Memory) time.Time {
	if m.Valid.IsZero() {
		return m.Observed
	}
	return m.Valid
}
