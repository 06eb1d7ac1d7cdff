// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// appendCalls adds calls of one tool and one month to its log, in one write.
func (m *Memory) appendCalls(ctx context.Context, s backends.Scope, p backends.Partition, month string, calls []Call) (*store.Session, error) {
	entries := make([]store.Entry, len(calls))
	for i := range calls {
		c := &calls[i]
		content, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("toolmem: call %s of tool %q: %w: %w", c.ID, c.Tool, backends.ErrInvalid, err)
		}
		message := &schema.Message{Role: schema.Tool, ToolName: c.Tool, Content: string(content)}
		entries[i] = store.Entry{Message: backends.Message{ID: c.ID, Turn: c.ID, Time: c.Time, Message: message}, AgentID: s.AgentID, Done: true, Tokens: max(c.Tokens, 0)}
	}
	tool := calls[0].Tool
	name := logName(tool, month)
	a := &store.Append{Entries: entries, Scope: backends.Scope{Namespace: p.Namespace, Workspace: s.Workspace, SessionID: name}, TTL: m.cfg.Keep, Learnt: true}
	session, err := m.cfg.Sessions.Append(ctx, p, name, a)
	if err != nil {
		return nil, fmt.Errorf("toolmem: storing %d calls of tool %q: %w", len(calls), tool, err)
	}
	return session, nil
}

// history are the calls of a tool that are kept.
type history struct {
	calls []Call           // the newest, oldest first
	seen  map[string]int64 // how many each month has, by month
	total int64

	last   string    // the last month that was looked for
	unread bool      // there are calls that may be of the time asked for beside those read
	edge   time.Time // of the call before which they were recorded
}

// read returns the newest calls of a tool, at most limit and none from before since,
// and how many there are in all.
func (m *Memory) read(ctx context.Context, p backends.Partition, tool string, limit int, since time.Time) (*history, error) {
	all := months(m.cfg.Clock(), m.cfg.Keep)
	h := &history{seen: map[string]int64{}, last: all[0]}
	for _, month := range all {
		name := logName(tool, month)
		session, err := m.cfg.Sessions.Session(ctx, p, name)
		if errors.Is(err, backends.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("toolmem: looking for calls of tool %q: %w", tool, err)
		}
		h.seen[month] = session.LastSeq
		h.total += session.LastSeq
		if !since.IsZero() && month < monthOf(since) {
			continue
		}
		missing := limit - len(h.calls)
		h.unread = h.unread || session.LastSeq > int64(max(missing, 0))
		if missing > 0 {
			if err := m.readMonth(ctx, p, name, store.Range{Upto: session.LastSeq, Limit: missing, Last: true}, h); err != nil {
				return nil, fmt.Errorf("toolmem: reading calls of tool %q: %w", tool, err)
			}
		}
	}
	h.calls = slices.DeleteFunc(h.calls, func(c Call) bool { return c.Time.Before(since) })
	slices.SortStableFunc(h.calls, byTime)
	return h, nil
}

// readMonth adds calls of a month. What is no call, as somebody else's message under
// the name, is left out.
func (m *Memory) readMonth(ctx context.Context, p backends.Partition, name string, r store.Range, h *history) error {
	entries, err := m.cfg.Sessions.Read(ctx, p, name, r)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		h.edge = entries[0].Time
	}
	for i := range entries {
		var c Call
		if json.Unmarshal([]byte(entries[i].Content), &c) == nil {
			h.calls = append(h.calls, c)
		}
	}
	return nil
}

// more reports whether there were calls of the time since then that are not read. Calls
// are recorded about in the order in which they began.
func (h *history) more(since time.Time) bool { return h.unread && !h.edge.Before(since) }

// newest returns the last n calls.
func (h *history) newest(n int) []Call { return h.calls[max(0, len(h.calls)-n):] }
