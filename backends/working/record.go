// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
)

// Append writes a turn, or a piece of one, to the session's log in one atomic
// write. When it returns nil the turn is durable and will be learnt from, by this
// process or another. Messages that the log holds already are left as they are,
// so that repeating a call is harmless. Turns of the session that were recorded
// before are appended before it.
func (m *Memory) Append(ctx context.Context, t *Turn) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Done()
	e, err := m.entriesOf(ctx, t)
	if err != nil || e == nil {
		return err
	}
	unlock, err := m.queue.locks.Lock(ctx, e.key)
	if err != nil {
		return fmt.Errorf("appending turn %q: waiting for session %s: %w", e.turn, e.key, err)
	}
	defer unlock()
	if err := m.drainLocked(ctx, e.key); err != nil {
		return fmt.Errorf("appending turn %q: an earlier one comes first: %w", e.turn, err)
	}
	return m.write(ctx, e)
}

// Record is [Memory.Append] off the caller's path: the turn is taken, and
// appended soon after those of the same session that were recorded before it.
// Record returns at once unless Config.Queue turns wait already; then it waits
// for room until ctx is done. The turn is checked, redacted and copied before
// Record returns. The values of ctx go with it, its cancellation does not.
//
// A turn that cannot be appended is tried again, with pauses that grow to ten
// seconds, for as long as the Memory is open; after three failures Config.OnError hears of it. A
// process that ends without [Memory.Flush] or [Memory.Close] loses the turns that
// were not appended yet: use Append where that matters more than time.
func (m *Memory) Record(ctx context.Context, t *Turn) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Done()
	e, err := m.entriesOf(ctx, t)
	if err != nil || e == nil {
		return err
	}
	select {
	case m.queue.slots <- struct{}{}: // even if ctx is done
		m.queue.push(e)
		return nil
	default:
	}
	select {
	case m.queue.slots <- struct{}{}:
		m.queue.push(e)
		return nil
	case <-m.closing:
		return fmt.Errorf("recording turn %q: %w", e.turn, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("recording turn %q: the queue of %d turns is full: %w", e.turn, cap(m.queue.slots), context.Cause(ctx))
	}
}
