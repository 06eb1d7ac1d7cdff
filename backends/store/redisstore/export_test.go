// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import "github.com/einomem/einomem/backends"

// KeysOf returns the keys of a partition, and those of one session in it.
func (s *Store) KeysOf(p backends.Partition, id string) (partition, session []string) {
	k := s.keys(p)
	return k.all(), k.session(id).all()
}

// RegistryKeys returns the keys that are of no partition.
func (s *Store) RegistryKeys(namespace string) []string {
	return []string{s.namespacesKey(), s.partitionsKey(namespace), s.workKey()}
}

// MemberOf returns how the registry names a partition, and ParseMember reads it.
func MemberOf(p backends.Partition) string { return member(p) }

var ParseMember = parseMember
