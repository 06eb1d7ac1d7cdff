// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// ForgetRequest asks which memories did not prove themselves, and deletes them.
type ForgetRequest struct {
	Scope backends.Scope // Names the workspace. Optional where the context carries one.

	Rule   *Rule // Optional. Defaults to [DefaultRule].
	DryRun bool  // Tell what would be deleted, and delete nothing. Optional.
}

// Forgotten is a memory that a [Rule] forgets.
type Forgotten struct {
	ID        string
	WhenToUse string
	Text      string
	Freq      float64 // how often it was used
	Utility   float64 // how often it helped
	Ratio     float64 // Utility / Freq
}

// ForgetResponse tells what was deleted, or in a dry run would be.
type ForgetResponse struct {
	Deleted []Forgotten // in the order in which they were stored
	// Kept are memories that were used without pause while they were looked at: they
	// stay for the next time.
	Kept   []Forgotten
	DryRun bool
}

// Forget deletes the memories that the rule forgets, really: no search finds them any
// more, and a dump does not hold them. Their history still answers, each is logged,
// and Config.OnDelete hears of it. A memory that is used meanwhile is looked at again
// before it goes. After an error those in the response are gone, and the call may be
// repeated.
func (m *Memory) Forget(ctx context.Context, r *ForgetRequest) (*ForgetResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("task: %w: no request", backends.ErrInvalid)
	}
	_, p, err := m.workspace(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	rule := DefaultRule()
	if r.Rule != nil {
		rule = *r.Rule
	}
	if err := rule.Validate(); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	all, err := m.keeper.All(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	resp := &ForgetResponse{DryRun: r.DryRun}
	var due []*backends.Memory
	for _, mem := range all {
		if f := forgotten(mem); forgettable(mem, rule) {
			due = append(due, mem)
			if r.DryRun {
				resp.Deleted = append(resp.Deleted, f)
			}
		}
	}
	if r.DryRun {
		return resp, nil
	}
	for part := range slices.Chunk(due, forgetBatch) {
		if err := m.forget(ctx, p, rule, part, resp); err != nil {
			return resp, err
		}
	}
	return resp, nil
}

// forgetBatch is how many memories one write deletes.
const forgetBatch = 500

func forgettable(m *backends.Memory, rule Rule) bool {
	return m.Kind == backends.KindTask && m.Active() && rule.Forgets(number(m, MetaFreq), number(m, MetaUtility))
}

func forgotten(m *backends.Memory) Forgotten {
	freq, utility := number(m, MetaFreq), number(m, MetaUtility)
	return Forgotten{ID: m.ID, WhenToUse: m.WhenToUse, Text: m.Text, Freq: freq, Utility: utility, Ratio: ratio(freq, utility)}
}

// forget deletes the memories in one write, or if one of them changed meanwhile, one
// by one.
func (m *Memory) forget(ctx context.Context, p backends.Partition, rule Rule, due []*backends.Memory, resp *ForgetResponse) error {
	err := m.delete(ctx, p, due...)
	if err == nil {
		for _, mem := range due {
			m.gone(ctx, p, mem, resp)
		}
		return nil
	}
	if !errors.Is(err, backends.ErrConflict) {
		return err
	}
	for _, mem := range due {
		if err := m.forgetOne(ctx, p, rule, mem.ID, resp); err != nil {
			return err
		}
	}
	return nil
}

// forgetOne looks at a memory again and deletes it as it was seen.
func (m *Memory) forgetOne(ctx context.Context, p backends.Partition, rule Rule, id string, resp *ForgetResponse) error {
	for attempt := 1; ; attempt++ {
		records, err := m.keeper.Records(ctx, p, id)
		if err != nil {
			return fmt.Errorf("task: %w", err)
		}
		if len(records) == 0 || !forgettable(&records[0].Memory, rule) {
			return nil
		}
		mem := &records[0].Memory
		switch err = m.delete(ctx, p, mem); {
		case err == nil:
			m.gone(ctx, p, mem, resp)
			return nil
		case !errors.Is(err, backends.ErrConflict) || ctx.Err() != nil:
			return err
		case attempt == maxTries:
			resp.Kept = append(resp.Kept, forgotten(mem))
			return nil
		}
	}
}

// delete deletes memories that are still as they were seen, all or none.
func (m *Memory) delete(ctx context.Context, p backends.Partition, seen ...*backends.Memory) error {
	b := &store.Batch{}
	for _, mem := range seen {
		d := store.Delete(mem.ID)
		d.Expect, d.Actor = mem.Version, actorForget
		b.Mutations = append(b.Mutations, d)
	}
	if _, err := m.keeper.Store().Apply(ctx, p, b); err != nil {
		return fmt.Errorf("task: forgetting %d memories: %w", len(seen), err)
	}
	return nil
}

// actorForget is who deleted, in the history.
const actorForget = "forget"

// gone tells everybody that a memory was deleted.
func (m *Memory) gone(ctx context.Context, p backends.Partition, mem *backends.Memory, resp *ForgetResponse) {
	f := forgotten(mem)
	resp.Deleted = append(resp.Deleted, f)
	m.config.Log.LogAttrs(ctx, slog.LevelInfo, "task memory forgotten", slog.String("workspace", p.String()), slog.String("id", f.ID),
		slog.Float64("freq", f.Freq), slog.Float64("utility", f.Utility), slog.String("when_to_use", f.WhenToUse))
	if m.config.OnDelete != nil {
		m.config.OnDelete(ctx, p, f)
	}
}
