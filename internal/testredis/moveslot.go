// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// MoveSlot moves a slot with its keys, one by one, from one master to another. It
// calls during, unless nil, when the move has begun and after each key: while some
// keys are here and others there.
func (c *Cluster) MoveSlot(t testing.TB, slot int, from, to *Server, during func()) {
	t.Helper()
	m := &move{
		t: t, slot: slot, to: to, source: from.Client(t), target: to.Client(t),
		during: func() {},
	}
	if during != nil {
		m.during = during
	}
	m.sourceID, m.targetID = m.id(m.source), m.id(m.target)
	m.setSlot(m.target, "importing", m.sourceID)
	m.setSlot(m.source, "migrating", m.targetID)
	m.during()
	for m.moveKey() {
		m.during()
	}
	m.setSlot(m.target, "node", m.targetID) // the target first: else no node owns the slot for a moment
	m.setSlot(m.source, "node", m.targetID)
	for _, s := range c.Servers {
		if s != from && s != to {
			m.setSlot(s.Client(t), "node", m.targetID)
		}
	}
}

// move is a slot on its way.
type move struct {
	t                  testing.TB
	slot               int
	to                 *Server
	source, target     *redis.Client
	sourceID, targetID string
	during             func()
}

func (m *move) id(node *redis.Client) string {
	m.t.Helper()
	id, err := node.ClusterMyID(m.t.Context()).Result()
	if err != nil {
		m.t.Fatalf("move slot %d: %v", m.slot, err)
	}
	return id
}

func (m *move) setSlot(node *redis.Client, state, id string) {
	m.t.Helper()
	if err := node.Do(m.t.Context(), "cluster", "setslot", m.slot, state, id).Err(); err != nil {
		m.t.Fatalf("move slot %d: %s: %v", m.slot, state, err)
	}
}

// moveKey moves one key, and reports whether there was one.
func (m *move) moveKey() bool {
	m.t.Helper()
	ctx := m.t.Context()
	keys, err := m.source.ClusterGetKeysInSlot(ctx, m.slot, 1).Result()
	if err != nil {
		m.t.Fatalf("move slot %d: %v", m.slot, err)
	}
	if len(keys) == 0 {
		return false
	}
	// NOKEY is no error: it expired or was deleted meanwhile.
	err = m.source.Migrate(ctx, "127.0.0.1", strconv.Itoa(m.to.port), keys[0], 0, patience).Err()
	if err != nil {
		m.t.Fatalf("move slot %d: %s: %v", m.slot, keys[0], err)
	}
	return true
}
