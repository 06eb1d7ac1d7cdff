// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// decision is what is to become of one memory.
type decision struct {
	outcome backends.Outcome // added, superseded, retracted, unchanged or failed
	memory  backends.Memory  // what is to be stored; for unchanged and failed what it is about
	target  *backends.Memory // for superseded and retracted
	at      time.Time        // for retracted: since when it holds no more
	err     error            // for failed
}

// plan is what one call is to store.
type plan struct {
	decisions []decision
	shown     map[string]bool // the ids of the memories that the model decided about
	author    string          // who decided
}

// errStale is a conflict that only a new decision resolves: a memory that the
// plan replaces changed since it was shown.
var errStale = fmt.Errorf("a memory changed while it was decided about: %w", backends.ErrConflict)

// commit stores a plan in one batch. Losing a race against another process that
// leaves the plan valid is repaired here; [errStale] asks for another plan.
func (b *Backend) commit(ctx context.Context, in *intake, pl *plan, usage *backends.Usage) (*backends.AddResponse, error) {
	unlock, err := b.writing.Lock(ctx, in.partition)
	if err != nil {
		return nil, fmt.Errorf("mem0: waiting to store: %w", err)
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		resp, err := b.apply(ctx, in, pl, usage)
		lost := errors.Is(err, backends.ErrConflict) && !errors.Is(err, errStale)
		if !lost || attempt == keeper.Attempts || in.session != nil && b.leaseLost(ctx, in) {
			return resp, err
		}
	}
}

// leaseLost tells whether a conflict came from the checkpoint: then repeating
// the batch is of no use.
func (b *Backend) leaseLost(ctx context.Context, in *intake) bool {
	s, err := b.keep.Store().Session(ctx, in.partition, in.session.Session)
	if err != nil {
		return true
	}
	return in.session.Token != 0 && (s.Lease.Token != in.session.Token || !b.config.Clock().Before(s.Lease.Expires))
}

// apply reads the partition as it is now, builds the batch and applies it.
func (b *Backend) apply(ctx context.Context, in *intake, pl *plan, usage *backends.Usage) (*backends.AddResponse, error) {
	t := &batch{backend: b, in: in, plan: pl, usage: usage}
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	if len(t.mutations) == 0 && in.session == nil && in.key() == "" {
		return &backends.AddResponse{Items: t.items(nil), Usage: *usage}, nil
	}
	applied, err := b.keep.Commit(ctx, in.partition, &store.Batch{Mutations: t.mutations, Key: in.key(), Session: in.session}, usage)
	if err != nil {
		return nil, err
	}
	if applied.Replayed {
		return b.replayed(ctx, in, applied, usage)
	}
	return &backends.AddResponse{Items: t.items(applied), Usage: *usage, Checkpointed: applied.Session != nil}, nil
}
