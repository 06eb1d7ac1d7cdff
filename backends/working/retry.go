// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/text"
)

const (
	// mostBackoff is the longest pause, in multiples of Config.Backoff.
	mostBackoff = 300
	// mostFailures is how many failures a session keeps; the newest stay.
	mostFailures = 256
	// mostReason is how much of an error's text is kept, in bytes.
	mostReason = 500
)

var (
	// errDivided is returned for a range that was divided; its first half may be tried at once.
	errDivided = errors.New("the range was divided")
	// errGivenUp is returned for a range that joined the failures.
	errGivenUp = errors.New("could not be learnt from, and joined the failures (RetryFailures retries them)")
)

// pause returns how long to wait after the n-th failure in a row.
func (m *Memory) pause(n int) time.Duration {
	d := m.cfg.Backoff
	for ; n > 1 && d < mostBackoff*m.cfg.Backoff; n-- {
		d *= 2
	}
	return m.wait(d)
}

// wait returns a random duration between half of d and all of it, within the limits of
// Config.Backoff.
func (m *Memory) wait(d time.Duration) time.Duration {
	d = min(max(d, m.cfg.Backoff), mostBackoff*m.cfg.Backoff)
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}

// failed decides how to go on after a failure of the backend. It releases the lease, unless the
// work continues: it returns nil if the batch was stored after all, errGivenUp if it joined the
// failures, and errDivided if a part of it comes next.
func (r *run) failed(ctx context.Context, b *batch, err error) error {
	if errors.Is(err, errLost) || errors.Is(err, errGone) {
		return err
	}
	if ctx.Err() != nil { // the caller gave up; the batch is not at fault
		return r.abandon(ctx, err)
	}
	stored, look := r.look(ctx, b)
	switch {
	case look != nil:
		return r.abandon(ctx, errors.Join(err, look))
	case stored:
		return nil
	}
	retry := r.s.Retry
	retry.InDoubt = r.inDoubt || fault.Unclear(err)
	if r.early && r.m.pausing(r.s) > 0 && !hopeless(err) { // an early call saves the attempts
		return r.later(ctx, retry, err)
	}
	now := r.m.cfg.Clock()
	if retry.Since.IsZero() {
		retry.Since = now
	}
	retry.Reason = reason(err)
	if outage(err) { // the pause is as long as the outage so far
		retry.After = now.Add(r.m.wait(now.Sub(retry.Since)))
		return r.later(ctx, retry, err)
	}
	retry.Attempts++
	retry.After = now.Add(r.m.pause(retry.Attempts))
	if hopeless(err) || retry.Attempts >= r.m.cfg.maxAttempts {
		return r.divide(ctx, b, retry, err)
	}
	return r.later(ctx, retry, err)
}

// look reads the session again after an error that may hide a success: the answer of a
// write can get lost.
func (r *run) look(ctx context.Context, b *batch) (stored bool, err error) {
	s, err := r.m.cfg.Sessions.Session(ctx, r.key.Partition, r.key.ID)
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

// hopeless reports whether the same call will always fail.
func hopeless(err error) bool {
	return errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNoScope)
}

// outage reports whether the cause of an error is outside the messages: a service is down, or
// refuses the key or the account, or another process was faster.
func outage(err error) bool {
	causes := []error{backends.ErrUnavailable, backends.ErrDimension, backends.ErrConflict, context.DeadlineExceeded, context.Canceled}
	return !hopeless(err) && slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) })
}

// later releases the lease until it is time for another try.
func (r *run) later(ctx context.Context, retry store.Retry, err error) error {
	u := store.SessionUpdate{Retry: &retry}
	if r.m.cfg.TTL > 0 { // the session must live until the next try
		expires := r.m.cfg.Clock().Add(r.m.cfg.TTL)
		u.Expires = &expires
	}
	return errors.Join(err, r.release(ctx, u))
}

// await releases the lease until the backend, which queued the range, is asked again. Until it has
// learnt the range, the range is pending: searches find its words. The pause is as long as the wait
// so far.
func (r *run) await(ctx context.Context) error {
	retry, now := r.s.Retry, r.m.cfg.Clock()
	if retry.Since.IsZero() || retry.Reason != "" { // a failure has a reason
		retry.Since, retry.Reason = now, ""
	}
	retry.After = now.Add(r.m.wait(now.Sub(retry.Since)))
	return r.later(ctx, retry, nil)
}

// postpone releases the lease until there is a new budget for a batch. Looks prolong a session that
// would end before that.
func (r *run) postpone(ctx context.Context, b *batch, over time.Duration) error {
	retry := r.tries(b)
	retry.After, retry.OverBudget = r.m.cfg.Clock().Add(min(over, cmp.Or(r.m.cfg.TTL/2, over))), true
	return r.later(ctx, retry, nil)
}

// divide divides a range that failed too often, so that one turn at fault leaves the others to
// be learnt. The first half is tried next, then the rest, and each is divided again if it fails.
// An indivisible range joins the failures.
//
// So does a range whose try may have succeeded: its parts have other idempotency keys than the
// whole, and would be learnt twice.
func (r *run) divide(ctx context.Context, b *batch, retry store.Retry, err error) error {
	half := b.half()
	if half == 0 || retry.InDoubt {
		return r.giveUp(ctx, b, retry.Attempts, err)
	}
	retry.Whole = max(retry.Whole, b.upto)
	retry.Upto = b.entries[half-1].Seq
	if !hopeless(err) {
		return r.later(ctx, retry, err)
	}
	retry.After = time.Time{} // a pause would be useless
	if uerr := r.update(ctx, store.SessionUpdate{Retry: &retry}); uerr != nil {
		return r.abandon(ctx, errors.Join(err, uerr))
	}
	return errDivided
}

