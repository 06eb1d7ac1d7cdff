// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// spoken returns all texts of a message.
func spoken(m *schema.Message) string {
	all := []string{m.Content, m.ReasoningContent}
	for _, part := range einox.Parts(m) {
		all = append(all, part.Text)
	}
	for _, call := range m.ToolCalls {
		all = append(all, call.Function.Arguments)
	}
	return strings.Join(all, "\n")
}

// quoting notes the words and memories to be forgotten. It returns the sessions with answers
// that hold the whole text of one such message or memory. A text that the user repeats
// elsewhere does not count as a quotation.
func (f *forgetting) quoting() (sessions []string) {
	var kept []string
	drop := func() { // drops texts that are too short, or said elsewhere
		f.said.texts = slices.DeleteFunc(f.said.texts, func(s string) bool {
			return len(s) < text.QuoteFrom || slices.ContainsFunc(kept, func(k string) bool { return strings.Contains(k, s) })
		})
	}
	f.logged(func(session string, e *Entry) {
		switch selected := f.said.inSession(session) && f.said.add(session, e); {
		case e.Erased || e.Role != schema.User:
		case selected:
			f.said.texts = append(f.said.texts, text.Fold(spoken(e.Message.Message)))
		default:
			kept = append(kept, text.Fold(spoken(e.Message.Message)))
		}
	})
	drop()
	if f.err != nil {
		return nil
	}
	m, _ := f.selected(f.owner)
	f.gone = m.gone
	for id, r := range m.all {
		if f.gone[id] {
			f.said.texts = append(f.said.texts, text.Fold(r.Text))
		} else if r.Origin.Role == string(schema.User) && r.Origin.Author != backends.AuthorAgent {
			kept = append(kept, text.Fold(r.Text))
		}
	}
	drop()
	if len(f.said.texts) == 0 {
		return nil
	}
	f.logged(func(session string, e *Entry) {
		if f.said.quotes(session, e) && !slices.Contains(sessions, session) {
			sessions = append(sessions, session)
		}
	})
	return sessions
}

// logged calls do for every message of the user.
func (f *forgetting) logged(do func(session string, e *Entry)) {
	f.sessions(f.owner, func(s Session) {
		f.entries(f.owner, s.ID, func(e *Entry) { do(s.ID, e) })
	})
}

// quotes reports whether a message outside the selection is an answer that quotes the selection,
// and notes it. The tool calls of its turn go with it.
func (s *selection) quotes(session string, e *Entry) bool {
	id, turn := source{session, e.ID}, source{session, e.Turn}
	switch {
	case e.Erased || e.Role == schema.User || s.inSession(session) && s.messages[id]:
		return s.messages[id]
	case (len(e.ToolCalls) > 0 || e.ToolCallID != "") && s.quoted[turn]:
	case !text.Quotes(text.Fold(spoken(e.Message.Message)), s.texts):
		return false
	}
	s.messages[id], s.quoted[turn] = true, true
	return true
}

// inSession reports whether a part may be of a session.
func (s *selection) inSession(session string) bool {
	return s.part.Session == nil || *s.part.Session == session
}

// repeats reports whether an agent wrote down words that are to be forgotten.
func (s *selection) repeats(m *backends.Memory) bool {
	return m.Origin.Author == backends.AuthorAgent && text.Quotes(text.Fold(m.Text), s.texts)
}
