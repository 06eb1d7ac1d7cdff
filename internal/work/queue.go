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

// QueueConfig configures a [Queue].
type QueueConfig[K comparable, V any] struct {
	Size    int // values that may wait; at least 1
	Workers int // keys that are handled at the same time; at least 1
	Batch   int // values of a key that are handed over at once; 0 is 1

	// Handle works on the oldest values of a key. failures is how often they failed
	// before. After an error they keep their place, and are tried again after
	// Pause(failures+1); a panic is an error. Handle reports values that can never succeed
	// itself, and returns nil.
	Handle func(ctx context.Context, k K, values []V, failures int) error
	// Pause is how long to wait after so many failures in a row.
	Pause func(failures int) time.Duration
}

// Queue hands values to a handler in the background: in order within a key, and several
// keys at a time. It holds at most as many values as its size. It is safe for concurrent
// use. It stops with its [Service]: then waiting values stay, and the methods but Push go on.
type Queue[K comparable, V any] struct {
	cfg   QueueConfig[K, V]
	stage string // names the work in errors
	life  *Service
	slots chan struct{}
	list  *List[K]

	mu      sync.Mutex
	waiting map[K]*backlog[V]
}

// backlog has the values that wait under one key.
type backlog[V any] struct {
	values   []V
	failures int // of the first values, in a row
}

// NewQueue returns a queue at work, whose workers belong to life. The stage names their work in
// errors.
func NewQueue[K comparable, V any](life *Service, stage string, cfg QueueConfig[K, V]) *Queue[K, V] {
	q := &Queue[K, V]{cfg: cfg, stage: stage, life: life, slots: make(chan struct{}, cfg.Size), waiting: make(map[K]*backlog[V])}
	q.list = NewList(life, stage, cfg.Workers, q.work)
	return q
}

// Push takes a value. It returns at once unless the queue is full: then it waits for room
// until ctx ends. Once the service stops it returns the service's error.
func (q *Queue[K, V]) Push(ctx context.Context, k K, v V) error {
	leave, err := q.life.Enter()
	if err != nil {
		return err
	}
	defer leave()
	select {
	case q.slots <- struct{}{}: // even if ctx is done
	default:
		select {
		case q.slots <- struct{}{}:
		case <-q.life.open.Done():
			return q.life.closed
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

func (q *Queue[K, V]) work(ctx context.Context, k K) error {
	if err := q.drain(ctx, k); err != nil && ctx.Err() == nil {
		_, failures := q.first(k)
		q.list.AddAfter(k, q.cfg.Pause(max(1, failures))) // 0 when a Flush was faster
	}
	return nil
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
		if err := Catch(q.stage, func() error { return q.cfg.Handle(ctx, k, values, failures) }); err != nil {
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
// with [NewList]. It is safe for concurrent use. It stops with its [Service], and forgets the
// keys that wait then.
type List[K comparable] struct {
	life  *Service
	stage string
	do    func(context.Context, K) error
	most  int // workers
	locks Locks[K]

	mu      sync.Mutex
	timers  map[K]*time.Timer // of the keys that are due later
	due     map[K]bool        // keys that are due and wait for their work
	ready   []K               // the ones that wait for a worker
	workers int
}

// NewList returns an empty list, which calls do for the keys that are due, at most n of
// them at the same time. The workers belong to life; the stage names their work in reports of
// errors and panics.
func NewList[K comparable](life *Service, stage string, n int, do func(context.Context, K) error) *List[K] {
	l := &List[K]{life: life, stage: stage, do: do, most: n, timers: make(map[K]*time.Timer), due: make(map[K]bool)}
	life.onStop(l.forget)
	return l
}

// Add makes k due now.
func (l *List[K]) Add(k K) { l.AddAfter(k, 0) }

// AddAfter makes k due once d has passed, and replaces an earlier AddAfter of k. A key
// that is due stays so.
func (l *List[K]) AddAfter(k K, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.open.Err() != nil || l.due[k] {
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

// forget drops all keys. The service takes no work any more.
func (l *List[K]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = nil
	for k := range l.timers {
		l.stop(k)
	}
}

// enter hands a key to a worker, a new one if there may be another. The caller holds mu.
func (l *List[K]) enter(k K) {
	if l.ready = append(l.ready, k); l.workers < l.most && l.life.Go(l.life.running, l.stage, l.run) == nil {
		l.workers++
	}
}

// run works on the keys that wait for a worker.
func (l *List[K]) run(ctx context.Context) error {
	for {
		l.mu.Lock()
		if len(l.ready) == 0 {
			l.workers--
			l.mu.Unlock()
			return nil
		}
		k := l.ready[0]
		l.ready = l.ready[1:]
		l.mu.Unlock()
		if unlock, ok := l.locks.TryLock(k); ok {
			l.work(ctx, k, unlock)
			continue
		}
		// Beside the workers: other keys do not wait for this one.
		_ = l.life.Go(ctx, l.stage, func(context.Context) error { return l.await(k) })
	}
}

// work works on a key that is due, and unlocks it.
func (l *List[K]) work(ctx context.Context, k K, unlock func()) {
	defer unlock()
	l.mu.Lock()
	delete(l.due, k)
	l.mu.Unlock()
	if l.life.open.Err() == nil {
		l.life.try(ctx, l.stage, func(ctx context.Context) error { return l.do(ctx, k) })
	}
}

// await hands a key over again once it is unlocked. Nothing is left to do once the service stops.
func (l *List[K]) await(k K) error {
	free, err := l.locks.Lock(l.life.open, k)
	if err != nil {
		return nil
	}
	free()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(k)
	return nil
}

// stop forgets a key that is due later.
func (l *List[K]) stop(k K) {
	if t := l.timers[k]; t != nil {
		t.Stop()
		delete(l.timers, k)
	}
}
