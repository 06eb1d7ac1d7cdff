// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Window returns a stretch of the log as it was said: for people who read on, and
// back. Entries that only mark the end of a turn are left out, so that there may
// be less than r.Limit; sequence numbers have no gaps otherwise. A session that
// does not exist has none.
func (s *Service) Window(ctx context.Context, scope backends.Scope, r store.Range) ([]store.Entry, error) {
	k, err := keyOf(scope)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	entries, err := s.cfg.Sessions.Read(ctx, k.partition, k.id, r)
	if err != nil {
		return nil, fmt.Errorf("window of session %s: %w", k, err)
	}
	return slices.DeleteFunc(entries, func(e store.Entry) bool { return empty(&e) }), nil
}

// Rename gives the session a title for people, of at most store.MaxTitle runes;
// the empty one takes it away. No such session is ErrNotFound.
func (s *Service) Rename(ctx context.Context, scope backends.Scope, title string) error {
	return s.change(ctx, scope, "renaming", store.SessionUpdate{Title: &title})
}

// Expire ends the session so long from now, with all that belongs to it; 0 is
// never. A log with a time to live of its own moves the end with each message.
// No such session is ErrNotFound.
func (s *Service) Expire(ctx context.Context, scope backends.Scope, ttl time.Duration) error {
	var end time.Time
	switch {
	case ttl < 0:
		return fmt.Errorf("expiring a session: %w: %s is negative: use Delete", backends.ErrInvalid, ttl)
	case ttl > 0:
		end = s.cfg.Clock().Add(ttl)
	}
	return s.change(ctx, scope, "expiring", store.SessionUpdate{Expires: &end})
}

func (s *Service) change(ctx context.Context, scope backends.Scope, what string, u store.SessionUpdate) error {
	k, err := keyOf(scope)
	if err != nil {
		return fmt.Errorf("%s a session: %w", what, err)
	}
	if _, err := s.update(ctx, k, u); err != nil {
		return fmt.Errorf("%s session %s: %w", what, k, err)
	}
	return nil
}

// Delete removes the session: its log, its archives, its interrupted turns. What
// was learnt from it stays. One that does not exist is left so.
func (s *Service) Delete(ctx context.Context, scope backends.Scope) error {
	k, err := keyOf(scope)
	if err != nil {
		return fmt.Errorf("deleting a session: %w", err)
	}
	if err := s.cfg.Sessions.Delete(ctx, k.partition, k.id); err != nil {
		return fmt.Errorf("deleting session %s: %w", k, err)
	}
	return nil
}
