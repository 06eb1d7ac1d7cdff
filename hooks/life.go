// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
)

// A turn belongs to the life of its user's partition in which it began (see [store.Begin]).
// Forgetting the user ends that life, and with it every later write of the turn. The messages of
// the turn carry the life past a checkpoint, and into another process.

// beginLife looks up the life that a turn begins in. It runs beside the search. A store that
// answers too late is asked again once the turn is written. A store that hangs is probed beside the
// replies, which do without it until it answers.
func (h *Hooks) beginLife(ctx context.Context, s backends.Scope) (wait func() string) {
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
	go func() { found <- h.life(ctx, p) }()
	if due {
		return func() string { return "" }
	}
	return func() string { return <-found }
}

// life asks the store. It is the cheapest question, and tells whether the store hangs; other
// failures are for the search to report.
func (h *Hooks) life(ctx context.Context, p backends.Partition) string {
	ask := func(ctx context.Context) (life string, err error) {
		defer work.Recover("the store", &err) // it runs beside the search
		life, err = h.cfg.Sessions.Life(ctx, p)
		if ctx.Err() == nil {
			err = nil
		}
		return life, err
	}
	if h.cfg.SearchTimeout < 0 {
		life, _ := ask(ctx)
		return life
	}
	life, _ := fault.Call(ctx, h.circuit, h.cfg.SearchTimeout*3/4, ask) // before what waits beside it goes on
	return life
}

// hangs returns the reason why the store is left alone, or nil.
func (h *Hooks) hangs() error {
	_, err := h.circuit.Open()
	return err
}

// alive returns ctx for the writes of the turn.
func (t *turn) alive(ctx context.Context) context.Context {
	p, err := t.scope.Speaker()
	if err != nil || t.id == "" {
		return ctx
	}
	return store.WithLife(ctx, p, t.life)
}

// aliveBy returns ctx for the writes of the turn that messages end with; a life that ctx holds
// already stays.
func (h *Hooks) aliveBy(ctx context.Context, s backends.Scope, messages []*schema.Message) context.Context {
	p, err := s.Speaker()
	if err != nil || store.Began(ctx, p) != "" {
		return ctx
	}
	return store.WithLife(ctx, p, h.find(messages).life)
}

// BeginTool returns ctx for the writes of a memory tool: they belong to the turn in which the
// agent's model called the tool.
func (h *Hooks) BeginTool(ctx context.Context, s backends.Scope) context.Context {
	return h.aliveBy(ctx, s, adkx.Messages(ctx))
}
