// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import "github.com/cloudwego/eino/schema"

// Span is a part of a list of messages: those from From up to, not including, To.
type Span struct{ From, To int }

// Asks reports whether m is what a user said: it begins a round.
func Asks(m *schema.Message) bool {
	return m != nil && m.Role == schema.User && !IsNote(m) && !IsRetold(m)
}

// Rounds divides messages into rounds, oldest first. A round is a user's message, the
// notes that memory put right before it, and what follows until the next one. The last
// is the running round: the last user message with the others of the same turn, and all
// that follows; the whole list where no user said anything. The first may be what came
// before any user spoke. There is always a running round.
func Rounds(messages []*schema.Message) []Span {
	running := runningFrom(messages)
	var out []Span
	from := 0
	for i := 1; i < running; i++ {
		if !Asks(messages[i]) {
			continue
		}
		if at := withNotes(messages, i, from); at > from {
			out = append(out, Span{from, at})
			from = at
		}
	}
	if from < running {
		out = append(out, Span{from, running})
	}
	return append(out, Span{running, len(messages)})
}

// runningFrom returns where the running round begins.
func runningFrom(messages []*schema.Message) int {
	last := len(messages) - 1
	for last >= 0 && !Asks(messages[last]) {
		last--
	}
	if last < 0 {
		return 0
	}
	first := last
	if turn := TurnOf(messages[last]); turn != "" {
		for i := last - 1; i >= 0; i-- {
			if Asks(messages[i]) && TurnOf(messages[i]) == turn {
				first = i
			}
		}
	}
	return withNotes(messages, first, 0)
}

// withNotes returns where the notes begin that stand right before message i, not before
// from.
func withNotes(messages []*schema.Message, i, from int) int {
	for i > from && (IsRecalled(messages[i-1]) || IsCore(messages[i-1])) {
		i--
	}
	return i
}

// Exchanges divides the messages of a span into what stays together when a context is
// cut: an assistant's message with the results of its calls, or one message of any other
// sort. The messages must be in the order in which [Repair] leaves them.
func Exchanges(messages []*schema.Message, s Span) []Span {
	var out []Span
	for i := s.From; i < s.To; {
		end := i + 1
		if len(messages[i].ToolCalls) > 0 {
			for end < s.To && messages[end].Role == schema.Tool {
				end++
			}
		}
		out = append(out, Span{i, end})
		i = end
	}
	return out
}
