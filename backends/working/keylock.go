// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"sync"
)

// keyLocks are mutexes by key whose Lock can be given up. The zero value is ready.
type keyLocks[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*keyLock
}

type keyLock struct {
	held chan struct{} // holds one value while locked
	refs int           // who holds it or waits for it
}

// lock waits for the lock of k, and returns what gives it back, or the context's error.
func (l *keyLocks[K]) lock(ctx context.Context, k K) (unlock func(), err error) {
	kl := l.ref(k)
	select {
	case kl.held <- struct{}{}:
		return func() { <-kl.held; l.unref(k, kl) }, nil
	case <-ctx.Done():
		l.unref(k, kl)
		return nil, context.Cause(ctx)
	}
}

// tryLock is lock without waiting.
func (l *keyLocks[K]) tryLock(k K) (unlock func(), ok bool) {
	kl := l.ref(k)
	select {
	case kl.held <- struct{}{}:
		return func() { <-kl.held; l.unref(k, kl) }, true
	default:
		l.unref(k, kl)
		return nil, false
	}
}

func (l *keyLocks[K]) ref(k K) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = make(map[K]*keyLock)
	}
	kl := l.locks[k]
	if kl == nil {
		kl = &keyLock{held: make(chan struct{}, 1)}
		l.locks[k] = kl
	}
	kl.refs++
	return kl
}

func (l *keyLocks[K]) unref(k K, kl *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kl.refs--; kl.refs == 0 {
		delete(l.locks, k)
	}
}
