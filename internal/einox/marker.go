// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"maps"

	"github.com/cloudwego/eino/schema"
)

// What memory writes into schema.Message.Extra. The values are plain strings,
// because Eino's checkpoints encode Extra with gob, which knows a string without
// being told and fails on most other things, and only once a run is interrupted
// (trap T5). Chat models do not send Extra to the provider.
const (
	// MarkerKey is the key under which a message of memory's own says what it is.
	MarkerKey = "_einomem"
	// TurnKey is the key under which a user's message carries its turn's id.
	TurnKey = "_einomem_turn"

	noteMark = "note"
)

// MarkNote marks m as a note that memory injected: it is never persisted and
// never learnt from. It changes m, which must be the caller's own.
func MarkNote(m *schema.Message) {
	extra := maps.Clone(m.Extra)
	if extra == nil {
		extra = make(map[string]any, 1)
	}
	extra[MarkerKey] = noteMark
	m.Extra = extra
}

// IsNote reports whether m is a note that memory injected.
func IsNote(m *schema.Message) bool {
	if m == nil {
		return false
	}
	mark, _ := m.Extra[MarkerKey].(string)
	return mark == noteMark
}

// MarkTurn returns a copy of m that carries the id of its turn. m itself is left
// as it is: it may be the caller's history, or shared by several runs (trap T13).
func MarkTurn(m *schema.Message, turnID string) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	if c.Extra == nil {
		c.Extra = make(map[string]any, 1)
	}
	c.Extra[TurnKey] = turnID
	return &c
}

// TurnOf returns the id of the turn that m carries, or "".
func TurnOf(m *schema.Message) string {
	if m == nil {
		return ""
	}
	id, _ := m.Extra[TurnKey].(string)
	return id
}
