// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/einomem/einomem/backends"
)

// A group is the calls that share one transaction. It ends when the queue is empty, and
// at the latest after groupCalls calls or groupTime. So a call behind a long one waits
// for at most one commit more, and an error of COMMIT concerns few calls.
const (
	groupCalls = 256
	groupTime  = 10 * time.Millisecond
)

// member is a call that writes, in a group or waiting for one.
type member struct {
	ctx  context.Context
	run  func(*conn) error
	err  error      // what run returned
	done chan error // receives the outcome, once
}

// errLost is the outcome of a call whose transaction ended with another call: it runs again.
var errLost = errors.New("the transaction was lost")

// erase runs fn in a transaction and returns when that is on disk; it may run fn more than once.
// Calls that wait at the same time share the transaction. The call that gets the connection, the
// leader, runs all of them. Each has a savepoint of its own, so a failing call is rolled back
// alone. Every caller is answered after the COMMIT, and gets its error: even a refused call has
// seen the writes of the others.
func (s *Store) erase(ctx context.Context, fn func(*conn) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	me, until, err := &member{ctx: ctx, run: fn, done: make(chan error, 1)}, s.deadline(), ctx.Err()
	if err == nil {
		err = errLost
	}
	for errors.Is(err, errLost) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s.members <- me: // it is being run: the outcome is soon certain
			err = <-me.done
		case c := <-s.writer:
			err = s.lead(c, me, until)
			s.writer <- c
		}
	}
	return err
}

// lead runs the leader's call and the waiting ones, and returns the outcome of the
// leader's.
func (s *Store) lead(c *conn, leader *member, until time.Time) error {
	err := retry(leader.ctx, until, func() error { return c.exec("BEGIN IMMEDIATE") })
	if err != nil {
		return err
	}
	group, end := []*member{leader}, backends.SystemClock().Add(groupTime)
	err = c.purge(s.now(), purgeBatch)
	for i := 0; i < len(group) && err == nil; i++ {
		if err = c.nested(group[i]); err == nil && i < groupCalls && backends.SystemClock().Before(end) {
			group = s.join(group)
		}
	}
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err == nil {
		err = s.sameFile() // writes to a file that is gone are lost
	} else {
		_ = c.exec("ROLLBACK") // if it fails, SQLite has rolled back itself
	}
	for i, m := range group {
		if errors.Is(err, errLost) && i == len(group)-1 {
			err = nil // it has its own
		}
		m.done <- cmp.Or(err, m.err)
	}
	return <-leader.done
}

// join adds a waiting call, if there is one.
func (s *Store) join(group []*member) []*member {
	select {
	case m := <-s.members:
		return append(group, m)
	default:
		return group
	}
}

// nested runs a call in the group's transaction, and keeps its error. It returns errLost if
// the transaction ended with it: SQLite rolls everything back if the disk is full.
func (c *conn) nested(m *member) error {
	if m.err = m.ctx.Err(); m.err != nil {
		return nil //nolint:nilerr // the member has it
	}
	if m.err = c.exec("SAVEPOINT member"); m.err != nil {
		return errLost
	}
	if m.err = m.run(c); m.err == nil {
		m.err = m.ctx.Err()
	}
	if m.err != nil && c.exec("ROLLBACK TO member") != nil {
		return errLost
	}
	if err := c.exec("RELEASE member"); err != nil {
		m.err = err
		return errLost
	}
	return nil
}

// purgeBatch is how many expired sessions a group of writes erases besides its own work.
const purgeBatch = 4

// purge erases expired sessions of all partitions, at most limit of them.
func (c *conn) purge(now time.Time, limit int) error {
	var one int
	found, err := c.row(`SELECT 1 FROM sessions WHERE expires <= ?`, []any{now.UnixMicro()}, &one)
	if err != nil || !found {
		return err
	}
	return c.erase(expired, now.UnixMicro(), limit)
}
