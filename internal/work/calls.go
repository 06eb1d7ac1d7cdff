// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package work has the common parts of what is configured and runs: defaults of configurations
// ([Default]), the life of what runs in the background ([Service]), queues of work by key, locks by
// key, and panics that become errors.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
)

// Catch calls f, and returns an error for a panic in it. The argument what names f.
func Catch(what string, f func() error) (err error) {
	defer Recover(what, &err)
	return f()
}

// Recover is deferred by a call: it turns a panic, as of a program's function, into the
// call's error.
func Recover(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: panic: %v", what, p)
	}
}

// IDs returns a source of ids: a program's own, or if that is nil backends.NewID, which also
// replaces an empty id.
func IDs(ids backends.IDSource) backends.IDSource {
	return orOwn("Config.IDs", ids, backends.NewID, func(id string) bool { return id != "" })
}

// Clock returns a clock: a program's own, or if that is nil backends.SystemClock.
func Clock(clock backends.Clock) backends.Clock {
	return orOwn("Config.Clock", clock, backends.SystemClock, func(time.Time) bool { return true })
}

// orOwn returns a program's function. If that panics, or returns an unusable value, own
// answers instead: the caller goes on, and the program's log says so.
func orOwn[F ~func() T, T any](what string, theirs, own F, usable func(T) bool) F {
	if theirs == nil {
		return own
	}
	return func() (value T) {
		err := Catch(what, func() error {
			if value = theirs(); !usable(value) {
				return errors.New("it returned an unusable value")
			}
			return nil
		})
		if err != nil {
			slog.Error("memory: a function of the program's failed; its default takes its place", "error", err)
			value = own()
		}
		return value
	}
}

// Each calls f for 0 to n-1, at most so many at the same time, and returns the error of
// each call. A panic in f is an error, see [Catch].
func Each(n, limit int, what string, f func(i int) error) []error {
	var all errgroup.Group
	all.SetLimit(limit)
	errs := make([]error, n)
	for i := range n {
		all.Go(func() error {
			errs[i] = Catch(what, func() error { return f(i) })
			return nil
		})
	}
	_ = all.Wait() // the errors are in errs
	return errs
}

// Await calls f in a goroutine of its own and returns f's result, or ctx's error as soon
// as ctx ends. An f that ignores ctx goes on alone, and its result is dropped. A panic of
// f is an error, see [Catch].
func Await[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1) // buffered, so a late result lets f end
	go func() {
		var r result
		r.err = Catch(what, func() (err error) {
			r.value, err = f()
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Linger returns a context that ends grace after ctx does, so that [Await] still takes the
// answer of a call that heeds ctx. The caller calls the function when the answer is there.
func Linger(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later, func() { stop(); cancel() }
}

// Report logs a failure of memory that has no caller, and passes it to onError, which may
// be nil. A panic of onError is logged.
func Report(ctx context.Context, onError func(ctx context.Context, stage string, err error), stage string, err error) {
	slog.WarnContext(ctx, "memory failed", "stage", stage, "error", err)
	tell(ctx, onError, stage, err)
}

// StageLearnt is the stage of the reports by [Learnt].
const StageLearnt = "model request"

// Learnt is [Report] for a form that a model or an embedder refused, and the form from now on.
// It is no failure.
func Learnt(ctx context.Context, onError func(ctx context.Context, stage string, err error), err error) {
	slog.InfoContext(ctx, "memory learnt how a model is asked", "how", err)
	tell(ctx, onError, StageLearnt, err)
}

func tell(ctx context.Context, onError func(ctx context.Context, stage string, err error), stage string, err error) {
	if onError == nil {
		return
	}
	if err := Catch("OnError", func() error { onError(ctx, stage, err); return nil }); err != nil {
		slog.ErrorContext(ctx, "memory: reporting a failure", "stage", stage, "error", err)
	}
}

// Locks are mutexes by key, whose waiting ends with a context. Unlocked keys cost
// nothing. The zero value is ready.
type Locks[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*lock
}

type lock struct {
	held chan struct{} // holds one value while locked
	refs int           // its holder, and the ones that wait for it
}

// Lock waits for the lock of k. It returns a function that unlocks, or the context's
// error.
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

// Asker is the name under which memory calls models and embedders.
const Asker = "memory"

// Detach returns a context for a model or embedder call that memory makes on its own behalf. It
// drops the handlers of the surrounding agent: they would turn the call's output into an event of
// the agent, or panic once the agent's run is over (trap T3). Global handlers stay. typ names the
// implementation ("OpenAI"), comp the component.
func Detach(ctx context.Context, typ string, comp components.Component) context.Context {
	return callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: Asker, Type: typ, Component: comp})
}

type chargeKey struct{}

// Charging returns a context under which [Charge] calls charge.
func Charging(ctx context.Context, charge func(calls, tokens int)) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// Charge tells the work of ctx how many calls of a model were answered, and their tokens.
func Charge(ctx context.Context, calls, tokens int) {
	if charge, ok := ctx.Value(chargeKey{}).(func(calls, tokens int)); ok {
		charge(calls, tokens)
	}
}

// Default sets an unset field of a configuration to a value. A zero value counts as
// unset; an empty list or map counts as set. Unlike [cmp.Or] it takes functions.
func Default[T any](field *T, value T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = value
	}
}
