// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
)

const (
	// batchMessages is the most messages that one call of the backend gets.
	batchMessages = 200
	// overlapMessages is how many messages before a batch the backend gets as context.
	overlapMessages = 10
	// mostEntries is how many entries a read of the log can return at most.
	mostEntries = 10_000
)

// batch is a range of the log that is learnt from in one call. Its entries are of one agent.
type batch struct {
	from, upto int64 // sequence numbers, both included
	entries    []store.Entry
}

// newBatch returns a batch of the entries, nil for an empty list.
func newBatch(entries []store.Entry) *batch {
	if len(entries) == 0 {
		return nil
	}
	return &batch{from: entries[0].Seq, upto: entries[len(entries)-1].Seq, entries: entries}
}

// scope returns the scope of the batch's messages. The session's own scope names the agent that
// began it; the batch may be of another one.
func (b *batch) scope(s *store.Session) backends.Scope {
	scope := s.Scope
	scope.AgentID = b.entries[0].AgentID
	return scope
}

// half returns how many entries make the first half of the batch's turns; 0: it is one turn.
func (b *batch) half() int {
	ends := []int{0}
	for i := range b.entries {
		if boundary(b.entries, i) {
			ends = append(ends, i)
		}
	}
	return ends[len(ends)/2]
}

// messages returns the messages of entries. It skips markers of ended turns and private messages;
// the placeholder of a private result stays with its call.
func messages(entries []store.Entry) []backends.Message {
	out := make([]backends.Message, 0, len(entries))
	called := map[string]bool{}
	for i := range entries {
		m := entries[i].Message
		if einox.SaysNothing(m.Message) || einox.MarkOf(m.Message).Private != "" && (m.Role != schema.Tool || !called[m.ToolCallID]) {
			continue
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = true
		}
		out = append(out, m)
	}
	return out
}

// next reads the range of the log that is due now. If there is none, wait is how long until an
// open turn counts as complete; 0: all turns are complete.
func (m *Memory) next(ctx context.Context, k session.Key, s *store.Session) (b *batch, wait time.Duration, err error) {
	upto := s.Retry.Upto // a range that was begun before is tried again
	if upto <= s.Watermark {
		upto = s.Retry.Whole // or the rest of a divided one
	}
	if upto > s.Watermark {
		b, err := m.between(ctx, k, s.Watermark+1, upto)
		return b, 0, err
	}
	for _, limit := range []int{2 * batchMessages, mostEntries} { // a turn may be longer than the first
		entries, err := m.read(ctx, k, store.Range{After: s.Watermark, Limit: limit})
		if err != nil {
			return nil, 0, err
		}
		n, left := session.Complete(entries, m.cfg.Clock(), m.cfg.OpenTurn)
		if n == 0 && len(entries) == mostEntries {
			n = len(entries) // a turn this long is cut
		}
		if wait = left; n > 0 || len(entries) < limit {
			return newBatch(entries[:m.size(entries[:n])]), wait, nil
		}
	}
	return nil, wait, nil
}

// between reads the batch from one sequence number to another, nil for an empty range.
func (m *Memory) between(ctx context.Context, k session.Key, from, upto int64) (*batch, error) {
	entries, err := m.read(ctx, k, store.Range{After: from - 1, Upto: upto, Limit: mostEntries})
	return newBatch(entries), err
}

// overlap reads the messages before a batch, which give it context. It leaves out the failures:
// a model that refused them would refuse the batch with them.
func (r *run) overlap(ctx context.Context, b *batch) ([]backends.Message, error) {
	if b.from <= 1 {
		return nil, nil
	}
	entries, err := r.m.read(ctx, r.key, store.Range{Upto: b.from - 1, Limit: overlapMessages, Last: true})
	entries = slices.DeleteFunc(entries, func(e store.Entry) bool {
		return slices.ContainsFunc(r.s.Failures, func(f store.Failure) bool { return f.From <= e.Seq && e.Seq <= f.Upto })
	})
	return messages(entries), err
}

func (m *Memory) read(ctx context.Context, k session.Key, r store.Range) ([]store.Entry, error) {
	entries, err := m.cfg.Sessions.Read(ctx, k.Partition, k.ID, r)
	if err != nil {
		return nil, fmt.Errorf("reading the log after message %d: %w", r.After, err)
	}
	return entries, nil
}

