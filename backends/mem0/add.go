// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// add learns from a request: the gate, a plan, one batch.
func (b *Backend) add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("mem0: %w: no request", backends.ErrInvalid)
	}
	in, err := b.take(ctx, r)
	if err != nil {
		return nil, err
	}
	usage := &backends.Usage{}
	mode := b.modeOf(r)
	if mode == Verbatim {
		pl, err := b.verbatim(in)
		if err != nil {
			return nil, err
		}
		return b.commit(ctx, in, pl, usage)
	}
	return b.learn(ctx, in, mode, usage)
}

func (b *Backend) modeOf(r *backends.AddRequest) Mode {
	if r.Verbatim {
		return Verbatim
	}
	return b.config.Mode
}

// learn asks the model for a plan and stores it. One call at a time learns for a
// partition, so that a call knows what the one before it stored; when another
// process changed what the plan replaces, the model is asked again.
func (b *Backend) learn(ctx context.Context, in *intake, mode Mode, usage *backends.Usage) (*backends.AddResponse, error) {
	unlock, err := b.learning.Lock(ctx, in.partition)
	if err != nil {
		return nil, fmt.Errorf("mem0: waiting to learn: %w", err)
	}
	defer unlock()
	if resp, err := b.repeated(ctx, in); resp != nil || err != nil {
		return resp, err
	}
	for attempt := 1; ; attempt++ {
		pl, err := b.decide(ctx, in, mode, usage)
		if err != nil {
			return nil, err
		}
		resp, err := b.commit(ctx, in, pl, usage)
		if !errors.Is(err, errStale) || attempt == keeper.Attempts {
			return resp, err
		}
	}
}

// decide turns what was said into a plan.
func (b *Backend) decide(ctx context.Context, in *intake, mode Mode, usage *backends.Usage) (*plan, error) {
	if in.req.Kind == backends.KindProcedure {
		return b.procedure(ctx, in, usage)
	}
	if k := in.req.Kind; k != "" && k != backends.KindFact {
		return nil, fmt.Errorf("mem0: kind %q: %w: a model writes facts and procedures; with Verbatim episodes may be stored", k, backends.ErrInvalid)
	}
	pl := &plan{}
	if len(in.said) > 0 {
		var err error
		switch mode {
		case Additive:
			pl, err = b.additive(ctx, in, usage)
		case TwoStep:
			pl, err = b.twoStep(ctx, in, usage)
		default:
			pl, err = b.reconcile(ctx, in, usage)
		}
		if err != nil {
			return nil, err
		}
	}
	if !b.config.FactsOnly && in.req.Author == "" { // else nobody said it
		for i := range in.said {
			pl.decisions = append(pl.decisions, decision{outcome: backends.OutcomeAdded, memory: in.episode(&in.said[i])})
		}
	}
	return pl, nil
}
