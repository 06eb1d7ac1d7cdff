// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// ErrClosed is returned by every method of a [Memory] that was closed. What was
// appended before is in the log; a new Memory on the same sessions learns from it.
var ErrClosed = errors.New("working memory is closed")

// The stages that Config.OnError is told about.
const (
	StageAppend      = "append"      // a recorded turn could not be written to the log
	StageConsolidate = "consolidate" // a stretch of the log could not be learnt from
	StageSweep       = "sweep"       // the sessions that others left could not be listed
)

// Memory is the log of sessions and what learns from it. Its methods are safe for
// concurrent use. Close it: it owns goroutines.
type Memory struct {
	cfg   Config
	owner string // of leases: one Memory, not one process

	ctx    context.Context // ends when what is under way must end
	cancel context.CancelFunc
	queue  *queue

	due   *worklist[sessionKey]  // sessions to consolidate
	locks work.Locks[sessionKey] // one consolidation a session in this process

	counters counters

	mu       sync.Mutex
	closed   bool
	backlogs map[sessionKey]*backlog

	closing  chan struct{} // closed when Close begins
	done     chan struct{} // closed when Close is over
	closeErr error
	calls    sync.WaitGroup // calls of the methods that are under way
	workers  sync.WaitGroup
}

// sessionKey names a session.
type sessionKey struct {
	partition backends.Partition
	id        string
}

// String returns "namespace/kind/id" and the session's id, quoted.
func (k sessionKey) String() string { return fmt.Sprintf("%s %q", k.partition, k.id) }

// keyOf returns the session that a scope names, and the scope with its parts
// trimmed.
func keyOf(s backends.Scope) (sessionKey, backends.Scope, error) {
	s, err := s.Normalize()
	if err != nil {
		return sessionKey{}, s, err
	}
	p, err := s.Speaker()
	return sessionKey{partition: p, id: s.SessionID}, s, err
}

// New returns a Memory at work: it appends what is recorded, consolidates what it
// appended, and at once looks for sessions that a dead process left. The values
// of ctx go with work that belongs to no call; its cancellation does not.
func New(ctx context.Context, cfg *Config) (*Memory, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Memory{
		cfg: c, owner: c.IDs(), queue: newQueue(c.Queue), due: newWorklist[sessionKey](),
		backlogs: make(map[sessionKey]*backlog), closing: make(chan struct{}), done: make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for range c.Workers {
		m.workers.Go(m.appendWorker)
		m.workers.Go(m.consolidateWorker)
	}
	if c.Sweep > 0 {
		m.workers.Go(m.sweeper)
	}
	return m, nil
}

// enter begins a call, which calls.Done ends, or returns ErrClosed.
func (m *Memory) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.calls.Add(1)
	return nil
}

// bound returns a context that ends with ctx, or when what the Memory has under
// way must end.
func (m *Memory) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// report tells the log and Config.OnError what went wrong where no caller is told.
func (m *Memory) report(ctx context.Context, stage string, err error) {
	slog.WarnContext(ctx, "memory: "+stage+" failed", "err", err)
	m.cfg.OnError(ctx, stage, err)
}
