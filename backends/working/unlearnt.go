// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
)

// mostUnlearnt is how many messages of one session, and how many sessions, Unlearnt reads.
const mostUnlearnt = 200

// Unlearnt returns what was said to users and assistants of the scope's partition and
// nothing was learnt from yet, in any session and by any process: memories of kind episode
// without an id, for [backends.SearchRequest]'s Beside. Of a longer backlog it returns the
// newest 200 messages of each of the 200 pending sessions that began first, and what
// this process has still to write to the log. It is empty while everything is learnt. open is
// the id of the last turn of the scope's session while it is not done, else "".
func (m *Memory) Unlearnt(ctx context.Context, s backends.Scope) (out []backends.Memory, open string, err error) {
	k, err := m.enterSession(s)
	if err != nil {
		return nil, "", fmt.Errorf("unlearnt turns: %w", err)
	}
	defer m.calls.Leave()
	waiting := m.queue.Waiting() // what leaves the queue meanwhile is in the log
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
		life, err := m.cfg.Sessions.Life(ctx, k.Partition)
		if err != nil {
			return out, open, fmt.Errorf("unlearnt turns of %s: %w", k.Partition, err)
		}
		if store.Alive(e.ctx, k.Partition, life) { // else it is forgotten
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

// episodes returns what users and assistants said in the entries of a session.
func episodes(scope backends.Scope, session string, entries []store.Entry) []backends.Memory {
	var out []backends.Memory
	for i := range entries {
		e := &entries[i]
		if e.Role != schema.User && e.Role != schema.Assistant || einox.IsNote(e.Message.Message) || einox.IsRetold(e.Message.Message) || einox.IsPrivate(e.Message.Message) {
			continue
		}
		text := einox.Text(e.Message.Message)
		if text == "" {
			continue
		}
		m := backends.Memory{Kind: backends.KindEpisode, Text: text, Scope: scope, Observed: e.Time}
		m.Scope.AgentID = e.AgentID
		m.Origin = backends.Origin{Session: session, Turn: e.Turn, MessageIDs: []string{e.ID}, Role: string(e.Role), Speaker: e.Name}
		out = append(out, m)
	}
	return out
}
