// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"sync"

	"github.com/einomem/einomem/backends"
)

// partition is the index of one partition and how it is kept current.
type partition struct {
	ranker *Ranker
	key    backends.Partition

	mu    sync.RWMutex
	index *index // nil until loaded; changed under mu, and only by a flight

	cursor string // up to where index has come; used by flights alone

	flights sync.Mutex
	running *flight
	next    *flight
}

// flight is one run of refresh that several searches wait for.
type flight struct {
	done chan struct{}
	err  error
}

// current returns once the index holds everything that was stored before the
// call. Searches that come while a flight is under way share the next one: the
// running one may have asked the store too early for them. A caller who gives up
// does not end the flight for others.
func (p *partition) current(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := p.board(ctx)
	if err != nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *partition) board(ctx context.Context) (*flight, error) {
	p.flights.Lock()
	defer p.flights.Unlock()
	if p.running != nil {
		if p.next == nil {
			p.next = &flight{done: make(chan struct{})}
		}
		return p.next, nil
	}
	ctx, finish, err := p.ranker.background(ctx)
	if err != nil {
		return nil, err
	}
	f := &flight{done: make(chan struct{})}
	p.running = f
	go func() {
		defer finish()
		p.fly(ctx)
	}()
	return f, nil
}

// fly runs flights until nobody waits for another.
func (p *partition) fly(ctx context.Context) {
	for {
		err := p.refresh(ctx)
		p.flights.Lock()
		f := p.running
		p.running, p.next = p.next, nil
		last := p.running == nil
		p.flights.Unlock()
		f.err = err
		close(f.done)
		if last {
			return
		}
	}
}
