// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import "github.com/cloudwego/eino/schema"

// Shape says what conversations [New] makes. The zero value makes short ones of
// every sort that providers take.
type Shape struct {
	Rounds    int // the most rounds, each of a user's message and what answers it. Defaults to 6.
	Exchanges int // the most exchanges in a round, each of calls and their results. Defaults to 3.
	Calls     int // the most calls in one message. Defaults to 5.
	Tokens    int // about the most tokens of one text. Defaults to 4000.

	// Plain leaves out everything but texts and calls: media, reasoning, notes of
	// memory, core messages.
	Plain bool
	// Broken damages some: calls that nobody answered, at the end and before,
	// results without a call, given twice, or given after something else was said,
	// calls that share an id or have none, messages that are nil, blank, or of a
	// role that nobody knows.
	Broken bool
	// Logged loads some from a session's log: the messages carry their places in
	// it, and an older part of them may have left the context for a stand-in.
	Logged bool
}

func (s *Shape) withDefaults() *Shape {
	var c Shape
	if s != nil {
		c = *s
	}
	for field, fallback := range map[*int]int{&c.Rounds: 6, &c.Exchanges: 3, &c.Calls: 5, &c.Tokens: 4000} {
		if *field <= 0 {
			*field = fallback
		}
	}
	return &c
}

// History is a conversation.
type History struct {
	// Messages is the context as an agent has it, before it calls a model.
	Messages []*schema.Message
	// Log is what the session's log holds, each message with its marks: the one at
	// index i has sequence number i+1. Those of Messages that carry a number are
	// among them. Nil when nothing was logged.
	Log []*schema.Message
}
