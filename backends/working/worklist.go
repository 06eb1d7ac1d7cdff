// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"sync"
	"time"
)

// worklist hands keys to workers: each key to one worker at a time, and again if
// it was added meanwhile. It holds a key at most once.
type worklist[K comparable] struct {
	mu     sync.Mutex
	ready  *sync.Cond
	items  []K
	states map[K]workState
	timers map[K]*time.Timer
	closed bool
}

type workState int

const (
	workQueued  workState = iota + 1
	workRunning           // a worker has it
	workAgain             // a worker has it, and it was added since
)

func newWorklist[K comparable]() *worklist[K] {
	w := &worklist[K]{states: make(map[K]workState), timers: make(map[K]*time.Timer)}
	w.ready = sync.NewCond(&w.mu)
	return w
}

// add makes k ready now.
func (w *worklist[K]) add(k K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(k)
}

// after makes k ready once d has passed, and forgets an earlier after of k.
func (w *worklist[K]) after(k K, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.states[k] == workQueued {
		return
	}
	w.stopTimer(k)
	if d <= 0 {
		w.addLocked(k)
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timers[k] == t {
			w.addLocked(k)
		}
	})
	w.timers[k] = t
}

// cancel forgets an earlier after of k.
func (w *worklist[K]) cancel(k K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopTimer(k)
}

func (w *worklist[K]) addLocked(k K) {
	if w.closed {
		return
	}
	w.stopTimer(k)
	switch w.states[k] {
	case 0:
		w.states[k] = workQueued
		w.items = append(w.items, k)
		w.ready.Signal()
	case workRunning:
		w.states[k] = workAgain
	}
}

func (w *worklist[K]) stopTimer(k K) {
	if t := w.timers[k]; t != nil {
		t.Stop()
		delete(w.timers, k)
	}
}

// get waits for a key. It returns false once the list is closed.
func (w *worklist[K]) get() (K, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.items) == 0 && !w.closed {
		w.ready.Wait()
	}
	var k K
	if w.closed {
		return k, false
	}
	k, w.items = w.items[0], w.items[1:]
	w.states[k] = workRunning
	return k, true
}

// done gives back a key that get returned.
func (w *worklist[K]) done(k K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.states[k] == workAgain
	delete(w.states, k)
	if again {
		w.addLocked(k)
	}
}

// close stops the timers and makes every get return false.
func (w *worklist[K]) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for k := range w.timers {
		w.stopTimer(k)
	}
	w.ready.Broadcast()
}
