// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// lookBack is how many entries at a time the end of a turn is looked for in.
const lookBack = 100

// write writes one turn to the log and makes it known as not learnt from. It may
// be repeated.
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
		return nil, fmt.Errorf("appending turn %q to session %s: %w", e.turn, e.key, err)
	}
	return s, nil
}

// end sees to it that the log knows that the turn is over. Mostly its last entry
// says so. If that was in the log before, the log has left it as it was, and a
// mark follows it. s is the session after the turn was written; nil: nothing of
// it had to be.
func (m *Memory) end(ctx context.Context, e *entries, s *store.Session) error {
	if s == nil {
		var err error
		s, err = m.cfg.Sessions.Session(ctx, e.key.partition, e.key.id)
		if errors.Is(err, backends.ErrNotFound) {
			s, err = &store.Session{}, nil
		}
		if err != nil {
			return fmt.Errorf("ending turn %q: reading session %s: %w", e.turn, e.key, err)
		}
	}
	last, err := m.lastOf(ctx, e, s)
	switch {
	case err != nil:
		return fmt.Errorf("ending turn %q of session %s: %w", e.turn, e.key, err)
	case last == nil && len(e.log) > 0: // learnt from already
		return nil
	case last == nil:
		_, err = m.put(ctx, e, []store.Entry{e.mark("")})
	case !last.Done:
		_, err = m.put(ctx, e, []store.Entry{e.mark(last.ID)})
	}
	return err
}

// lastOf returns the last entry of the turn among those that were not learnt
// from, or nil.
func (m *Memory) lastOf(ctx context.Context, e *entries, s *store.Session) (*store.Entry, error) {
	limit := 1 // mostly it is the very last
	for upto := s.LastSeq; upto > s.Watermark; limit = lookBack {
		log, err := m.read(ctx, e.key, store.Range{After: s.Watermark, Upto: upto, Limit: limit, Last: true})
		if err != nil || len(log) == 0 {
			return nil, err
		}
		for i := len(log) - 1; i >= 0; i-- {
			if log[i].Turn == e.turn {
				return &log[i], nil
			}
		}
		upto = log[0].Seq - 1
	}
	return nil, nil
}

// mark returns the entry without content that says that nothing follows after the
// turn's entry with the id after; empty: after any. Its id ends in no number, so
// that it is no message's.
func (e *entries) mark(after string) store.Entry {
	if after == "" {
		after = e.turn + "-"
	}
	end := e.entry(after+"done", schema.AssistantMessage("", nil))
	end.Done = true
	return end
}
