// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Summary is what stands in for the beginning of a conversation.
type Summary struct {
	From int64  // Session.SummaryUpto of the summary that this one goes on from; 0: it is the first
	Upto int64  // the last message that it covers
	Text string // Required.
}

// CommitSummary puts a summary in the place of the one that it goes on from, by
// compare-and-swap: messages that are appended meanwhile stay outside of it. It
// waits for no model, and keeps nobody from appending.
//
// A turn that may still go on is not covered: where Upto reaches into or past
// one, the summary is said to end before it, although its text may know more. A
// turn goes on until it is done, or was not heard of for Config.OpenTurn.
//
// False without an error means that nothing was kept: another summary came
// first, or no complete turn is covered. Repeating a call that failed is
// harmless. Messages that the log does not have are ErrInvalid; no such session
// is ErrNotFound.
func (s *Service) CommitSummary(ctx context.Context, scope backends.Scope, sum *Summary) (bool, error) {
	if sum == nil || sum.Text == "" || sum.From < 0 || sum.Upto <= sum.From {
		return false, fmt.Errorf("summary: %w: needs a text, and to end after the one before", backends.ErrInvalid)
	}
	k, err := keyOf(scope)
	if err != nil {
		return false, fmt.Errorf("summary: %w", err)
	}
	ok, err := s.commit(ctx, k, *sum)
	if err != nil {
		return false, fmt.Errorf("summary of session %s up to message %d: %w", k, sum.Upto, err)
	}
	return ok, nil
}

// KeepSummary keeps a text that covers the session from its first message up to
// the one given, unless there is a summary that reaches as far; see
// [Service.CommitSummary], whose errors it returns.
func (s *Service) KeepSummary(ctx context.Context, scope backends.Scope, upto int64, text string) (bool, error) {
	info, err := s.Get(ctx, scope)
	if err != nil || info.SummaryUpto >= upto {
		return false, err
	}
	return s.CommitSummary(ctx, scope, &Summary{From: info.SummaryUpto, Upto: upto, Text: text})
}

func (s *Service) commit(ctx context.Context, k key, sum Summary) (bool, error) {
	st, err := s.cfg.Sessions.Session(ctx, k.partition, k.id)
	switch {
	case err != nil:
		return false, err
	case sum.Upto > st.LastSeq:
		return false, fmt.Errorf("%w: the log ends with message %d", backends.ErrInvalid, st.LastSeq)
	}
	if sum.Upto, err = s.complete(ctx, k, st, sum); err != nil || sum.Upto <= sum.From {
		return false, err
	}
	_, err = s.update(ctx, k, store.SessionUpdate{Summarised: &sum.From, Summary: &sum.Text, SummaryUpto: &sum.Upto})
	if !errors.Is(err, backends.ErrConflict) {
		return err == nil, err
	}
	// Another one came first, or this one did, and the answer was lost.
	if st, err = s.cfg.Sessions.Session(ctx, k.partition, k.id); err != nil {
		return false, err
	}
	return st.SummaryUpto == sum.Upto && st.Summary == sum.Text, nil
}

// complete returns how far the summary reaches before the first turn that may
// still go on.
func (s *Service) complete(ctx context.Context, k key, st *store.Session, sum Summary) (int64, error) {
	type turn struct {
		first int64
		last  time.Time
		done  bool
	}
	turns := make(map[string]*turn)
	err := s.each(ctx, k, sum.From, st.LastSeq, func(e *store.Entry) {
		t := turns[e.Turn]
		if t == nil {
			t = &turn{first: e.Seq}
			turns[e.Turn] = t
		}
		t.done = t.done || e.Done
		if e.Time.After(t.last) {
			t.last = e.Time
		}
	})
	upto, now := sum.Upto, s.cfg.Clock()
	for _, t := range turns {
		if !t.done && now.Before(t.last.Add(s.cfg.OpenTurn)) {
			upto = min(upto, t.first-1)
		}
	}
	return upto, err
}
