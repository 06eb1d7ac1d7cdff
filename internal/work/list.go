// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"sync"
	"time"
)

// List hands keys to workers: each key to one worker at a time, and once more if it
// was added meanwhile. It holds a key at most once. Make one with [NewList].
type List[K comparable] struct {
	mu     sync.Mutex
	ready  *sync.Cond
	items  []K
	states map[K]keyState
	timers map[K]*time.Timer
	closed bool
}

type keyState int

const (
	queued     keyState = iota + 1
	running             // a worker has it
	addedAgain          // a worker has it, and it was added since
)

// NewList returns an empty list.
func NewList[K comparable]() *List[K] {
	l := &List[K]{states: make(map[K]keyState), timers: make(map[K]*time.Timer)}
	l.ready = sync.NewCond(&l.mu)
	return l
}

// Add makes k ready now.
func (l *List[K]) Add(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k)
}

// AddAfter makes k ready once d has passed, and forgets an earlier AddAfter of k. A key
// that is ready stays so.
func (l *List[K]) AddAfter(k K, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.states[k] == queued {
		return
	}
	l.stopTimer(k)
	if d <= 0 {
		l.add(k)
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.timers[k] == t {
			l.add(k)
		}
	})
	l.timers[k] = t
}

// Cancel forgets an earlier AddAfter of k.
func (l *List[K]) Cancel(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopTimer(k)
}

// Get waits for a key, which Done gives back. It returns false once the list is closed.
func (l *List[K]) Get() (K, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.items) == 0 && !l.closed {
		l.ready.Wait()
	}
	var k K
	if l.closed {
		return k, false
	}
	k, l.items = l.items[0], l.items[1:]
	l.states[k] = running
	return k, true
}

// Done gives back a key that Get returned.
func (l *List[K]) Done(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.states[k] == addedAgain
	delete(l.states, k)
	if again {
		l.add(k)
	}
}

// Close stops the timers and makes every Get return false.
func (l *List[K]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for k := range l.timers {
		l.stopTimer(k)
	}
	l.ready.Broadcast()
}

func (l *List[K]) add(k K) {
	if l.closed {
		return
	}
	l.stopTimer(k)
	switch l.states[k] {
	case 0:
		l.states[k] = queued
		l.items = append(l.items, k)
		l.ready.Signal()
	case running:
		l.states[k] = addedAgain
	}
}

func (l *List[K]) stopTimer(k K) {
	if t := l.timers[k]; t != nil {
		t.Stop()
		delete(l.timers, k)
	}
}
