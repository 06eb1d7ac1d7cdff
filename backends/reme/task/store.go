// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// maxTries is how often a draft is held against a workspace that others change at
// the same time.
const maxTries = 16

// Store stores what a draft holds, in one atomic batch. It looks at the workspace as
// it is now: what was learnt meanwhile by others is known, and the model is asked only
// about what it did not decide before. On an error nothing was stored, and the draft
// may be stored later.
func (m *Memory) Store(ctx context.Context, d *Draft) (*SummaryResponse, error) {
	switch {
	case d == nil || d.run == nil:
		return nil, fmt.Errorf("task: %w: no draft; Draft gives one", backends.ErrInvalid)
	case d.replayed != nil:
		return d.replayed, nil
	case d.err != nil:
		return &SummaryResponse{Report: d.run.Report()}, d.err
	case len(d.Candidates) == 0 && d.key == "":
		return &SummaryResponse{Report: d.run.Report()}, nil
	}
	unlock, err := m.storing.Lock(ctx, d.workspace)
	if err != nil {
		return &SummaryResponse{Report: d.run.Report()}, fmt.Errorf("task: waiting to store: %w", err)
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		resp, stage, err := m.store(ctx, d)
		switch {
		case err == nil:
			return resp, nil
		case !errors.Is(err, backends.ErrConflict) || attempt == maxTries || ctx.Err() != nil:
			d.run.Stage(stage).Fail(err)
			return &SummaryResponse{Report: d.run.Report()}, err
		}
	}
}

// store is one try, and the stage that it came to.
func (m *Memory) store(ctx context.Context, d *Draft) (*SummaryResponse, string, error) {
	t := m.try(d)
	if err := t.plan(ctx); err != nil {
		return nil, StageDuplicates, err
	}
	b, err := t.batch(ctx)
	if err != nil {
		return nil, StageStore, err
	}
	var applied *store.Applied
	if len(b.changes) > 0 || d.key != "" {
		usage := &backends.Usage{}
		applied, err = m.keeper.Commit(ctx, d.workspace, &store.Batch{Mutations: b.mutations(), Key: d.key}, usage)
		d.run.Embedded(usage.EmbeddedTexts)
		if err != nil {
			return nil, StageStore, fmt.Errorf("task: %w", err)
		}
	}
	if applied != nil && applied.Replayed {
		resp, err := m.replay(ctx, d, applied)
		return resp, StageStore, err
	}
	resp := b.response(applied)
	t.count(len(resp.Memories))
	resp.Report = d.run.Report()
	return resp, "", nil
}

// count puts into the report what became of the lessons.
func (t *try) count(stored int) {
	known, merged := 0, 0
	for _, l := range t.lessons {
		switch l.fate {
		case fateKnown, fateSame:
			known++
		case fateMerge:
			merged++
		}
	}
	s := t.draft.run.Stage(StageDuplicates)
	s.Took(len(t.lessons))
	s.Drop(known)
	s.Merge(merged)
	s.Gave(len(t.lessons) - known)
	s = t.draft.run.Stage(StageStore)
	s.Took(len(t.lessons) - known)
	s.Gave(stored)
}

// response tells what became of each lesson.
func (b *batch) response(applied *store.Applied) *SummaryResponse {
	resp := &SummaryResponse{}
	for _, c := range b.changes {
		c.record.Version = applied.Version
		if c.merged != nil {
			c.record.Supersedes = c.before.ID
		}
		if c.fresh() {
			resp.Memories = append(resp.Memories, c.record.Memory.Clone())
		}
	}
	for _, l := range b.try.lessons {
		resp.Items = append(resp.Items, b.item(l))
	}
	return resp
}

// item tells what became of one lesson.
func (b *batch) item(l *lesson) backends.Item {
	if c := b.added[l]; c != nil {
		return backends.Item{Outcome: backends.OutcomeAdded, Memory: c.record.Memory.Clone()}
	}
	if l.known == nil { // it went where its twin went
		item := b.item(l.twin)
		item.Outcome, item.Previous = backends.OutcomeUnchanged, nil
		return item
	}
	c := b.touched[l.known.ID]
	if c == nil {
		return backends.Item{Outcome: backends.OutcomeUnchanged, Memory: l.known.Clone()}
	}
	item := backends.Item{Outcome: backends.OutcomeUnchanged, Memory: c.record.Memory.Clone()}
	switch {
	case c.merged == l:
		previous := c.before.Clone()
		previous.SupersededBy, previous.Version = c.record.ID, c.record.Version
		item.Outcome, item.Previous = backends.OutcomeSuperseded, &previous
	case c.merged == nil && l.changes():
		previous := c.before.Clone()
		item.Outcome, item.Previous = backends.OutcomeUpdated, &previous
	}
	return item
}
