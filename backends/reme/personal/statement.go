// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// statement is one thing learnt about a person, on its way into the store.
type statement struct {
	memory backends.Memory // without an id
	order  int             // among those of its request, by when they were said
	err    error           // it could not be compared with what is known

	within  *party  // says all that it says
	against []party // cannot hold beside it
	extends []party // says less than it does
}

// party is what a statement relates to: a known memory, or another statement.
type party struct {
	known *backends.Memory // as it was when it was shown
	other *statement
}

func (s *statement) copy() backends.Memory { return s.memory.Clone() }

func (s *statement) textKey() string { return wordsOf(&s.memory) }

// wordsOf is the key of what a memory says, whatever its keywords.
func wordsOf(m *backends.Memory) string { return keeper.TextKey(m.Kind, "", m.Text) }

func (p party) memory() *backends.Memory {
	if p.known != nil {
		return p.known
	}
	return &p.other.memory
}

// since returns from when a memory holds.
func since(m *backends.Memory) time.Time {
	for _, t := range []time.Time{m.Valid, m.Observed} {
		if !t.IsZero() {
			return t
		}
	}
	return m.Created
}
