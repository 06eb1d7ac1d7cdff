// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// round is a user's message and what follows until the next one. The notes that
// memory put right before the user's message belong to it.
type round struct {
	from, to  int // the messages [from, to)
	exchanges []exchange
}

// layout is how a context is divided. Every message is in exactly one of the parts,
// in this order: the past, the running round.
type layout struct {
	// past are the rounds before the running one, oldest first. The first may be
	// one without a user's message: what stands in for older rounds, and what came
	// before anybody said anything.
	past []round
	// running is the last user message with those of the same turn and all that
	// follows: the whole context when no user said anything.
	running round
	kept    map[int]bool // notes of the running turn, wherever they stand
}

// layout divides the context as it is now. Any change of it makes a layout
// invalid.
func (c *Context) layout() *layout {
	start := runningFrom(c.messages)
	l := &layout{kept: currentNotes(c.messages, start)}
	l.running = c.round(start, len(c.messages))
	from := 0
	for i := 1; i < start; i++ {
		if !asks(c.messages[i]) {
			continue
		}
		if at := withNotes(c.messages, i, from); at > from {
			l.past = append(l.past, c.round(from, at))
			from = at
		}
	}
	if from < start {
		l.past = append(l.past, c.round(from, start))
	}
	return l
}

func (c *Context) round(from, to int) round {
	return round{from: from, to: to, exchanges: exchanges(c.messages, from, to)}
}

// keeps reports whether message i never leaves: what the system says, and what
// memory put in for the running turn.
func (l *layout) keeps(messages []*schema.Message, i int) bool {
	m := messages[i]
	return l.kept[i] || m.Role == schema.System && !einox.IsNote(m)
}

// asks reports whether m is what a user said: it begins a round.
func asks(m *schema.Message) bool {
	return m.Role == schema.User && !einox.IsNote(m) && !einox.IsRetold(m)
}

// runningFrom returns where the running round begins.
func runningFrom(messages []*schema.Message) int {
	last := len(messages) - 1
	for last >= 0 && !asks(messages[last]) {
		last--
	}
	if last < 0 {
		return 0
	}
	first := last
	if turn := einox.TurnOf(messages[last]); turn != "" {
		for i := last - 1; i >= 0; i-- {
			if asks(messages[i]) && einox.TurnOf(messages[i]) == turn {
				first = i
			}
		}
	}
	return withNotes(messages, first, 0)
}

// withNotes returns where the notes begin that stand right before message i, not
// before from.
func withNotes(messages []*schema.Message, i, from int) int {
	for i > from && (einox.IsRecalled(messages[i-1]) || einox.IsCore(messages[i-1])) {
		i--
	}
	return i
}

// currentNotes returns what memory put in for the turn that begins at start: the
// notes from there on, the last of the core blocks, and the notes that stand right
// after the system's messages, unless one of the same name stands in the turn.
func currentNotes(messages []*schema.Message, start int) map[int]bool {
	kept, names := make(map[int]bool), make(map[string]bool)
	core := -1
	for i, m := range messages {
		switch {
		case einox.IsCore(m):
			core = i
		case i >= start && einox.IsRecalled(m):
			kept[i], names[m.Name] = true, true
		}
	}
	if core >= 0 {
		kept[core] = true
	}
	for i, m := range messages[:start] {
		if einox.IsRecalled(m) && !names[m.Name] {
			kept[i], names[m.Name] = true, true
		} else if m.Role != schema.System && !einox.IsNote(m) {
			break
		}
	}
	return kept
}
