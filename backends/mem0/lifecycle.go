// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"sync"

	"github.com/einomem/einomem/backends"
)

// lifecycle counts the calls under way, so that Close can wait for them.
type lifecycle struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when the last call ends after close
}

func (l *lifecycle) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("mem0: the backend is closed: %w", backends.ErrUnavailable)
	}
	l.n++
	return nil
}

func (l *lifecycle) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n--; l.n == 0 && l.closed {
		close(l.idle)
	}
}

// close refuses further calls and waits for those under way.
func (l *lifecycle) close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed, l.idle = true, make(chan struct{})
		if l.n == 0 {
			close(l.idle)
		}
	}
	l.mu.Unlock()
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("mem0: closing: %w", ctx.Err())
	}
}
