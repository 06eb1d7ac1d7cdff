// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Flush returns once every turn that was recorded through this Memory before is
// appended, and every complete one was learnt from. What could not be is in the
// error, session by session: it stays where it is (the queue, the log) and is
// tried again. Turns that are still open stay in the log, which is no error, as
// do stretches that were given up earlier (see [Memory.Failures]).
func (m *Memory) Flush(ctx context.Context) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Done()
	errs := []error{m.drainAll(ctx)}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(m.cfg.Workers)
	for _, k := range m.backlogged() {
		g.Go(func() error {
			_, err := m.consolidate(ctx, k)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// drainAll appends whatever is in the queue now.
func (m *Memory) drainAll(ctx context.Context) error {
	var errs []error
	for _, k := range m.queue.sessions() {
		errs = append(errs, m.drain(ctx, k))
	}
	return errors.Join(errs...)
}
