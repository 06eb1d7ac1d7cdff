// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeGrace is how long Close waits for what it cancelled.
const closeGrace = time.Second

// Close appends what is recorded, waits for consolidations that are under way,
// and stops the workers. Turns that were not learnt from stay in the log, for the
// next process. When ctx is done first, what is under way is cancelled; turns
// that could not be appended are lost then, and the error names them. A second
// call waits for the first and returns the same. All calls after it return
// [ErrClosed]. Sessions and Backend stay open.
func (m *Memory) Close(ctx context.Context) error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	if !first {
		select {
		case <-m.done:
			return m.closeErr
		case <-ctx.Done():
			return fmt.Errorf("closing working memory: %w", context.Cause(ctx))
		}
	}
	close(m.closing)
	m.due.close()
	m.queue.work.close()
	m.closeErr = m.shutdown(ctx)
	close(m.done)
	return m.closeErr
}

func (m *Memory) shutdown(ctx context.Context) error {
	defer m.cancel()
	_ = m.drainTries(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		m.calls.Wait()
		m.workers.Wait()
	}()
	var late error
	select {
	case <-finished:
	case <-ctx.Done():
		late = fmt.Errorf("closing working memory: what was under way was cancelled: %w", context.Cause(ctx))
		m.cancel()
		select {
		case <-finished:
		case <-time.After(closeGrace):
		}
	}
	// A call that was under way may have recorded one more.
	return errors.Join(late, m.lost(ctx, m.drainTries(ctx)))
}

// drainTries appends what is recorded, with pauses after failures.
func (m *Memory) drainTries(ctx context.Context) error {
	for n := 1; ; n++ {
		err := m.drainAll(ctx)
		if err == nil || n == appendTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.pause(n)):
		}
	}
}

// lost names the turns that are still in the queue, in the error and to OnError.
func (m *Memory) lost(ctx context.Context, cause error) error {
	ids := m.queue.turns()
	if len(ids) == 0 {
		return nil
	}
	err := fmt.Errorf("closing working memory: %d recorded turns were not appended and are lost: %q: %w", len(ids), ids, cause)
	m.report(ctx, StageAppend, err)
	return err
}
