// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
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

// Logged returns what a scope's session says, as [Line] shows it, without the marks that
// end turns. It checks that nothing of memory's own is in the log.
func Logged(t testing.TB, sessions store.Sessions, s backends.Scope) []string {
	t.Helper()
	var out []string
	log := Entries(t, sessions, s)
	for i := range log {
		m := log[i].Message.Message
		require.Empty(t, einox.Marks(m), "no mark is in the log")
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
		if einox.IsRecalled(m) {
			n++
		}
	}
	return n
}

// Note is the text of the note of a search among messages, "" for none.
func Note(messages []*schema.Message) string {
	for _, m := range messages {
		if einox.IsRecalled(m) {
			return m.Content
		}
	}
	return ""
}

// Shown is what a model was shown, without system messages and notes.
func Shown(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		if m.Role != schema.System && !einox.IsRecalled(m) {
			out = append(out, Line(m))
		}
	}
	return out
}

// Conversation leaves the messages that were said: no system message, none of memory's
// own, and no placeholder for the result of a call that was interrupted.
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

// Log returns entries of a session's log, of ten tokens each. They are written as
// "turn-index user text", "turn-index assistant text", "turn-index call id,id" or
// "turn-index tool id"; with a ! behind the index the turn is done.
func Log(lines ...string) []store.Entry {
	var entries []store.Entry
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		id, done := strings.CutSuffix(f[0], "!")
		m := &schema.Message{Role: schema.RoleType(f[1]), Content: f[2]}
		switch f[1] {
		case "call":
			m = schema.AssistantMessage("", nil)
			for _, id := range strings.Split(f[2], ",") {
				m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "find", Arguments: "{}"}})
			}
		case "tool":
			m = schema.ToolMessage("result of "+f[2], f[2], schema.WithToolName("find"))
		}
		turn := id[:strings.LastIndex(id, "-")]
		entries = append(entries, store.Entry{Message: backends.Message{ID: id, Turn: turn, Message: m}, Tokens: 10, Done: done, AgentID: "bot"})
	}
	return entries
}

// Drawn returns chance that a property test draws, and shrinks.
func Drawn(t *rapid.T) transcript.Source {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

// Interleaved makes a log up: turns with tools in parallel, interrupted, resumed after others
// began, appended out of order, with marks of their ends.
func Interleaved(src transcript.Source) (log []store.Entry) {
	var turns [][]store.Entry
	for _, m := range transcript.New(src, &transcript.Shape{Rounds: 30, Tokens: 20, Broken: true}).Messages {
		if m == nil || m.Role == schema.System || einox.IsNote(m) {
			continue // not what a log has
		}
		if m.Role == schema.User || len(turns) == 0 {
			turns = append(turns, nil)
		}
		n := len(turns) - 1
		id := fmt.Sprintf("t%d-%d", n, len(turns[n]))
		turns[n] = append(turns[n], store.Entry{Message: backends.Message{ID: id, Turn: fmt.Sprint("t", n), Message: m}, Tokens: 1 + src(60)})
	}
	for len(turns) > 0 {
		turn, at := 0, 0
		if src(8) == 0 {
			turn = src(min(len(turns), 3))
		}
		if src(20) == 0 {
			at = src(len(turns[turn]))
		}
		e := turns[turn][at]
		turns[turn] = slices.Delete(turns[turn], at, at+1)
		log = append(log, e)
		if len(turns[turn]) > 0 {
			continue
		}
		turns = slices.Delete(turns, turn, turn+1)
		mark := store.Entry{Message: backends.Message{ID: e.Turn + "-done", Turn: e.Turn, Message: schema.AssistantMessage("", nil)}, Done: true}
		log = append(log, mark)
	}
	return log
}
