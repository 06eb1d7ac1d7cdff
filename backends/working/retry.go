// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// patience is how many times as many attempts an unavailable backend gets.
	patience = 10
	// mostFailures is how many failures a session keeps; the newest stay.
	mostFailures = 256
	// mostReason is how much of an error's text is kept, in bytes.
	mostReason = 500
)

// giveUpError says that a stretch of the log was put among the failures.
type giveUpError struct {
	from, upto int64
	attempts   int
	err        error
}

func (e *giveUpError) Error() string {
	return fmt.Sprintf("messages %d to %d could not be learnt from in %d attempts and were put aside (RetryFailures tries again): %v", e.from, e.upto, e.attempts, e.err)
}

func (e *giveUpError) Unwrap() error { return e.err }

// pause returns how long to wait after the n-th failure in a row.
func (m *Memory) pause(n int) time.Duration {
	d := m.cfg.Backoff
	for ; n > 1 && d < m.cfg.MaxBackoff; n-- {
		d *= 2
	}
	d = min(d, m.cfg.MaxBackoff)
	return d/2 + time.Duration(m.cfg.Jitter()*float64(d/2))
}

// pausing returns how long the session waits yet after a failure.
func (m *Memory) pausing(s *store.Session) time.Duration {
	if s.Retry.Upto <= s.Watermark { // what failed is behind
		return 0
	}
	return max(s.Retry.After.Sub(m.cfg.Clock()), 0)
}

// failed decides what follows from a failure of the backend and gives the lease
// back, unless what follows is to go on: nil if the batch was stored after all, a
// *giveUpError if it was put aside, errDivided if a part of it comes next.
func (r *run) failed(ctx context.Context, b *batch, err error) error {
	if errors.Is(err, errLost) || errors.Is(err, errGone) {
		return err
	}
	if ctx.Err() != nil { // the caller gave up: that says nothing about the batch
		return r.abandon(ctx, err)
	}
	r.m.counters.failed.Add(1)
	stored, look := r.look(ctx, b)
	switch {
	case look != nil:
		return r.abandon(ctx, errors.Join(err, look))
	case stored:
		return nil
	}
	retry := r.s.Retry
	retry.InDoubt = r.inDoubt || unclear(err)
	early := r.early && r.m.pausing(r.s) > 0
	if !early || hopeless(err) { // a hurried caller does not use up the attempts
		retry.Attempts++
		retry.After, retry.Reason = r.m.cfg.Clock().Add(r.m.pause(retry.Attempts)), reason(err)
		if hopeless(err) || retry.Attempts >= r.m.attempts(err) {
			return r.exhausted(ctx, b, retry, err)
		}
	}
	return r.later(ctx, retry, err)
}

// look reads the session again after an error that may hide a success: the
// answer of a write can get lost.
func (r *run) look(ctx context.Context, b *batch) (stored bool, err error) {
	s, err := r.m.cfg.Sessions.Session(ctx, r.key.partition, r.key.id)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return false, errGone
	case err != nil:
		return false, fmt.Errorf("reading the session: %w", err)
	case s.Lease.Token != r.token || s.Lease.Owner != r.m.owner:
		return false, errLost
	}
	r.s = s
	return s.Watermark >= b.upto, nil
}

// hopeless reports whether the same call can never succeed.
func hopeless(err error) bool {
	return errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNoScope)
}

func (m *Memory) attempts(err error) int {
	if errors.Is(err, backends.ErrUnavailable) {
		return m.cfg.MaxAttempts * patience
	}
	return m.cfg.MaxAttempts
}

// later gives the lease back until it is time for another try.
func (r *run) later(ctx context.Context, retry store.Retry, err error) error {
	u := store.SessionUpdate{Retry: &retry}
	if r.m.cfg.TTL > 0 { // it must not expire while it waits
		expires := r.m.cfg.Clock().Add(r.m.cfg.TTL)
		u.Expires = &expires
	}
	return errors.Join(err, r.release(ctx, u))
}

// giveUp moves the watermark past a batch and notes it among the failures.
func (r *run) giveUp(ctx context.Context, b *batch, attempts int, err error) error {
	failures := append(r.s.Failures[:len(r.s.Failures):len(r.s.Failures)], store.Failure{
		From: b.from, Upto: b.upto, Attempts: attempts, Reason: reason(err), Time: r.m.cfg.Clock(),
	})
	var forgotten []store.Failure
	if over := len(failures) - mostFailures; over > 0 {
		forgotten, failures = failures[:over], failures[over:]
	}
	if uerr := r.update(ctx, store.SessionUpdate{Watermark: &b.upto, Failures: &failures, Retry: r.rest(b)}); uerr != nil {
		return r.abandon(ctx, errors.Join(err, uerr))
	}
	r.m.counters.givenUp.Add(1)
	for _, f := range forgotten {
		r.m.report(ctx, StageConsolidate, fmt.Errorf("session %s has more than %d failures: messages %d to %d stay in its log, but RetryFailures will not find them any more: %s", r.key, mostFailures, f.From, f.Upto, f.Reason))
	}
	return &giveUpError{from: b.from, upto: b.upto, attempts: attempts, err: err}
}

// reason returns the text of an error, cut to what a session keeps of it.
func reason(err error) string {
	text := err.Error()
	if len(text) > mostReason {
		text = text[:mostReason]
	}
	return strings.ToValidUTF8(text, "")
}
