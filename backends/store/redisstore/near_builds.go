// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"sync"

	"github.com/einomem/einomem/backends"
)

// builds are the indexes that a store builds in the background. The zero value is
// ready.
type builds struct {
	mu      sync.Mutex
	running map[backends.Partition]context.CancelFunc
	stopped bool
	all     sync.WaitGroup
	one     sync.Mutex // held by the one that works: a server is not to be flooded
}

// start builds an index, unless that is under way.
func (l *builds) start(ctx context.Context, b *indexer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.running[b.p] != nil {
		return
	}
	if l.running == nil {
		l.running = map[backends.Partition]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.running[b.p] = cancel
	l.all.Add(1)
	go l.run(ctx, b)
}

func (l *builds) run(ctx context.Context, b *indexer) {
	defer l.all.Done()
	defer l.end(b.p)
	l.one.Lock()
	defer l.one.Unlock()
	if err := b.build(ctx); err != nil && ctx.Err() == nil {
		b.config.Logger.WarnContext(ctx, "redisstore: the index of a large partition could not be built: its next search tries again", "partition", b.p.String(), "error", err)
	}
}

func (l *builds) end(p backends.Partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[p]()
	delete(l.running, p)
}

// stop ends all of them, and returns when they have ended.
func (l *builds) stop() {
	l.mu.Lock()
	l.stopped = true
	for _, cancel := range l.running {
		cancel()
	}
	l.mu.Unlock()
	l.all.Wait()
}
