// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"fmt"
	"sync"
)

// Calls are the calls under way, so that what they use is closed after the last of
// them. The zero value is ready. It is safe for concurrent use.
type Calls struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when the last call ends after Close
}

// Enter begins a call, which Leave ends, and reports whether it may: not after Close.
func (c *Calls) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.n++
	return true
}

// Leave ends a call.
func (c *Calls) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.closed {
		close(c.idle)
	}
}

// Close refuses further calls and waits for those under way, or until ctx ends: then
// it may be called again.
func (c *Calls) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.closed {
		c.closed, c.idle = true, make(chan struct{})
		if c.n == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	select { // nothing is under way: there is no need to wait, whatever ctx says
	case <-c.idle:
		return nil
	default:
	}
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing: %w", context.Cause(ctx))
	}
}
