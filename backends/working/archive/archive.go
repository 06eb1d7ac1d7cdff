// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// ErrDamaged is returned, as a sort of backends.ErrInvalid, for a blob whose bytes
// are not those that [Archive.Put] wrote, or that a newer version wrote. Other
// archives are not affected.
var ErrDamaged = errors.New("damaged")

// Config configures [New]. It is copied.
type Config struct {
	// Sessions holds the logs, and the blobs beside them. Required. It stays the
	// caller's.
	Sessions store.Sessions
	// Redact changes texts before they are stored: contents, text parts, reasoning
	// and arguments of tool calls. It should be the one of working.Config and leave
	// what it made as it is, so that a message is known again that is in the log and
	// in a blob. Must be safe for concurrent use. Optional.
	Redact func(string) string
}

// Archives reaches the archives of all sessions of a store. It holds nothing
// itself, and is safe for concurrent use.
type Archives struct {
	cfg Config
}

// New returns the archives of a store, or ErrInvalid when there is none.
func New(cfg *Config) (*Archives, error) {
	if cfg == nil || cfg.Sessions == nil {
		return nil, fmt.Errorf("archive: %w: Config.Sessions is required", backends.ErrInvalid)
	}
	prepareCodec()
	return &Archives{cfg: *cfg}, nil
}

// Archive is what left the context of one session. It is safe for concurrent use.
type Archive struct {
	cfg       *Config
	partition backends.Partition
	session   string
}

// Of returns the archive of the session that s names, as working.Memory has it:
// the user's, else the agent's. The session need not exist. It returns ErrNoScope
// when s names neither, and ErrInvalid for a part that is not legal.
func (a *Archives) Of(s backends.Scope) (*Archive, error) {
	s, err := s.Normalize()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	p, err := s.Speaker()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return &Archive{cfg: &a.cfg, partition: p, session: s.SessionID}, nil
}

// String names the archive's session.
func (x *Archive) String() string { return fmt.Sprintf("session %s %q", x.partition, x.session) }
