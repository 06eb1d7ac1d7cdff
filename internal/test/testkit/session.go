// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/transcript"
)

// Entries returns the log of a scope's session.
func Entries(t require.TestingT, sessions store.Sessions, s backends.Scope) []store.Entry {
	p := must(s.Speaker())(t)
	var log []store.Entry
	for after := int64(0); ; after = log[len(log)-1].Seq {
		page := must(sessions.Read(context.Background(), p, s.SessionID, store.Range{After: after, Limit: 10_000}))(t)
		if len(page) == 0 {
			return log
		}
		log = append(log, page...)
	}
}

// Logged returns the log of a scope's session, as [Line] shows it, without the marks that
// end turns. It checks that the log is free of memory's own texts.
func Logged(t testing.TB, sessions store.Sessions, s backends.Scope) []string {
	t.Helper()
	var out []string
	log := Entries(t, sessions, s)
	for i := range log {
		m := log[i].Message.Message
		require.Zero(t, einox.MarkOf(m), "no mark is in the log")
		require.NotEqual(t, schema.System, m.Role)
		for _, ours := range []string{"<memories>", "<core_memory>", "log-1", "archive a-", "[Memory:"} {
			require.NotContains(t, m.Content, ours)
		}
		if m.Content != "" || len(m.ToolCalls) > 0 || m.ToolCallID != "" {
			out = append(out, Line(m))
		}
	}
	return out
}

// Turns returns how many turns a scope's session has, and how many of them are done.
func Turns(t testing.TB, sessions store.Sessions, s backends.Scope) [2]int {
	t.Helper()
	ended, done := map[string]bool{}, 0
	log := Entries(t, sessions, s)
	for i := range log {
		ended[log[i].Turn] = ended[log[i].Turn] || log[i].Done
	}
	for _, e := range ended {
		if e {
			done++
		}
	}
	return [2]int{len(ended), done}
}

// Notes counts the notes of searches among messages.
func Notes(messages []*schema.Message) (n int) {
	for _, m := range messages {
		if einox.MarkOf(m).Kind == einox.Note {
			n++
		}
	}
	return n
}

// Shown are the messages that a model was shown, without system messages and notes.
func Shown(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		if m.Role != schema.System && einox.MarkOf(m).Kind != einox.Note {
			out = append(out, Line(m))
		}
	}
	return out
}

// Conversation leaves the messages that were said. It drops system messages, memory's own
// messages, and placeholders for the result of an interrupted call.
func Conversation(messages []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, m := range messages {
		noResult := m.Role == schema.Tool && strings.HasPrefix(m.Content, "[No result")
		if m.Role != schema.System && !einox.IsNote(m) && !noResult {
			out = append(out, m)
		}
	}
	return out
}

// Drawn returns a source of chance that a property test draws, and shrinks.
func Drawn(t *rapid.T) transcript.Source {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}
