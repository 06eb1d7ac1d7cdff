// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"time"

	"github.com/einomem/einomem/backends"
)

// Within gives replicas another time to confirm a write.
func Within(d time.Duration, c *Config) *Config {
	c.confirmWithin = d
	return c
}

// KeysOf returns the keys of a partition, those of one session in it, and those of the
// registry that have entries of it.
func (s *Store) KeysOf(p backends.Partition, session string) (partition, ofSession, registry []string) {
	k := s.keys(p)
	registry = []string{s.namespacesKey(), s.partitionsKey(escape(p.Namespace)), s.writtenKey(escape(p.Namespace)), s.workKey()}
	return k.all(), k.session(session).all(), registry
}

// MemberOf returns the name of a partition in the registry, and ParseMember reads it.
func MemberOf(p backends.Partition) string { return member(p) }

var ParseMember = parseMember
