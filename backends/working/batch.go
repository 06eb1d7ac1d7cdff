// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// batchMessages is the most messages that one call of the backend gets.
const batchMessages = 200

// mostEntries is how many entries a read of the log can return at most.
const mostEntries = 10_000

// batch is a stretch of the log that is learnt from in one call. Its entries are
// of one agent.
type batch struct {
	from, upto int64 // sequence numbers, both included
	entries    []store.Entry
}

func newBatch(entries []store.Entry) *batch {
	return &batch{from: entries[0].Seq, upto: entries[len(entries)-1].Seq, entries: entries}
}

// scope returns on whose behalf the batch is learnt from. The session's own scope
// names the agent that began it; the batch may be of another one. In the
// partition of an agent there is no other.
func (b *batch) scope(s *store.Session) backends.Scope {
	scope := s.Scope
	if s.Partition.Kind != backends.PartitionAgent {
		scope.AgentID = b.entries[0].AgentID
	}
	return scope
}

// messages returns what was said in entries: all but those that only mark the
// end of a turn.
func messages(entries []store.Entry) []backends.Message {
	out := make([]backends.Message, 0, len(entries))
	for i := range entries {
		if e := &entries[i]; e.Message.Message != nil && !empty(e.Message.Message) {
			out = append(out, e.Message)
		}
	}
	return out
}

// next reads the stretch of the log that is to be learnt from now. Without one,
// wait says how long until an open turn counts as complete; 0: there is none.
func (m *Memory) next(ctx context.Context, k sessionKey, s *store.Session) (b *batch, wait time.Duration, err error) {
	upto := s.Retry.Upto // begun before: the same stretch again
	if upto <= s.Watermark {
		upto = s.Retry.Whole // or the rest of one that was divided
	}
	if upto > s.Watermark {
		b, err := m.stretch(ctx, k, s.Watermark+1, upto)
		if b != nil || err != nil {
			return b, 0, err
		}
	}
	for limit := 2 * batchMessages; ; limit *= 4 {
		limit = min(limit, mostEntries)
		entries, err := m.read(ctx, k, store.Range{After: s.Watermark, Limit: limit})
		if err != nil || len(entries) == 0 {
			return nil, 0, err
		}
		n, wait := complete(entries, m.cfg.Clock(), m.cfg.OpenTurn, m.openTurns(k))
		if n == 0 && len(entries) == mostEntries {
			n = len(entries) // no turn is as long
		}
		if n > 0 {
			return newBatch(entries[:m.size(entries[:n])]), 0, nil
		}
		if len(entries) < limit {
			return nil, wait, nil
		}
	}
}

// stretch reads the messages from one sequence number to another, or nil if there
// are none.
func (m *Memory) stretch(ctx context.Context, k sessionKey, from, upto int64) (*batch, error) {
	entries, err := m.read(ctx, k, store.Range{After: from - 1, Upto: upto, Limit: mostEntries})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return newBatch(entries), nil
}

// overlap reads the messages before a batch, which ground it.
func (m *Memory) overlap(ctx context.Context, k sessionKey, b *batch) ([]backends.Message, error) {
	if m.cfg.Overlap < 0 || b.from <= 1 {
		return nil, nil
	}
	entries, err := m.read(ctx, k, store.Range{Upto: b.from - 1, Limit: m.cfg.Overlap, Last: true})
	return messages(entries), err
}

func (m *Memory) read(ctx context.Context, k sessionKey, r store.Range) ([]store.Entry, error) {
	entries, err := m.cfg.Sessions.Read(ctx, k.partition, k.id, r)
	if err != nil {
		return nil, fmt.Errorf("reading the log after message %d: %w", r.After, err)
	}
	return entries, nil
}

// complete returns how many entries come before the first turn that is still
// open: not done, and heard of less than openFor ago, by the log or by this
// process (heard). If that is none, wait says how long it stays open.
func complete(entries []store.Entry, now time.Time, openFor time.Duration, heard map[string]time.Time) (n int, wait time.Duration) {
	done := make(map[string]bool)
	last := make(map[string]time.Time)
	for i := range entries {
		e := &entries[i]
		done[e.Turn] = done[e.Turn] || e.Done
		if t := last[e.Turn]; e.Time.After(t) {
			last[e.Turn] = e.Time
		}
	}
	for i := range entries {
		turn := entries[i].Turn
		t := last[turn]
		if h := heard[turn]; h.After(t) {
			t = h
		}
		if left := t.Add(openFor).Sub(now); !done[turn] && left > 0 {
			return i, left
		}
	}
	return len(entries), 0
}

// size returns how many of the entries, which are complete turns, make one batch:
// whole turns of one agent within the limits, or else the messages of the first
// turn within the limits, but at least one message.
func (m *Memory) size(entries []store.Entry) int {
	tokens, whole := 0, 0
	turns := make(map[string]bool)
	for i := range entries {
		e := &entries[i]
		if e.AgentID != entries[0].AgentID {
			return i
		}
		if boundary(entries, i) {
			whole = i
		}
		turns[e.Turn] = true
		tokens += m.tokens(e)
		if i > 0 && (i >= batchMessages || tokens > m.cfg.MaxTokens || len(turns) > m.cfg.MaxTurns) {
			if whole > 0 {
				return whole
			}
			return i
		}
	}
	return len(entries)
}

// boundary reports whether a turn ends before entry i, or makes room for another.
func boundary(entries []store.Entry, i int) bool {
	return i > 0 && (entries[i-1].Done || entries[i-1].Turn != entries[i].Turn)
}

func (m *Memory) tokens(e *store.Entry) int {
	if e.Tokens > 0 {
		return e.Tokens
	}
	return m.cfg.Tokens.Message(e.Message.Message)
}
