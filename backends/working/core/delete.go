// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// DeleteSession removes what the configured blocks of the scope's session hold, in
// one write, and returns how many there were. Their history still answers. It is for
// the end of a session: blocks of other owners stay.
//
// A scope without a session, or without a user and an agent, is ErrNoScope.
func (b *Blocks) DeleteSession(ctx context.Context, s backends.Scope) (int, error) {
	n, err := b.deleteSession(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("core: deleting the blocks of a session: %w", err)
	}
	return n, nil
}

func (b *Blocks) deleteSession(ctx context.Context, s backends.Scope) (int, error) {
	s, err := named(s)
	if err != nil {
		return 0, err
	}
	p, err := s.Speaker()
	if err == nil && s.SessionID == "" {
		err = fmt.Errorf("%w: set Scope.SessionID", backends.ErrNoScope)
	}
	if err != nil {
		return 0, err
	}
	batch := &store.Batch{}
	for i := range b.config.Blocks {
		if b.config.Blocks[i].Owner != OwnerSession {
			continue
		}
		at, _, err := placeOf(&b.config.Blocks[i], s)
		if err != nil {
			return 0, err
		}
		m := store.Delete(at.id)
		m.Actor = actorCaller
		batch.Mutations = append(batch.Mutations, m)
	}
	if len(batch.Mutations) == 0 {
		return 0, nil
	}
	applied, err := b.config.Records.Apply(ctx, p, batch)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range applied.Results {
		if r.Event == backends.EventDeleted {
			n++
		}
	}
	return n, nil
}
