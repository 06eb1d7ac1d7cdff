// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// replayed returns the response of the call that came with the same key before, nil
// when there was none. It asks no model.
func (m *Memory) replayed(ctx context.Context, d *Draft) (*SummaryResponse, error) {
	applied, err := m.keeper.Replayed(ctx, d.workspace, d.key, nil)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	if applied == nil {
		return nil, nil
	}
	return m.replay(ctx, d, applied)
}

// replay tells what the first call with a key stored, as it is now.
func (m *Memory) replay(ctx context.Context, d *Draft, applied *store.Applied) (*SummaryResponse, error) {
	outcomes := map[backends.EventType]backends.Outcome{
		"": backends.OutcomeUnchanged, backends.EventAdded: backends.OutcomeAdded,
		backends.EventUpdated: backends.OutcomeUpdated, backends.EventSuperseded: backends.OutcomeSuperseded,
	}
	ids := make([]string, len(applied.Results))
	for i, r := range applied.Results {
		ids[i] = r.ID
	}
	now, err := m.keeper.Held(ctx, d.workspace, ids...)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	resp := &SummaryResponse{Replayed: true, Report: d.run.Report()}
	for _, r := range applied.Results {
		item := backends.Item{Outcome: outcomes[r.Event], Memory: backends.Memory{ID: r.ID}}
		if mem := now[r.ID]; mem != nil { // else it was deleted since
			item.Memory = mem.Clone()
			if item.Outcome == backends.OutcomeAdded || item.Outcome == backends.OutcomeSuperseded {
				resp.Memories = append(resp.Memories, mem.Clone())
			}
		}
		resp.Items = append(resp.Items, item)
	}
	return resp, nil
}
