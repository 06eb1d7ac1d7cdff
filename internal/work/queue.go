// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrClosed is returned by a [Queue] that was closed.
var ErrClosed = errors.New("the queue is closed")

// QueueConfig configures a [Queue].
type QueueConfig[K comparable, V any] struct {
	Size    int // values that may wait; at least 1
	Workers int // keys that are handled at the same time; at least 1
	Batch   int // values of a key that are handed over at once; 0 is 1

	// Handle works on the oldest values of a key. failures is how often they failed
	// before. After an error they keep their place, and are tried again after
	// Pause(failures+1). Handle reports values that can never succeed itself, and returns
	// nil.
	Handle func(ctx context.Context, k K, values []V, failures int) error
	// Pause is how long to wait after so many failures in a row.
	Pause func(failures int) time.Duration
}

// Queue hands values to a handler in the background: in order within a key, and several
// keys at a time. It holds at most as many values as its size. It is safe for concurrent
// use. Close it: it owns goroutines.
type Queue[K comparable, V any] struct {
	cfg     QueueConfig[K, V]
	ctx     context.Context // of the workers
	cancel  context.CancelFunc
	slots   chan struct{}
	list    *List[K]
	closing chan struct{}
	close   sync.Once

	mu      sync.Mutex
	waiting map[K]*backlog[V]
}

// backlog has the values that wait under one key.
type backlog[V any] struct {
	values   []V
	failures int // of the first values, in a row
}

// NewQueue returns a queue at work. The handler's context has the values of ctx, and
// outlives its cancellation.
func NewQueue[K comparable, V any](ctx context.Context, cfg QueueConfig[K, V]) *Queue[K, V] {
	q := &Queue[K, V]{
		cfg: cfg, slots: make(chan struct{}, cfg.Size),
		closing: make(chan struct{}), waiting: make(map[K]*backlog[V]),
	}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	q.list = NewList(cfg.Workers, q.work)
	return q
}

// Push takes a value. It returns at once unless the queue is full: then it waits for room
// until ctx ends. After Close it returns [ErrClosed].
func (q *Queue[K, V]) Push(ctx context.Context, k K, v V) error {
	select {
	case <-q.closing:
		return ErrClosed
	default:
	}
	select {
	case q.slots <- struct{}{}: // even if ctx is done
	default:
		select {
		case q.slots <- struct{}{}:
		case <-q.closing:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("the queue of %d is full: %w", cap(q.slots), context.Cause(ctx))
		}
	}
	q.add(k, v)
	return nil
}

