// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// run is one run under way through a [Runner]. It travels in the context, so that
// the middleware of an agent in the run knows that its work is done already.
type run struct {
	resumed bool

	mu    sync.Mutex
	reply *Reply // its Scope is guarded by mu
}

// runKey is the context's key for the run of the memory of that name.
type runKey string

func (h *Hooks) withRun(ctx context.Context, r *run) context.Context {
	return context.WithValue(ctx, runKey(h.cfg.Note.Name), r)
}

// running returns the wrapped run that ctx belongs to, or nil.
func (h *Hooks) running(ctx context.Context) *run {
	r, _ := ctx.Value(runKey(h.cfg.Note.Name)).(*run)
	return r
}

// note returns the note that the run started with, or nil.
func (r *run) note() *schema.Message { return r.reply.Note }

// scope returns whose memory the run is for; the zero scope when nobody said.
func (r *run) scope() backends.Scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reply.Scope
}

// offer names the run's user when only the session values do, which a resumed run
// gets from its checkpoint and which cannot be read from outside it.
func (r *run) offer(ctx context.Context, h *Hooks) {
	if !r.resumed || r.scope().UserID != "" {
		return
	}
	s, err := h.ResolveScope(ctx)
	if err != nil || s.UserID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply.Scope = s
}
