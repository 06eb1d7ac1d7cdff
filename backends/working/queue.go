// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

const (
	// appendTimeout bounds one write of a recorded turn.
	appendTimeout = 30 * time.Second
	// appendTries is after how many failures in a row a turn is reported, and
	// reported again; and how often Close tries.
	appendTries = 3
	// appendPause is the longest pause: until it is over, the turn is nowhere but
	// in this process.
	appendPause = 10 * time.Second
)

// queue holds recorded turns until they are in the log: in the order in which
// they came within each session, and never more than its slots. A turn that
// cannot be appended keeps its place and its slot, so that nothing overtakes it
// and nothing is dropped: with the store away for long, the queue fills up.
type queue struct {
	slots chan struct{}
	work  *worklist[sessionKey]
	locks work.Locks[sessionKey] // one writer a session

	mu    sync.Mutex
	lanes map[sessionKey]*lane
}

// lane is what waits for one session.
type lane struct {
	turns    []*entries
	failures int // of the first turn, in a row
}

func newQueue(size int) *queue {
	return &queue{slots: make(chan struct{}, size), work: newWorklist[sessionKey](), lanes: make(map[sessionKey]*lane)}
}

// push adds a turn for which there is a slot.
func (q *queue) push(e *entries) {
	q.mu.Lock()
	l := q.lanes[e.key]
	if l == nil {
		l = &lane{}
		q.lanes[e.key] = l
	}
	l.turns = append(l.turns, e)
	first := len(l.turns) == 1
	q.mu.Unlock()
	if first { // else a worker is at it, or a pause runs
		q.work.add(e.key)
	}
}

// head returns the first turn of a lane, or nil.
func (q *queue) head(k sessionKey) *entries {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[k]; l != nil {
		return l.turns[0]
	}
	return nil
}

// pop removes the first turn of a lane and frees its slot.
func (q *queue) pop(k sessionKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[k]
	l.failures, l.turns = 0, l.turns[1:]
	if len(l.turns) == 0 {
		delete(q.lanes, k)
	}
	<-q.slots
}

// failed counts a failure of the lane's first turn.
func (q *queue) failed(k sessionKey) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[k]
	if l == nil {
		return 0
	}
	l.failures++
	return l.failures
}

// sessions returns the sessions that have a lane.
func (q *queue) sessions() []sessionKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := make([]sessionKey, 0, len(q.lanes))
	for k := range q.lanes {
		keys = append(keys, k)
	}
	return keys
}

// turns returns the ids of the turns that wait.
func (q *queue) turns() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []string
	for _, l := range q.lanes {
		for _, e := range l.turns {
			ids = append(ids, e.turn)
		}
	}
	return ids
}

// appendWorker appends what is recorded until the queue is closed.
func (m *Memory) appendWorker() {
	for {
		k, ok := m.queue.work.get()
		if !ok {
			return
		}
		m.appendRecorded(k)
		m.queue.work.done(k)
	}
}

// appendRecorded appends the turns of one session, or sees to it that they are
// tried again.
func (m *Memory) appendRecorded(k sessionKey) {
	err := m.drain(m.ctx, k)
	if err == nil || m.ctx.Err() != nil {
		return
	}
	n := m.queue.failed(k)
	if n > 0 && n%appendTries == 0 {
		m.report(m.ctx, StageAppend, fmt.Errorf("%w (%d times; it is kept in memory and tried again)", err, n))
	}
	m.queue.work.after(k, min(m.pause(n), appendPause))
}

// drain appends all turns that wait for a session, in order. The first error
// leaves the rest where it is.
func (m *Memory) drain(ctx context.Context, k sessionKey) error {
	unlock, err := m.queue.locks.Lock(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	return m.drainLocked(ctx, k)
}

func (m *Memory) drainLocked(ctx context.Context, k sessionKey) error {
	for e := m.queue.head(k); e != nil; e = m.queue.head(k) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := m.writeRecorded(ctx, e)
		switch {
		case errors.Is(err, backends.ErrInvalid): // it can never succeed
			m.report(e.ctx, StageAppend, fmt.Errorf("%w: the turn is dropped", err))
		case err != nil:
			return err
		}
		m.queue.pop(k)
	}
	return nil
}

// writeRecorded appends a turn with the values of the context it was recorded
// with, for as long as ctx of who does it lasts.
func (m *Memory) writeRecorded(ctx context.Context, e *entries) error {
	recorded, cancel := context.WithTimeout(e.ctx, appendTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return m.write(recorded, e)
}
