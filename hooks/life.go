// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// A turn belongs to the life of its user's partition in which it began (see [store.Begin]):
// once the user is forgotten, nothing of it is written any more. The messages of the turn
// carry the life, so that it is known after a checkpoint, and in another process.

// beginLife looks up the life that a turn begins in. It runs beside the search. A store that
// does not answer in time is asked again once the turn is written.
func (h *Hooks) beginLife(ctx context.Context, s backends.Scope) (wait func() string) {
	p, err := s.Speaker()
	if err != nil || h.cfg.Sessions == nil {
		return func() string { return "" }
	}
	found := make(chan string, 1)
	go func() {
		within, cancel := h.within(ctx)
		defer cancel()
		life, _ := work.Await(within, "store", func() (string, error) { return h.cfg.Sessions.Life(within, p) }) // the search reports that the store is away
		found <- life
	}()
	return func() string { return <-found }
}

// alive returns ctx for what belongs to the turn.
func (t *turn) alive(ctx context.Context) context.Context {
	p, err := t.scope.Speaker()
	if err != nil || t.id == "" {
		return ctx
	}
	return store.WithLife(ctx, p, t.life)
}

// aliveBy returns ctx for what belongs to the turn that messages end with, unless it is
// known already.
func aliveBy(ctx context.Context, s backends.Scope, messages []*schema.Message) context.Context {
	p, err := s.Speaker()
	user := lastUser(messages)
	if err != nil || user < 0 || store.Began(ctx, p) != "" {
		return ctx
	}
	return store.WithLife(ctx, p, einox.LifeOf(messages[user]))
}

// lives are the lives of the turns whose tools are called, by call: what a tool of an agent
// is given does not say which turn it belongs to.
type lives struct {
	mu     sync.Mutex
	of     map[calledFor]string
	oldest []calledFor
}

type calledFor struct {
	backends.Partition
	call string
}

// mostLives is how many calls are remembered. One that is made after so many others began
// counts as beginning by itself.
const mostLives = 4096

// note remembers the turn of the calls that a model asks for.
func (l *lives) note(t *turn, calls []schema.ToolCall) {
	p, err := t.scope.Speaker()
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[calledFor]string{}
	}
	for i := range calls {
		k := calledFor{p, calls[i].ID}
		if _, known := l.of[k]; !known {
			l.oldest = append(l.oldest, k)
		}
		l.of[k] = t.life
		if len(l.oldest) > mostLives {
			delete(l.of, l.oldest[0])
			l.oldest = l.oldest[1:]
		}
	}
}

// BeginTool returns ctx for what a memory tool writes: it belongs to the turn in which a
// model called the tool.
func (h *Hooks) BeginTool(ctx context.Context, s backends.Scope) context.Context {
	p, err := s.Speaker()
	if err != nil || store.Began(ctx, p) != "" {
		return ctx
	}
	h.lives.mu.Lock()
	defer h.lives.mu.Unlock()
	return store.WithLife(ctx, p, h.lives.of[calledFor{p, compose.GetToolCallID(ctx)}])
}
