// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends/store"
)

// Health is the state of learning in all sessions of a store, whichever process learns.
type Health struct {
	Sessions int       `json:"sessions"`        // with messages still to be learnt from
	Messages int64     `json:"messages"`        // the number of these messages
	Oldest   time.Time `json:"oldest,omitzero"` // the time of the oldest of them; zero: all is learnt

	Failing   int       `json:"failing"`              // sessions whose last try failed and will be repeated
	Since     time.Time `json:"since,omitzero"`       // the time when the first of them began to fail; zero: Failing is 0
	LastError string    `json:"last_error,omitempty"` // the error of its last try

	OverBudget int64 `json:"over_budget"` // of Messages, the ones that Config.Budget makes wait for the next day

	Parked int `json:"parked"` // ranges of messages among the failures, see RetryFailures
}

// Health is [ReadHealth] of Config.Sessions. It also works on a closed Memory.
func (m *Memory) Health(ctx context.Context) (*Health, error) { return ReadHealth(ctx, m.cfg.Sessions) }

// ReadHealth reads the state of learning from all sessions, with one read of the log for each
// pending session. An endpoint that is asked often should set a deadline. After an error, or
// when ctx ends, the counts so far are returned beside the error, as lower bounds.
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

// waiting counts a session with messages still to be learnt from.
func (h *Health) waiting(s *store.Session) {
	h.Sessions++
	h.Messages += s.LastSeq - s.Watermark
	if s.Retry.OverBudget && s.Retry.Upto > s.Watermark {
		h.OverBudget += s.LastSeq - s.Watermark
	}
	since := s.Retry.Since
	if since.IsZero() || s.Retry.Reason == "" || s.Retry.Upto <= s.Watermark { // it is queued, or the failed range is behind the watermark
		return
	}
	h.Failing++
	if h.Since.IsZero() || since.Before(h.Since) {
		h.Since, h.LastError = since, s.Retry.Reason
	}
}

// eachSession calls do with the sessions of all partitions, or only with the pending ones, until
// it returns an error.
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
