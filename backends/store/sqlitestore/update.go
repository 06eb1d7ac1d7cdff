// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := validateUpdate(p, u); err != nil {
		return nil, err
	}
	var out *store.Session
	err := s.write(ctx, fmt.Sprintf("update session %q", u.Session), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
		out, err = c.updateSession(part, u, s.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func validateUpdate(p backends.Partition, u *store.SessionUpdate) error {
	if err := checkNames(p, ""); err != nil {
		return err
	}
	if u == nil {
		return fmt.Errorf("sqlitestore: update: %w: nothing to update", backends.ErrInvalid)
	}
	if err := u.Validate(); err != nil {
		return fmt.Errorf("sqlitestore: update: %w", err)
	}
	return nil
}

// updateSession checks that u holds and carries it out.
func (c *conn) updateSession(part partition, u *store.SessionUpdate, now time.Time) (*store.Session, error) {
	row, err := c.session(part, u.Session, now)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	}
	st, err := plan.Session(u, &row.state, now)
	if err != nil {
		return nil, err
	}
	row.state = *st
	if err := c.saveSession(row, now); err != nil {
		return nil, err
	}
	return &row.state, nil
}
