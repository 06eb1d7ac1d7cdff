// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

const (
	// appendTimeout bounds one write of a recorded turn.
	appendTimeout = 30 * time.Second
	// appendTries is after how many failures in a row a turn is reported, and reported
	// again; and how often Close tries.
	appendTries = 3
	// appendPause is the longest pause: until it is over, the turn is nowhere but in this
	// process.
	appendPause = 10 * time.Second
)

// Append writes a turn, or a part of one, to the session's log in one atomic write. When
// it returns nil the turn is durable and will be learnt from, by this process or another.
// Messages that the log holds already are left as they are, so that repeating a call is
// harmless. Turns of the session that were recorded before are appended first.
func (m *Memory) Append(ctx context.Context, t *Turn) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Leave()
	e, err := m.entriesOf(ctx, t)
	if err != nil || e == nil {
		return err
	}
	if err := m.queue.Do(ctx, e.key, func() error { return m.write(ctx, e) }); err != nil {
		return fmt.Errorf("turn %q of session %s: %w", e.turn, e.key, err)
	}
	return nil
}

// Record is [Memory.Append] in the background: the turn is appended soon, after those of
// the same session that were recorded before it. Record returns at once unless
// Config.Queue turns are pending; then it waits for room until ctx ends. The turn is
// checked, redacted and copied before Record returns. The values of ctx go with it, its
// cancellation does not.
//
// A turn that cannot be appended is retried, with pauses that grow to ten seconds, for as
// long as the Memory is open; Config.OnError gets every third failure. A process that ends
// without [Memory.Flush] or [Memory.Close] loses the turns that were not appended yet: use
// Append where that matters more than time.
func (m *Memory) Record(ctx context.Context, t *Turn) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Leave()
	e, err := m.entriesOf(ctx, t)
	if err != nil || e == nil {
		return err
	}
	err = m.queue.Push(ctx, e.key, e)
	if errors.Is(err, work.ErrClosed) {
		err = ErrClosed
	}
	if err != nil {
		return fmt.Errorf("recording turn %q: %w", e.turn, err)
	}
	return nil
}

// appendRecorded appends a turn of the queue with the values of the context it was
// recorded with, for as long as ctx lasts.
func (m *Memory) appendRecorded(ctx context.Context, k sessionKey, turns []*entries, failures int) error {
	e := turns[0]
	recorded, cancel := context.WithTimeout(e.ctx, appendTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := m.write(recorded, e)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("turn %q of session %s: %w", e.turn, k, err)
	switch {
	case errors.Is(err, backends.ErrInvalid): // it can never succeed
		m.report(e.ctx, StageAppend, fmt.Errorf("%w: the turn is dropped", err))
		return nil
	case (failures+1)%appendTries == 0 && ctx.Err() == nil:
		m.report(e.ctx, StageAppend, fmt.Errorf("%w (%d failures; the turn is kept in memory and retried)", err, failures+1))
	}
	return err
}

// write writes one turn to the log and schedules learning from it. It may be repeated.
func (m *Memory) write(ctx context.Context, e *entries) error {
	var s *store.Session
	var err error
	if len(e.log) > 0 {
		if s, err = m.put(ctx, e, e.log); err != nil {
			return err
		}
	}
	if e.done {
		err = m.end(ctx, e, s)
	}
	if err == nil || s != nil {
		m.appended(e, e.done && err == nil)
	}
	return err
}

func (m *Memory) put(ctx context.Context, e *entries, log []store.Entry) (*store.Session, error) {
	s, err := m.cfg.Sessions.Append(ctx, e.key.partition, e.key.id, &store.Append{Entries: log, Scope: e.scope, TTL: m.cfg.TTL})
	if err != nil {
		return nil, fmt.Errorf("appending to the log: %w", err)
	}
	return s, nil
}

// end ensures that the log has the end of the turn. Usually the turn's last entry marks
// it. If the log had that entry before, it has left it as it was, and another entry with
// the mark follows. s is the session after the turn was written; nil: nothing was.
func (m *Memory) end(ctx context.Context, e *entries, s *store.Session) error {
	if s == nil {
		var err error
		s, err = m.cfg.Sessions.Session(ctx, e.key.partition, e.key.id)
		if errors.Is(err, backends.ErrNotFound) {
			s, err = &store.Session{}, nil
		}
		if err != nil {
			return fmt.Errorf("reading the session: %w", err)
		}
	}
	last, err := m.lastOf(ctx, e, s)
	switch {
	case err != nil:
		return err
	case last == nil && len(e.log) > 0: // learnt from already
		return nil
	case last == nil:
		_, err = m.put(ctx, e, []store.Entry{e.mark("")})
	case !last.Done:
		_, err = m.put(ctx, e, []store.Entry{e.mark(last.ID)})
	}
	return err
}

// lastOf returns the last entry of the turn after the watermark, or nil. Usually it is
// the last of the log.
func (m *Memory) lastOf(ctx context.Context, e *entries, s *store.Session) (*store.Entry, error) {
	for _, limit := range []int{1, mostEntries} {
		log, err := m.read(ctx, e.key, store.Range{After: s.Watermark, Limit: limit, Last: true})
		if err != nil {
			return nil, err
		}
		for i := len(log) - 1; i >= 0; i-- {
			if log[i].Turn == e.turn {
				return &log[i], nil
			}
		}
		if len(log) < limit {
			break
		}
	}
	return nil, nil
}

// mark returns the entry without content that marks the end of the turn, after the entry
// with the id after; empty: after any. Its id does not end in a number, so that it is no
// message's.
func (e *entries) mark(after string) store.Entry {
	if after == "" {
		after = e.turn + "-"
	}
	end := e.entry(after+"done", schema.AssistantMessage("", nil))
	end.Done = true
	return end
}
