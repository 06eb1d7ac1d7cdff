// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"

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
	return t.backend.held(ctx, t.in.partition, ids)
}

// dedupe turns what is known already into unchanged. A replacement that is known
// as another memory retracts its target instead; one that says what its target
// says changes nothing.
func (t *batch) dedupe(ctx context.Context) error {
	first, known, err := t.known(ctx)
	if err != nil {
		return err
	}
	for i := range t.entries {
		e := &t.entries[i]
		if !e.writes() {
			continue
		}
		k := identityOf(&e.memory)
		switch m := known[k]; {
		case first[k] != nil && e.outcome == backends.OutcomeSuperseded:
			e.outcome, e.at = backends.OutcomeRetracted, e.memory.Valid
		case first[k] != nil:
			e.outcome, e.same = backends.OutcomeUnchanged, first[k]
		case m != nil && (t.replaces(m.ID) == nil || t.replaces(m.ID) == e):
			e.known(m)
		default: // new, or known as something that this batch takes away: said anew
			first[k] = e
		}
	}
	return nil
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
	found, err := t.backend.ranker.Lookup(ctx, t.in.partition, keys...)
	if err != nil {
		return nil, nil, fmt.Errorf("mem0: %w", err)
	}
	for _, m := range found {
		if k := identityOf(m); m.Active() && !m.Expired(t.in.now) && known[k] == nil {
			known[k] = m
		}
	}
	return wanted, known, nil
}

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
		e.outcome, e.at = backends.OutcomeRetracted, e.memory.Valid
		return
	}
	e.outcome, e.memory, e.now, e.target = backends.OutcomeUnchanged, clone(m), nil, nil
}
