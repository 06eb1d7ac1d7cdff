// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
)

// A group is the calls that share one transaction. It ends when no call waits, and at the
// latest with so many calls, or when they have taken so long (Store.groupTime): a call behind
// a long one waits for one commit more, and an error of COMMIT concerns few.
const (
	groupCalls = 256
	groupTime  = 10 * time.Millisecond
)

// call is one write, which waits for a transaction or runs in one.
type call struct {
	ctx   context.Context
	until time.Time // when it stops waiting for the lock of another process
	run   func(*conn) error
	err   error      // what run returned
	done  chan error // receives the outcome, once
}

// commit runs fn in a transaction and returns when that is on disk. Calls that wait at the
// same time share the transaction: one of them, the leader, takes the connection and runs
// all, each in a savepoint of its own, so that one that fails is rolled back alone. Nobody
// is answered before the COMMIT, whose error is everybody's: also a call that changed
// nothing or was refused has seen what the others wrote.
func (s *Store) commit(ctx context.Context, fn func(*conn) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	me := &call{ctx: ctx, until: backends.SystemClock().Add(s.cfg.BusyTimeout), run: fn, done: make(chan error, 1)}
	s.waiting.add(me)
	ended := ctx.Done()
	for {
		select {
		case err := <-me.done:
			return err
		case <-ended:
			if s.waiting.remove(me) {
				return ctx.Err()
			}
			ended = nil // it is being run: the outcome is soon certain
		case c := <-s.writer:
			err := s.lead(c, me)
			s.writer.put(c)
			if err != nil && s.waiting.remove(me) {
				return err
			}
		}
	}
}

// lead runs a group of those that wait, unless the leader has its outcome already. It
// returns an error if the transaction could not begin: then everybody still waits.
func (s *Store) lead(c *conn, leader *call) error {
	if !s.waiting.holds(leader) {
		return nil
	}
	if err := c.begin(leader.ctx, beginImmediate, leader.until); err != nil {
		return err
	}
	var group []*call
	for end := backends.SystemClock().Add(s.groupTime); len(group) < groupCalls && backends.SystemClock().Before(end); {
		next := s.waiting.first()
		if next == nil {
			break
		}
		if !c.member(next, len(group) > 0) {
			// With the transaction ends what the others did in it: they run again. SQLite may
			// have rolled back itself, and then there is nothing left to do.
			_, _ = c.exec("ROLLBACK")
			s.waiting.add(group...)
			next.done <- next.err
			return nil
		}
		group = append(group, next)
	}
	_, err := c.exec("COMMIT")
	if err != nil {
		_, _ = c.exec("ROLLBACK") // as above
	} else {
		err = s.sameFile() // what went into a file that is gone is not on disk
	}
	for _, m := range group {
		m.done <- cmp.Or(err, m.err)
	}
	return nil
}

// member runs a call in the group's transaction, and keeps its error. It reports whether
// the transaction goes on. The first call needs no savepoint: nothing is lost with it.
func (c *conn) member(m *call, nested bool) bool {
	var lost error
	if m.err = m.ctx.Err(); m.err != nil {
		return true
	}
	if nested {
		if _, m.err = c.exec("SAVEPOINT member"); m.err != nil {
			return false
		}
	}
	if m.err = m.run(c); m.err == nil {
		m.err = m.ctx.Err()
	}
	switch {
	case m.err != nil && !nested:
		lost = m.err
	case m.err != nil:
		_, lost = c.exec("ROLLBACK TO member")
	}
	if nested && lost == nil {
		_, lost = c.exec("RELEASE member")
	}
	if errors.Is(m.err, errUnchanged) {
		m.err = nil
	}
	return lost == nil
}

// queue holds the calls that wait for a transaction, the first in front.
type queue struct {
	mu    sync.Mutex
	calls []*call
}

func (q *queue) add(calls ...*call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, calls...)
}

// first removes and returns the call that has waited longest, nil if none waits.
func (q *queue) first() *call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		return nil
	}
	out := q.calls[0]
	q.calls = q.calls[1:]
	return out
}

func (q *queue) holds(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.calls, c)
}

// remove reports whether the call was still waiting.
func (q *queue) remove(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.calls, c)
	if i < 0 {
		return false
	}
	q.calls = slices.Delete(q.calls, i, i+1)
	return true
}
