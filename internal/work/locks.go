// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"sync"
)

// Locks are mutexes by key, whose waiting ends with a context. Keys that nobody
// holds cost nothing. The zero value is ready.
type Locks[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*lock
}

type lock struct {
	held chan struct{} // holds one value while locked
	refs int           // who holds it or waits for it
}

// Lock waits for the lock of k, and returns what gives it back, or the context's error.
func (l *Locks[K]) Lock(ctx context.Context, k K) (unlock func(), err error) {
	kl := l.ref(k)
	select {
	case kl.held <- struct{}{}:
		return func() { <-kl.held; l.unref(k, kl) }, nil
	case <-ctx.Done():
		l.unref(k, kl)
		return nil, context.Cause(ctx)
	}
}

// TryLock is Lock without waiting.
func (l *Locks[K]) TryLock(k K) (unlock func(), ok bool) {
	kl := l.ref(k)
	select {
	case kl.held <- struct{}{}:
		return func() { <-kl.held; l.unref(k, kl) }, true
	default:
		l.unref(k, kl)
		return nil, false
	}
}

func (l *Locks[K]) ref(k K) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = make(map[K]*lock)
	}
	kl := l.locks[k]
	if kl == nil {
		kl = &lock{held: make(chan struct{}, 1)}
		l.locks[k] = kl
	}
	kl.refs++
	return kl
}

func (l *Locks[K]) unref(k K, kl *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kl.refs--; kl.refs == 0 {
		delete(l.locks, k)
	}
}
