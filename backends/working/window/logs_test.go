// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/transcript"
)

// logOf returns entries of a session's log, of ten tokens each. They are written as
// "turn-index user text", "turn-index assistant text", "turn-index call id,id" or
// "turn-index tool id"; with a ! behind the index the turn is done.
func logOf(lines ...string) []store.Entry {
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

// interleaved makes a log up: turns with tools in parallel, interrupted, resumed after others
// began, appended out of order, with marks of their ends.
func interleaved(src transcript.Source) (log []store.Entry) {
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
