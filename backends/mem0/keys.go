// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// standsFor is how many messages a fact may name and still stand for them in an
// answer. One that names more sums them up, or could not say which they were.
const standsFor = 4

// source names a turn's message: message ids are unique in their session.
type source struct{ session, message string }

// keysOf returns the keys by which the ranking finds a memory: what it says, for
// a fact the messages that it stands for, and for a link of a chain the ids of
// itself and of those beside it.
func keysOf(m *backends.Memory) []string {
	keys := []string{identityOf(m).key()}
	for _, s := range standIns(m) {
		keys = append(keys, s.key())
	}
	return append(keys, keeper.ChainKeys(m)...)
}

// standIns returns the messages that a memory stands for.
func standIns(m *backends.Memory) []source {
	if m.Kind != backends.KindFact || len(m.Origin.MessageIDs) > standsFor {
		return nil
	}
	sources := make([]source, len(m.Origin.MessageIDs))
	for i, id := range m.Origin.MessageIDs {
		sources[i] = source{m.Origin.Session, id}
	}
	return sources
}

func (k identity) key() string { return keeper.Key("identity", string(k.kind), k.role, k.text) }

func (s source) key() string { return keeper.Key("source", s.session, s.message) }
