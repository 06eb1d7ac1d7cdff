// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Service is the life of all work that one owner starts: calls of a program, goroutines, and
// work in intervals. Work begins until Stop, and goes on until its own end or until Cancel. Make
// one with [NewService]. It is safe for concurrent use. Close it.
type Service struct {
	closed  error
	onError func(ctx context.Context, stage string, err error)

	open    context.Context // ends with Stop
	stop    context.CancelFunc
	running context.Context // ends with Cancel
	cancel  context.CancelFunc

	mu      sync.Mutex
	current *shift
	earlier []*shift // the ones that a Drain waits for
	forget  []func() // drop the work that is still to begin
}

// shift is the work that began between two calls of Drain.
type shift struct {
	underway int
	ended    chan struct{} // closed when an earlier shift is over
	leave    func()        // ends one part of the work
}

// NewService returns a service that takes work. Its contexts have the values of ctx, and outlive
// ctx's cancellation. Work that comes after Stop is refused with the error closed. onError, which
// may be nil, gets the errors and panics of goroutines: see [Report].
func NewService(ctx context.Context, closed error, onError func(ctx context.Context, stage string, err error)) *Service {
	s := &Service{closed: closed, onError: onError}
	s.running, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.open, s.stop = context.WithCancel(s.running)
	s.current = s.newShift()
	return s
}

// Enter begins a call in the caller's goroutine. The caller ends it with leave, once. After Stop
// it returns the service's error.
func (s *Service) Enter() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.Err() != nil {
		return nil, s.closed
	}
	s.current.underway++
	return s.current.leave, nil
}

// Go calls f in a goroutine. The context of f has the values of ctx, and ends with Cancel. The
// program learns of f's error and panic as a failure of the stage; of errors until Cancel. After
// Stop it returns the service's error.
func (s *Service) Go(ctx context.Context, stage string, f func(context.Context) error) error {
	leave, err := s.Enter()
	if err != nil {
		return err
	}
	go func() {
		defer leave()
		ctx, end := s.Within(context.WithoutCancel(ctx))
		defer end()
		s.try(ctx, stage, f)
	}()
	return nil
}

// Every is [Service.Go] for an f that is called at once, and again after each pause until Stop.
func (s *Service) Every(ctx context.Context, stage string, pause time.Duration, f func(context.Context) error) error {
	return s.Go(ctx, stage, func(ctx context.Context) error {
		for {
			s.try(ctx, stage, f)
			select {
			case <-s.open.Done():
				return nil
			case <-time.After(pause):
			}
		}
	})
}

// try calls f, and reports how it fails.
func (s *Service) try(ctx context.Context, stage string, f func(context.Context) error) {
	var err error
	panicked := Catch(stage, func() error { err = f(ctx); return nil })
	switch {
	case panicked != nil:
		Report(ctx, s.onError, stage, panicked)
	case err != nil && s.running.Err() == nil:
		Report(ctx, s.onError, stage, err)
	}
}

// Within returns a context that ends with ctx, or with Cancel. The caller frees it with the
// function.
func (s *Service) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.running, cancel)
	return ctx, func() { stop(); cancel() }
}

// Open returns the context that ends with Stop.
func (s *Service) Open() context.Context { return s.open }

// Running returns the context that ends with Cancel.
func (s *Service) Running() context.Context { return s.running }

// Stop refuses further work. Present work goes on.
func (s *Service) Stop() {
	s.stop()
	s.mu.Lock()
	forget := slices.Clone(s.forget)
	s.mu.Unlock()
	for _, f := range forget {
		f()
	}
}

// Cancel is Stop, and ends the contexts of present work.
func (s *Service) Cancel() {
	s.Stop()
	s.cancel()
}

// Drain waits for the end of all work that began before the call, or returns an error when ctx
// ends first. After Stop that is all work. Work that waits for itself here waits until ctx ends.
func (s *Service) Drain(ctx context.Context) error {
	for _, earlier := range s.change() {
		select {
		case <-earlier.ended:
		case <-ctx.Done():
			return fmt.Errorf("work is still under way: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Close stops the service and waits for its work. If ctx ends first, it cancels the work, waits
// at most grace for it, and returns an error. It may be called again.
func (s *Service) Close(ctx context.Context, grace time.Duration) error {
	s.Stop()
	defer s.cancel()
	err := s.Drain(ctx)
	if err != nil {
		s.cancel()
		ctx, end := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer end()
		_ = s.Drain(ctx) // the first error is the one to report
	}
	return err
}

// change begins a new shift if there is work in the current one, and returns the earlier shifts
// that are under way.
func (s *Service) change() []*shift {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.earlier = slices.DeleteFunc(s.earlier, func(e *shift) bool { return e.underway == 0 })
	if s.current.underway > 0 {
		s.earlier = append(s.earlier, s.current)
		s.current = s.newShift()
	}
	return slices.Clone(s.earlier)
}

func (s *Service) newShift() *shift {
	n := &shift{ended: make(chan struct{})}
	n.leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n.underway--; n.underway == 0 && n != s.current {
			close(n.ended)
		}
	}
	return n
}

// onStop makes Stop call f, which drops the work that is still to begin.
func (s *Service) onStop(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget = append(s.forget, f)
}
