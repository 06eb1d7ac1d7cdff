// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package session has the common rules of working memory about a session: the session
// that a scope names, and its complete turns.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Key names a session in a store.
type Key struct {
	Partition backends.Partition
	ID        string
}

// String returns "namespace/kind/id" and the session's id, quoted.
func (k Key) String() string { return fmt.Sprintf("%s %q", k.Partition, k.ID) }

// Tag identifies the session in the marks of its messages, and hides its owner.
func (k Key) Tag() string {
	sum := sha256.Sum256([]byte(k.Partition.String() + "\x00" + k.ID))
	return hex.EncodeToString(sum[:8])
}

// KeyOf returns the session that a scope names, the user's, else the agent's, and the scope
// with its parts trimmed. With an error, ErrInvalid or ErrNoScope, the key belongs to no
// session.
func KeyOf(s backends.Scope) (Key, backends.Scope, error) {
	s, err := s.Normalize()
	if err != nil {
		return Key{}, s, err
	}
	p, err := s.Speaker()
	return Key{Partition: p, ID: s.SessionID}, s, err
}

// Complete returns how many entries of a log come before the first open turn, one that lacks
// its end and has a message less than openFor old. The duration wait is how long that turn
// stays open.
func Complete(entries []store.Entry, now time.Time, openFor time.Duration) (n int, wait time.Duration) {
	done := make(map[string]bool)
	last := make(map[string]time.Time)
	for i := range entries {
		e := &entries[i]
		done[e.Turn] = done[e.Turn] || e.Done
		if e.Time.After(last[e.Turn]) {
			last[e.Turn] = e.Time
		}
	}
	for i := range entries {
		turn := entries[i].Turn
		if left := last[turn].Add(openFor).Sub(now); !done[turn] && left > 0 {
			return i, left
		}
	}
	return len(entries), 0
}