// Do handles the values under k, and then calls f, while no handler of k runs. An error
// of a value comes first, and f is skipped.
func (q *Queue[K, V]) Do(ctx context.Context, k K, f func() error) error {
	unlock, err := q.list.Lock(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	if err := q.drain(ctx, k); err != nil {
		return fmt.Errorf("what was queued before comes first: %w", err)
	}
	return f()
}

// Flush handles all waiting values, and returns the failures; their values stay.
func (q *Queue[K, V]) Flush(ctx context.Context) error {
	q.mu.Lock()
	keys := slices.Collect(maps.Keys(q.waiting))
	q.mu.Unlock()
	var errs []error
	for _, k := range keys {
		unlock, err := q.list.Lock(ctx, k)
		if err == nil {
			err = q.drain(ctx, k)
			unlock()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Waiting returns the values that wait for a handler, the values of a key in their order.
func (q *Queue[K, V]) Waiting() []V {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []V
	for _, b := range q.waiting {
		out = append(out, b.values...)
	}
	return out
}

// Stop refuses new values and ends the workers after their present work. If ctx ends
// first, it cancels the work, and waits at most grace for it. Waiting values stay;
// [Queue.Flush] may be called after Stop.
func (q *Queue[K, V]) Stop(ctx context.Context, grace time.Duration) error {
	q.close.Do(func() {
		close(q.closing)
		q.list.Close()
	})
	done := make(chan struct{})
	go func() { defer close(done); q.list.Wait() }()
	select {
	case <-done:
		q.cancel()
		return nil
	case <-ctx.Done():
	}
	q.cancel()
	select {
	case <-done:
	case <-time.After(grace):
	}
	return context.Cause(ctx)
}

func (q *Queue[K, V]) add(k K, v V) {
	q.mu.Lock()
	b := q.waiting[k]
	if b == nil {
		b = &backlog[V]{}
		q.waiting[k] = b
	}
	b.values = append(b.values, v)
	first := len(b.values) == 1
	q.mu.Unlock()
	if first { // else a worker is at it, or a pause runs
		q.list.Add(k)
	}
}

func (q *Queue[K, V]) work(k K) {
	if err := q.drain(q.ctx, k); err != nil && q.ctx.Err() == nil {
		_, failures := q.first(k)
		q.list.AddAfter(k, q.cfg.Pause(max(1, failures))) // 0 when a Flush was faster
	}
}

// drain handles all values under a key, whose lock the caller holds. The first error
// leaves the rest where it is.
func (q *Queue[K, V]) drain(ctx context.Context, k K) error {
	for {
		values, failures := q.first(k)
		if len(values) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := q.cfg.Handle(ctx, k, values, failures); err != nil {
			q.failed(k, ctx.Err() == nil)
			return err
		}
		q.pop(k, len(values))
	}
}

func (q *Queue[K, V]) first(k K) (values []V, failures int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.waiting[k]
	if b == nil {
		return nil, 0
	}
	return slices.Clone(b.values[:min(len(b.values), max(q.cfg.Batch, 1))]), b.failures
}

func (q *Queue[K, V]) pop(k K, n int) {
	q.mu.Lock()
	b := q.waiting[k]
	b.failures, b.values = 0, b.values[n:]
	if len(b.values) == 0 {
		delete(q.waiting, k)
	}
	q.mu.Unlock()
	for range n {
		<-q.slots
	}
}

func (q *Queue[K, V]) failed(k K, counts bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b := q.waiting[k]; b != nil && counts {
		b.failures++
	}
}

// List works on keys as they come due: some keys at the same time, each in one goroutine at a
// time, and once more if it was added meanwhile. Waiting keys take no goroutine. Make one
// with [NewList]. It is safe for concurrent use. Close it: it owns goroutines.
type List[K comparable] struct {
	do      func(K)
	most    int // workers
	locks   Locks[K]
	working sync.WaitGroup // workers, and keys that wait for their lock

	mu      sync.Mutex
	timers  map[K]*time.Timer // of the keys that are due later
	due     map[K]bool        // keys that are due and wait for their work
	ready   []K               // the ones that wait for a worker
	workers int
	closed  bool
}

// NewList returns an empty list, which calls do for the keys that are due, at most n of
// them at the same time.
func NewList[K comparable](n int, do func(K)) *List[K] {
	return &List[K]{do: do, most: n, timers: make(map[K]*time.Timer), due: make(map[K]bool)}
}

// Add makes k due now.
func (l *List[K]) Add(k K) { l.AddAfter(k, 0) }

// AddAfter makes k due once d has passed, and replaces an earlier AddAfter of k. A key
// that is due stays so.
func (l *List[K]) AddAfter(k K, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.due[k] {
		return
	}
	l.stop(k)
	if d <= 0 {
		l.due[k] = true
		l.enter(k)
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.timers[k] == t { // else it was forgotten
			delete(l.timers, k)
			l.due[k] = true
			l.enter(k)
		}
	})
	l.timers[k] = t
}

// Cancel forgets an earlier AddAfter of k.
func (l *List[K]) Cancel(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop(k)
}

// Lock waits until the work on k ends, and keeps k idle until unlock is called. The error
// comes from a context that ends before.
func (l *List[K]) Lock(ctx context.Context, k K) (unlock func(), err error) {
	return l.locks.Lock(ctx, k)
}

// Close forgets all keys, and takes no more. Present work goes on.
func (l *List[K]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.ready = true, nil
	for k := range l.timers {
		l.stop(k)
	}
}

// Wait waits for the work that was going on when the list was closed.
func (l *List[K]) Wait() { l.working.Wait() }

// enter hands a key to a worker, a new one if there may be another. The caller holds mu.
func (l *List[K]) enter(k K) {
	if l.ready = append(l.ready, k); l.workers < l.most {
		l.workers++
		l.working.Add(1)
		go l.run()
	}
}

// run works on the keys that wait for a worker.
func (l *List[K]) run() {
	defer l.working.Done()
	for {
		l.mu.Lock()
		if len(l.ready) == 0 {
			l.workers--
			l.mu.Unlock()
			return
		}
		k := l.ready[0]
		l.ready = l.ready[1:]
		l.mu.Unlock()
		if unlock, ok := l.locks.TryLock(k); ok {
			l.work(k, unlock)
			continue
		}
		l.working.Add(1)
		go l.await(k) // beside the workers: other keys do not wait for this one
	}
}

// work works on a key that is due, and unlocks it.
func (l *List[K]) work(k K, unlock func()) {
	defer unlock()
	l.mu.Lock()
	delete(l.due, k)
	closed := l.closed
	l.mu.Unlock()
	if !closed {
		l.do(k)
	}
}

// await hands a key over again once it is unlocked.
func (l *List[K]) await(k K) {
	defer l.working.Done()
	if free, err := l.locks.Lock(context.Background(), k); err == nil { // this context never ends
		free()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.enter(k)
	}
}

// stop forgets a key that is due later.
func (l *List[K]) stop(k K) {
	if t := l.timers[k]; t != nil {
		t.Stop()
		delete(l.timers, k)
	}
}
