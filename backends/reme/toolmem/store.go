// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// Store stores a draft in one atomic write. A guideline that somebody else wrote
// meanwhile from the same calls, or more, stands; one from fewer is written over, and
// stays in the history.
func (m *Memory) Store(ctx context.Context, d *Draft) (*SummaryResponse, error) {
	if d == nil {
		return nil, fmt.Errorf("toolmem: %w: no draft", backends.ErrInvalid)
	}
	failed := d.errs()
	if failed == nil || d.partial {
		if err := m.store(ctx, d); err != nil {
			d.run.Stage(StageStore).Fail(err)
			failed = errors.Join(failed, err)
			d.notStored(err)
		}
	} else {
		d.notStored(fmt.Errorf("not stored since another tool failed: %w", failed))
	}
	resp := &SummaryResponse{Tools: make([]ToolSummary, len(d.tools)), Report: d.run.Report()}
	for i := range d.tools {
		resp.Tools[i] = d.tools[i].ToolSummary
	}
	if failed == nil {
		failed = d.unknown()
	}
	return resp, failed
}

// store writes what was drafted, looking again when it loses a race.
func (m *Memory) store(ctx context.Context, d *Draft) error {
	var written []string
	for i := range d.tools {
		if d.tools[i].Outcome == OutcomeWritten {
			written = append(written, d.tools[i].Tool)
		}
	}
	if len(written) == 0 {
		return nil
	}
	stage := d.run.Stage(StageStore)
	stage.Took(len(written))
	return keeper.Retry(ctx, func() error {
		cards, err := m.cards(ctx, d.p, written)
		if err != nil {
			return err
		}
		batch := &store.Batch{}
		var puts []*drafted
		for i := range d.tools {
			t := &d.tools[i]
			if t.Outcome != OutcomeWritten {
				continue
			}
			if now := cards[t.Tool]; t.overtaken(now) {
				t.Outcome, t.Memory = OutcomeUnchanged, &now.record.Memory
				stage.Merge(1)
				continue
			}
			put := store.Put(m.written(d.p, t, cards[t.Tool]))
			put.Actor, put.Expect = "toolmem", store.MustNotExist
			if was := cards[t.Tool].record; was != nil {
				put.Expect = was.Version
			}
			batch.Mutations = append(batch.Mutations, put)
			puts = append(puts, t)
		}
		return m.commit(ctx, d, batch, puts)
	})
}

func (m *Memory) commit(ctx context.Context, d *Draft, batch *store.Batch, puts []*drafted) error {
	if len(puts) == 0 {
		return nil
	}
	var usage backends.Usage
	applied, err := m.keeper.Commit(ctx, d.p, batch, &usage)
	d.run.Embedded(usage.EmbeddedTexts)
	if err != nil {
		return err
	}
	for i, t := range puts {
		stored := batch.Mutations[i].Record.Memory.Clone()
		stored.Version = applied.Version
		t.Memory = &stored
	}
	d.run.Stage(StageStore).Gave(len(puts))
	return nil
}

// overtaken reports whether another guideline, written since the draft began, knows of
// every call that this one does.
func (t *drafted) overtaken(now *card) bool {
	return now.record != nil && now.record.Version != t.version && now.covers(t.log)
}

// notStored takes back what was said to be written.
func (d *Draft) notStored(err error) {
	for i := range d.tools {
		if t := &d.tools[i]; t.Outcome == OutcomeWritten {
			t.Outcome, t.Err, t.Memory = OutcomeFailed, err, nil
		}
	}
}
