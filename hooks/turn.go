// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// A turn is what a user says and all that answers it. In a list of messages it
// starts with the user messages behind the last answer, and goes on to the end.

// lastUser returns the index of the last message that a user said, or -1.
func lastUser(messages []*schema.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if said(messages[i]) && messages[i].Role == schema.User {
			return i
		}
	}
	return -1
}

// turnStart returns where the turn starts whose last user message is at user.
func turnStart(messages []*schema.Message, user int) int {
	start := user
	for i := user - 1; i >= 0; i-- {
		switch {
		case !said(messages[i]):
		case messages[i].Role != schema.User || earlier(messages[i], einox.TurnOf(messages[user])):
			return start
		default:
			start = i
		}
	}
	return start
}

// earlier reports whether a user's message was said in a turn before the turn: it
// comes from the log, or is marked as another's.
func earlier(m *schema.Message, turn string) bool {
	return einox.SeqOf(m) > 0 || einox.TurnOf(m) != "" && einox.TurnOf(m) != turn
}

// answered reports whether an assistant or a tool spoke behind the user message.
func answered(messages []*schema.Message, user int) bool {
	for _, m := range messages[user+1:] {
		if said(m) && m.Role != schema.User {
			return true
		}
	}
	return false
}

// said reports whether m is part of the conversation: said by a user, an
// assistant or a tool, and no note, system message, summary or retold transfer.
func said(m *schema.Message) bool {
	if m == nil || einox.IsNote(m) || einox.IsDigest(m) {
		return false
	}
	switch m.Role {
	case schema.User:
		return !einox.IsRetold(m)
	case schema.Assistant, schema.Tool:
		return true
	}
	return false
}

// stamp gives each message of the turn from start on the turn's id and its place
// in it, where it does not have them yet. The slice is the caller's own; messages
// are copied.
func stamp(messages []*schema.Message, start int, id string) {
	next := 0
	for i, m := range messages[start:] {
		if !said(m) {
			continue
		}
		if at, ok := einox.IndexOf(m); ok && einox.TurnOf(m) == id {
			next = at + 1
			continue
		}
		messages[start+i] = einox.MarkIndex(einox.MarkTurn(m, id), next)
		next++
	}
}

// queryOf returns what to search for: what the user said in the turn, joined by
// newlines. Bytes that are not UTF-8 cost themselves, not the search.
func queryOf(turn []*schema.Message) string {
	var texts []string
	for _, m := range turn {
		if !said(m) || m.Role != schema.User {
			continue
		}
		if t := einox.Text(m); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
}
