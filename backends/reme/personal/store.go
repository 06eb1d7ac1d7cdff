// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// Store writes a draft in one batch, wholly or not at all. What another process
// stored since the draft was made counts: what it learnt too is unchanged, and where a
// memory changed that was compared with, or others were added, the model is asked again;
// for additions once, so that no crowd keeps a draft from being stored. Storing a draft
// again changes nothing.
//
// Errors: that of the draft, if a stage failed and KeepPartial is not set;
// ErrConflict when the race was lost again and again, or the checkpoint's lease with
// it; ErrUnavailable when the store or the embedder does not answer. Then nothing was
// stored.
func (f *Flows) Store(ctx context.Context, d *Draft) (*SummaryResponse, error) {
	switch {
	case d == nil || d.flows != f:
		return nil, fmt.Errorf("personal: %w: no draft of these flows", backends.ErrInvalid)
	case d.replayed != nil:
		return d.again(ctx, d.replayed)
	case d.err != nil && !d.request.KeepPartial:
		return d.unstored(), d.err
	}
	for attempt := 1; ; attempt++ {
		resp, err := d.apply(ctx, attempt == 1)
		if err == nil {
			return resp, d.err
		}
		if !errors.Is(err, backends.ErrConflict) || attempt == keeper.Attempts || ctx.Err() != nil || d.leaseLost(ctx) {
			d.run.Stage(StageStore).Fail(err)
			return d.unstored(), err
		}
		if !errors.Is(err, errStale) {
			continue
		}
		if err := f.reconcile(ctx, d); err != nil {
			return d.unstored(), err
		}
		if d.settle(); d.err != nil && !d.request.KeepPartial {
			return d.unstored(), d.err
		}
	}
}

// leaseLost tells whether a conflict came from the checkpoint: then repeating the
// batch is of no use.
func (d *Draft) leaseLost(ctx context.Context) bool {
	if d.session == nil {
		return false
	}
	s, err := d.flows.config.Keeper.Store().Session(ctx, d.place.partition, d.session.Session)
	if err != nil {
		return true
	}
	return d.session.Token != 0 && (s.Lease.Token != d.session.Token || !d.flows.config.Clock().Before(s.Lease.Expires))
}

// apply reads the partition as it is now, builds the batch and commits it. With first,
// what nothing was compared with yet is errStale.
func (d *Draft) apply(ctx context.Context, first bool) (*SummaryResponse, error) {
	snap, err := d.flows.snapshot(ctx, d)
	if err != nil {
		return nil, err
	}
	if first && d.outdated(snap) {
		return nil, fmt.Errorf("personal: %w", errStale)
	}
	b := &batch{draft: d, snap: snap}
	if err := b.build(); err != nil {
		return nil, err
	}
	out := &store.Batch{Mutations: b.mutations}
	if d.err == nil { // else a repeat is to learn the rest
		out.Key, out.Session = d.key(), d.session
	}
	if len(out.Mutations) == 0 && out.Key == "" && out.Session == nil {
		return d.done(b, &store.Applied{}), nil
	}
	var usage backends.Usage
	applied, err := d.flows.config.Keeper.Commit(ctx, d.place.partition, out, &usage)
	d.run.Embedded(usage.EmbeddedTexts)
	if err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	if applied.Replayed {
		return d.again(ctx, applied)
	}
	return d.done(b, applied), nil
}

// outdated reports whether something holds that a statement was not compared with.
func (d *Draft) outdated(snap *snapshot) bool {
	if d.seen == nil {
		return false
	}
	added := func(m *backends.Memory) bool { return !d.seen[m.ID] }
	open := func(s *statement) bool { return s.err == nil && snap.same(s) == nil }
	return slices.ContainsFunc(d.statements, open) && slices.ContainsFunc(snap.active, added)
}

// done is the response to a draft that was stored.
func (d *Draft) done(b *batch, applied *store.Applied) *SummaryResponse {
	resp := &SummaryResponse{Items: b.items(applied.Version), Checkpointed: applied.Session != nil}
	if len(b.nodes) > 0 {
		count(d.run.Stage(StageStore), resp.Items)
	}
	resp.Report = d.run.Report()
	return resp
}

func count(stage *flow.Stage, items []backends.Item) {
	for _, item := range items {
		switch item.Outcome {
		case backends.OutcomeAdded:
			stage.Took(1)
			stage.Gave(1)
		case backends.OutcomeSuperseded:
			stage.Took(1)
			stage.Gave(1)
			stage.Merge(1)
		case backends.OutcomeUnchanged:
			stage.Took(1)
			stage.Drop(1)
		}
	}
}

// id returns the id of a memory to be written: the first one of what it says that is
// free. So two processes that learn it at the same time meet.
func (d *Draft) id(s *statement, taken func(string) bool) string {
	if ids := d.flows.config.IDs; ids != nil {
		return ids()
	}
	target := ""
	if d.flows.config.InWorkspace {
		target = d.place.target
	}
	for n := 0; ; n++ {
		id := keeper.ContentID(d.place.partition, s.memory.Kind, target, s.textKey(), strconv.Itoa(n))
		if !taken(id) {
			return id
		}
	}
}

// again is the response to a request that was carried out before.
func (d *Draft) again(ctx context.Context, applied *store.Applied) (*SummaryResponse, error) {
	ids := make([]string, len(applied.Results))
	for i, r := range applied.Results {
		ids[i] = r.ID
	}
	now, err := d.flows.config.Keeper.Held(ctx, d.place.partition, ids...)
	if err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	resp := &SummaryResponse{Replayed: true, Report: d.run.Report()}
	for _, r := range applied.Results {
		item := backends.Item{Outcome: outcomes[r.Event], Memory: backends.Memory{ID: r.ID}}
		if m := now[r.ID]; m != nil {
			item.Memory = m.Clone()
		}
		resp.Items = append(resp.Items, item)
	}
	if s := applied.Session; s != nil && d.session != nil { // the first call may have come without a checkpoint
		resp.Checkpointed = s.Watermark >= *d.session.Watermark
	}
	return resp, nil
}

var outcomes = map[backends.EventType]backends.Outcome{
	"": backends.OutcomeUnchanged, backends.EventAdded: backends.OutcomeAdded, backends.EventUpdated: backends.OutcomeUpdated,
	backends.EventSuperseded: backends.OutcomeSuperseded, backends.EventRetracted: backends.OutcomeRetracted,
}
