// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

// place is where a block's text is for one scope.
type place struct {
	partition backends.Partition
	id        string // of the record
}

// placeOf returns where the scope's text of a block is, and the scope that it
// belongs to. A scope that does not name the owner is ErrNoScope.
//
// No two blocks share an id: a name has no slash, and the session's id, which may
// have any, comes last. The longest has 334 bytes.
func placeOf(b *Block, s backends.Scope) (place, backends.Scope, error) {
	var p backends.Partition
	var err error
	owner := backends.Scope{Namespace: s.Namespace}
	id := "core/" + string(b.Owner) + "/" + b.Name
	switch b.Owner {
	case OwnerAgent:
		owner.AgentID = s.AgentID
		p, err = s.Partition(backends.PartitionAgent)
	case OwnerWorkspace:
		owner.Workspace = s.Workspace
		p, err = s.Partition(backends.PartitionWorkspace)
	case OwnerSession:
		if owner.UserID = s.UserID; s.UserID == "" {
			owner.AgentID = s.AgentID
		}
		owner.SessionID = s.SessionID
		id += "/" + s.SessionID
		if p, err = s.Speaker(); err == nil && s.SessionID == "" {
			err = fmt.Errorf("%w: set Scope.SessionID", backends.ErrNoScope)
		}
	default:
		owner.UserID = s.UserID
		p, err = s.Partition(backends.PartitionUser)
	}
	if err != nil {
		return place{}, owner, fmt.Errorf("block %q belongs to the %s: %w", b.Name, b.Owner, err)
	}
	return place{p, id}, owner, nil
}

// named returns the scope trimmed, or ErrNoScope for one that can own nothing.
func named(s backends.Scope) (backends.Scope, error) {
	s, err := s.Normalize()
	if err != nil {
		return s, err
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		return s, fmt.Errorf("%w: set UserID, AgentID or Workspace of the scope", backends.ErrNoScope)
	}
	return s, nil
}
