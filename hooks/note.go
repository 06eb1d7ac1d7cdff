// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/bullet"
	"github.com/einomem/einomem/internal/einox"
)

// The fence around the memories of a note. No text of a memory has an angle
// bracket in it (see package bullet), so none can close it.
const (
	fenceOpen  = "<memories>"
	fenceClose = "</memories>"
)

// build returns the note that shows hits, or nil when there is nothing to show.
func (n NoteConfig) build(hits []backends.Hit) *schema.Message {
	bullets := n.bullets(hits)
	if len(bullets) == 0 {
		return nil
	}
	lines := slices.Concat([]string{n.Header, n.Intro, fenceOpen}, bullets, []string{fenceClose})
	m := &schema.Message{Role: n.Role, Name: n.Name, Content: strings.Join(lines, "\n")}
	einox.MarkNote(m)
	return m
}

// bullets returns one line for each memory, best first, as many as the budget
// takes. One that does not fit makes room for a smaller one; the best is cut
// rather than left out.
func (n NoteConfig) bullets(hits []backends.Hit) []string {
	left := n.Tokens - estimateTokens(n.Header+n.Intro+fenceOpen+fenceClose)
	var out []string
	for i := range hits {
		b := bullet.Of(&hits[i].Memory)
		if b == "" {
			continue
		}
		if len(out) == 0 {
			b = cutTokens(b, left-1)
		}
		if size := estimateTokens(b) + 1; b != "" && size <= left {
			out = append(out, b)
			left -= size
		}
	}
	return out
}

// owns reports whether m is a note of this memory; another memory of the same
// agent has another name.
func (n NoteConfig) owns(m *schema.Message) bool { return einox.IsRecalled(m) && m.Name == n.Name }

// place returns messages with the note at its position. user is the index of the
// last user message.
func (n NoteConfig) place(messages []*schema.Message, user int, note *schema.Message) []*schema.Message {
	at := user
	switch n.Position {
	case AfterUser:
		at = user + 1
	case AfterSystem:
		at = 0
		for at < len(messages) && messages[at] != nil && messages[at].Role == schema.System {
			at++
		}
	}
	return slices.Insert(slices.Clone(messages), at, note)
}
