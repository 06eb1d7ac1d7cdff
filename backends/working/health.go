// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends/store"
)

// Health is how learning goes in all sessions of a store, whichever process learns.
type Health struct {
	Sessions int       `json:"sessions"`        // with messages that were not learnt from
	Messages int64     `json:"messages"`        // how many those are
	Oldest   time.Time `json:"oldest,omitzero"` // when the oldest of them was said; zero: there is none

	Failing   int       `json:"failing"`              // sessions whose last try failed and is repeated
	Since     time.Time `json:"since,omitzero"`       // when the first of those began to fail; zero: there is none
	LastError string    `json:"last_error,omitempty"` // why its last try failed

	Parked int `json:"parked"` // ranges of messages among the failures, see RetryFailures
}

// Health is [ReadHealth] of Config.Sessions. It also works on a closed Memory.
func (m *Memory) Health(ctx context.Context) (*Health, error) { return ReadHealth(ctx, m.cfg.Sessions) }

// ReadHealth reads how learning goes from the state of all sessions, with a read of the
// log for each of those that wait. What an endpoint asks for often
// should have a deadline: what was counted until an error, or until ctx ended, is
// returned beside it, and is a lower bound.
func ReadHealth(ctx context.Context, sessions store.Sessions) (*Health, error) {
	h := &Health{}
	err := eachSession(ctx, sessions, false, func(s *store.Session) error {
		if h.Parked += len(s.Failures); !s.Pending() {
			return nil
		}
		h.waiting(s)
		first, err := sessions.Read(ctx, s.Partition, s.ID, store.Range{After: s.Watermark, Limit: 1})
		if len(first) > 0 && (h.Oldest.IsZero() || first[0].Time.Before(h.Oldest)) {
			h.Oldest = first[0].Time
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("health: %w", err)
	}
	return h, err
}

// waiting counts a session with messages that were not learnt from.
func (h *Health) waiting(s *store.Session) {
	h.Sessions++
	h.Messages += s.LastSeq - s.Watermark
	since := s.Retry.Since
	if since.IsZero() || s.Retry.Upto <= s.Watermark { // what failed is behind
		return
	}
	h.Failing++
	if h.Since.IsZero() || since.Before(h.Since) {
		h.Since, h.LastError = since, s.Retry.Reason
	}
}

// eachSession calls do with the sessions of all partitions, or those with messages that
// were not learnt from, until it returns an error.
func eachSession(ctx context.Context, sessions store.Sessions, pending bool, do func(*store.Session) error) error {
	return store.Each(func(page store.Page) (*store.SessionPage, error) {
		page.Limit = sweepPage
		found, err := sessions.List(ctx, store.SessionQuery{Pending: pending, Page: page})
		if err != nil {
			err = fmt.Errorf("listing sessions: %w", err)
		}
		return found, err
	}, func(s store.Session) error { return do(&s) })
}