// giveUp moves the watermark past a batch and adds it to the failures.
func (r *run) giveUp(ctx context.Context, b *batch, attempts int, err error) error {
	failures := append(slices.Clone(r.s.Failures), store.Failure{
		From: b.from, Upto: b.upto, Attempts: attempts, Reason: reason(err), Time: r.m.cfg.Clock(),
	})
	over := max(len(failures)-mostFailures, 0)
	forgotten, failures := failures[:over], failures[over:]
	if uerr := r.update(ctx, store.SessionUpdate{Watermark: &b.upto, Failures: &failures, Retry: r.rest(b.upto)}); uerr != nil {
		return r.abandon(ctx, errors.Join(err, uerr))
	}
	for _, f := range forgotten {
		r.m.report(ctx, StageConsolidate, fmt.Errorf("session %s has more than %d failures: messages %d to %d stay in its log, but RetryFailures will not find them any more: %s", r.key, mostFailures, f.From, f.Upto, f.Reason))
	}
	return fmt.Errorf("messages %d to %d %w, after %d attempts: %w", b.from, b.upto, errGivenUp, attempts, err)
}

// reason returns the part of an error that a session keeps.
func reason(err error) string { return text.TruncateBytes(text.Clean(err.Error()), mostReason) }

// RetryFailures offers the failures of sessions to the backend once more, oldest first,
// Config.Workers sessions at a time. If scopes is empty it takes all sessions, also the ones of
// other processes. A range that succeeds leaves the failures. A range that fails stays, and is
// part of the error. The failures are learnt after later messages, so that an outdated fact may
// come back: look at the Failures of the [store.Session] first.
func (m *Memory) RetryFailures(ctx context.Context, scopes ...backends.Scope) error {
	leave, err := m.life.Enter()
	if err != nil {
		return fmt.Errorf("retrying failures: %w", err)
	}
	defer leave()
	ctx, cancel := m.life.Within(ctx)
	defer cancel()
	keys, err := m.withFailures(ctx, scopes)
	if err != nil {
		return fmt.Errorf("retrying failures: %w", err)
	}
	return m.each(keys, func(k session.Key) error {
		if err := m.retryFailures(ctx, k); err != nil && !errors.Is(err, errGone) {
			return fmt.Errorf("retrying failures of session %s: %w", k, err)
		}
		return nil
	})
}

// withFailures returns the sessions that scopes name, or if scopes is empty, all that have
// failures.
func (m *Memory) withFailures(ctx context.Context, scopes []backends.Scope) (keys []session.Key, err error) {
	for _, s := range scopes {
		k, _, err := session.KeyOf(s)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(scopes) > 0 {
		return keys, nil
	}
	err = eachSession(ctx, m.cfg.Sessions, false, func(s *store.Session) error {
		if len(s.Failures) > 0 {
			keys = append(keys, session.Key{Partition: s.Partition, ID: s.ID})
		}
		return nil
	})
	return keys, err
}

func (m *Memory) retryFailures(ctx context.Context, k session.Key) error {
	unlock, err := m.due.Lock(ctx, k)
	if err != nil {
		return fmt.Errorf("waiting for its turn: %w", err)
	}
	defer unlock()
	return whenFree(ctx, func() error {
		r, err := m.acquire(ctx, k)
		if err != nil {
			return err
		}
		return r.retryFailures(ctx)
	})
}

func (r *run) retryFailures(ctx context.Context) error {
	var errs error
	for _, f := range slices.Clone(r.s.Failures) {
		err := r.retryFailure(ctx, f)
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, errLost), errors.Is(err, errGone), outage(err):
			return errors.Join(errs, r.abandon(ctx, err))
		default:
			errs = errors.Join(errs, fmt.Errorf("messages %d to %d: %w", f.From, f.Upto, err))
		}
	}
	return errors.Join(errs, r.release(ctx, store.SessionUpdate{}))
}

// retryFailure offers one range again, unchanged, so that its idempotency key is the same.
func (r *run) retryFailure(ctx context.Context, f store.Failure) error {
	b, err := r.m.between(ctx, r.key, f.From, f.Upto)
	if err == nil && b != nil {
		var before []backends.Message
		if before, err = r.overlap(ctx, b); err == nil {
			_, err = r.offer(ctx, b, before)
		}
	}
	if outage(err) || errors.Is(err, errGone) || ctx.Err() != nil {
		return err
	}
	failures := slices.Clone(r.s.Failures)
	at := slices.IndexFunc(failures, func(g store.Failure) bool { return g.From == f.From })
	if err == nil {
		failures = slices.Delete(failures, at, at+1)
	} else {
		failures[at].Attempts++
		failures[at].Reason, failures[at].Time = reason(err), r.m.cfg.Clock()
	}
	return errors.Join(err, r.update(ctx, store.SessionUpdate{Failures: &failures}))
}
