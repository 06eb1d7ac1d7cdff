// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
)

// A turn belongs to the epoch of its user's partition in which it began (see [store.Begin]).
// Forgetting the user ends that epoch, and with it every later write of the turn. The messages of
// the turn carry the epoch past a checkpoint, and into another process.

// beginEpoch looks up the epoch that a turn begins in. It runs beside the search. A store that
// answers too late is asked again once the turn is written. A store that hangs is probed beside the
// replies, which do without it until it answers.
func (h *Hooks) beginEpoch(ctx context.Context, s backends.Scope) (wait func() string) {
	p, err := s.Speaker()
	if err != nil || h.cfg.Sessions == nil {
		return func() string { return "" }
	}
	due, hangs := h.circuit.Open()
	if hangs != nil && !due {
		return func() string { return "" }
	}
	if due {
		ctx = context.WithoutCancel(ctx)
	}
	found := make(chan string, 1)
	go func() { found <- h.epoch(ctx, p) }()
	if due {
		return func() string { return "" }
	}
	return func() string { return <-found }
}

// epoch asks the store. It is the cheapest question, and tells whether the store hangs; other
// failures are for the search to report.
func (h *Hooks) epoch(ctx context.Context, p backends.Partition) string {
	ask := func(ctx context.Context) (epoch string, err error) {
		defer work.Recover("the store", &err) // it runs beside the search
		epoch, err = h.cfg.Sessions.Epoch(ctx, p)
		if ctx.Err() == nil {
			err = nil
		}
		return epoch, err
	}
	if h.cfg.SearchTimeout < 0 {
		epoch, _ := ask(ctx)
		return epoch
	}
	epoch, _ := fault.Call(ctx, h.circuit, h.cfg.SearchTimeout*3/4, ask) // before what waits beside it goes on
	return epoch
}

// hangs returns the reason why the store is left alone, or nil.
func (h *Hooks) hangs() error {
	_, err := h.circuit.Open()
	return err
}

// inEpoch returns ctx for the writes of the turn.
func (t *turn) inEpoch(ctx context.Context) context.Context {
	p, err := t.scope.Speaker()
	if err != nil || t.id == "" {
		return ctx
	}
	return store.WithEpoch(ctx, p, t.epoch)
}

// inEpochOf returns ctx for the writes of the turn that messages end with; an epoch that ctx holds
// already stays.
func (h *Hooks) inEpochOf(ctx context.Context, s backends.Scope, messages []einox.Marked) context.Context {
	p, err := s.Speaker()
	if err != nil || store.Began(ctx, p) != "" {
		return ctx
	}
	return store.WithEpoch(ctx, p, h.find(messages).epoch)
}

// beginTool returns ctx for the writes of a memory tool: they belong to the turn in which the
// agent's model called the tool.
func (h *Hooks) beginTool(ctx context.Context, s backends.Scope) context.Context {
	return h.inEpochOf(ctx, s, einox.Unfold(adkx.Messages(ctx)))
}
