// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"sync"

	"github.com/einomem/einomem/backends"
)

// keyLock is one lock a partition. The zero value is ready; partitions that
// nobody holds cost nothing.
type keyLock struct {
	mu   sync.Mutex
	held map[backends.Partition]*waiters
}

type waiters struct {
	n    int
	turn chan struct{} // holds one token while the partition is free
}

// lock waits for the partition and returns how to give it back, or the
// context's error.
func (l *keyLock) lock(ctx context.Context, p backends.Partition) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[backends.Partition]*waiters{}
	}
	w := l.held[p]
	if w == nil {
		w = &waiters{turn: make(chan struct{}, 1)}
		w.turn <- struct{}{}
		l.held[p] = w
	}
	w.n++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.n--; w.n == 0 {
			delete(l.held, p)
		}
	}
	select {
	case <-w.turn:
		return func() { w.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