// size returns how many of the entries, which are complete turns, make one batch: whole turns of
// one agent within the limits. If the first turn exceeds them, the batch is its first messages,
// at least one.
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
		tokens += e.Tokens
		if i > 0 && (i >= batchMessages || tokens > m.cfg.MaxTokens || len(turns) > m.cfg.MaxTurns) {
			if whole > 0 {
				return whole
			}
			return i
		}
	}
	return len(entries)
}

// boundary reports whether a turn ends before entry i, or another interrupts it there.
func boundary(entries []store.Entry, i int) bool {
	return i > 0 && (entries[i-1].Done || entries[i-1].Turn != entries[i].Turn)
}

// mostUnlearnt is how many messages of one session, and how many sessions, Unlearnt reads.
const mostUnlearnt = 200

// Unlearnt returns the messages of users and assistants in the scope's partition that wait for
// learning, in any session and by any process. They are memories of kind episode with an empty
// id, for [backends.SearchRequest]'s Beside. They include the messages that this process has
// still to write to the log. Of a longer backlog it returns the newest 200 messages of each of
// the 200 pending sessions that began first. It is empty while everything is learnt. open is the
// id of the last turn of the scope's session while it is not done, else "".
func (m *Memory) Unlearnt(ctx context.Context, s backends.Scope) (out []backends.Memory, open string, err error) {
	k, leave, err := m.enter(s)
	if err != nil {
		return nil, "", fmt.Errorf("unlearnt turns: %w", err)
	}
	defer leave()
	waiting := m.queue.Waiting() // an entry that leaves the queue meanwhile is in the log
	page, err := m.cfg.Sessions.List(ctx, store.SessionQuery{Partition: &k.Partition, Pending: true, Page: store.Page{Limit: mostUnlearnt}})
	if err != nil {
		return nil, "", fmt.Errorf("unlearnt turns of %s: %w", k.Partition, err)
	}
	add := func(scope backends.Scope, id string, entries []store.Entry) {
		out = append(out, episodes(scope, id, entries)...)
		if n := len(entries); id == k.ID && n > 0 {
			if open = entries[n-1].Turn; entries[n-1].Done {
				open = ""
			}
		}
	}
	for i := range page.Sessions {
		s := &page.Sessions[i]
		pending := session.Key{Partition: s.Partition, ID: s.ID}
		entries, err := m.read(ctx, pending, store.Range{After: s.Watermark, Limit: mostUnlearnt, Last: true})
		if err != nil {
			return out, open, err
		}
		add(s.Scope, s.ID, entries)
	}
	for _, e := range waiting {
		if e.key.Partition != k.Partition {
			continue
		}
		epoch, err := m.cfg.Sessions.Epoch(ctx, k.Partition)
		if err != nil {
			return out, open, fmt.Errorf("unlearnt turns of %s: %w", k.Partition, err)
		}
		if store.Alive(e.ctx, k.Partition, epoch) { // otherwise it is forgotten
			add(e.scope, e.key.ID, e.log)
		}
	}
	known := map[[2]string]bool{}
	return slices.DeleteFunc(out, func(m backends.Memory) bool {
		id := [2]string{m.Origin.Session, m.Origin.MessageIDs[0]}
		again := known[id]
		known[id] = true
		return again
	}), open, nil
}

// episodes returns the words of users and assistants in the entries of a session.
func episodes(scope backends.Scope, session string, entries []store.Entry) []backends.Memory {
	var out []backends.Memory
	for i := range entries {
		e := &entries[i]
		if e.Role != schema.User && e.Role != schema.Assistant || einox.IsNote(e.Message.Message) || einox.IsRetold(e.Message.Message) || einox.MarkOf(e.Message.Message).Private != "" {
			continue
		}
		text := einox.Text(e.Message.Message)
		if text == "" {
			continue
		}
		m := backends.Memory{Kind: backends.KindEpisode, Text: text, Scope: scope, Observed: e.Time}
		m.Scope.AgentID = e.AgentID
		m.Origin = backends.Origin{Session: session, Turn: e.Turn, MessageIDs: []string{e.ID}, Role: string(e.Role), Speaker: backends.SpeakerName(e.Name)}
		out = append(out, m)
	}
	return out
}
