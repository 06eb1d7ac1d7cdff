// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// mostTries is how often a summary is committed while others write to the session.
const mostTries = 1000

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
// is ErrNotFound; a session that others write to without end is ErrConflict.
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

func (s *Service) commit(ctx context.Context, k key, sum Summary) (bool, error) {
	for n := 0; ; n++ {
		st, err := s.cfg.Sessions.Session(ctx, k.partition, k.id)
		switch {
		case err != nil:
			return false, err
		case sum.Upto > st.LastSeq:
			return false, fmt.Errorf("%w: the log ends with message %d", backends.ErrInvalid, st.LastSeq)
		case n == 0: // what is complete now stays so
			if sum.Upto, err = s.complete(ctx, k, st, sum); err != nil {
				return false, err
			}
		}
		switch {
		case st.SummaryUpto == sum.Upto && st.Summary == sum.Text: // by an earlier try whose answer was lost
			return sum.Upto > sum.From, nil
		case st.SummaryUpto != sum.From || sum.Upto <= sum.From:
			return false, nil
		}
		_, err = s.update(ctx, k, store.SessionUpdate{Version: st.Version, Summary: &sum.Text, SummaryUpto: &sum.Upto})
		if !errors.Is(err, backends.ErrConflict) || n == mostTries {
			return err == nil, err
		}
		if err := stepBack(ctx, n); err != nil {
			return false, err
		}
	}
}

// stepBack waits a little after several conflicts, so that many who write to one
// session get on.
func stepBack(ctx context.Context, n int) error {
	if n < 4 {
		return ctx.Err()
	}
	pause := time.NewTimer(time.Duration(rand.Int64N(int64(min(n, 50)) * int64(time.Millisecond))))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-pause.C:
		return nil
	}
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
