// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
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
	for _, id := range []string{m.Supersedes, m.SupersededBy} {
		if id != "" {
			keys = append(keys, chainKey(id), chainKey(m.ID))
		}
	}
	return keys
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

func (k identity) key() string {
	sum := hash("identity", string(k.kind), k.role, k.text)
	return string(sum[:])
}

func (s source) key() string {
	sum := hash("source", s.session, s.message)
	return string(sum[:])
}

func chainKey(id string) string {
	sum := hash("chain", id)
	return string(sum[:])
}

// held returns those of the ids that the partition holds, with their memories.
func (b *Backend) held(ctx context.Context, p backends.Partition, ids []string) (map[string]*backends.Memory, error) {
	byID := make(map[string]*backends.Memory, len(ids))
	if len(ids) == 0 {
		return byID, nil
	}
	found, err := b.ranker.Get(ctx, p, ids...)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	for _, m := range found {
		byID[m.ID] = m
	}
	return byID, nil
}
