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
		case messages[i].Role != schema.User:
			return start
		default:
			start = i
		}
	}
	return start
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
// assistant or a tool, and no note, system message or retold transfer.
func said(m *schema.Message) bool {
	if m == nil || einox.IsNote(m) {
		return false
	}
	switch m.Role {
	case schema.User:
		return !retold(m.Content)
	case schema.Assistant, schema.Tool:
		return true
	}
	return false
}

// retold recognises what Eino tells one agent about the others' doings, in the
// role of the user (trap T16).
func retold(text string) bool {
	rest, ok := strings.CutPrefix(text, "For context:")
	switch {
	case !ok:
		return false
	case rest == "":
		return true
	}
	rest, ok = strings.CutPrefix(rest, " [")
	if !ok {
		return false
	}
	_, rest, ok = strings.Cut(rest, "] ")
	return ok && (strings.HasPrefix(rest, "said: ") || strings.HasPrefix(rest, "called tool: ") ||
		strings.HasPrefix(rest, "`") && strings.Contains(rest, "` tool returned result: "))
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

// textOf returns the text of a message, whatever form it has.
func textOf(m *schema.Message) string {
	var parts []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	switch {
	case len(m.UserInputMultiContent) > 0:
		for _, p := range m.UserInputMultiContent {
			add(p.Text)
		}
	case len(m.MultiContent) > 0: //nolint:staticcheck // old messages still use it
		for _, p := range m.MultiContent { //nolint:staticcheck // old messages still use it
			add(p.Text)
		}
	default:
		add(m.Content)
	}
	return strings.Join(parts, "\n")
}

// queryOf returns what to search for: what the user said in the turn, joined by
// newlines.
func queryOf(turn []*schema.Message) string {
	var texts []string
	for _, m := range turn {
		if !said(m) || m.Role != schema.User {
			continue
		}
		if t := textOf(m); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}
