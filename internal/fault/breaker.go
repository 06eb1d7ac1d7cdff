// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

const (
	firstPause   = time.Second // doubled after each probe that fails,
	longestPause = time.Minute // up to this
)

// ErrOpen is the error of a [Call] that was skipped, because the circuit is open. Its text
// says since when, why, and when the service is probed again.
var ErrOpen = errors.New("the circuit is open")

// Breaker is the circuit breaker of one service, such as an embedder. After some failures
// in a row it opens for a second, then a single call probes the service. Each failed
// probe doubles the pause, up to a minute. A successful call closes the circuit. Make one
// with [NewBreaker]; it is safe for concurrent use.
type Breaker struct {
	service   string
	openAfter int
	clock     func() time.Time

	mu       sync.Mutex
	failures int           // in a row
	pause    time.Duration // 0: the circuit is closed
	since    time.Time     // when it opened
	until    time.Time     // when the next probe is due
	cause    string        // the failure that opened it, or the last probe's
	probing  bool
}

// NewBreaker returns the closed circuit of a service. It opens after so many failures in a
// row: errors that are backends.ErrUnavailable by [Of], except [ErrForm]. A refusal of a
// request leaves the state as it is. The clock must run in real time.
func NewBreaker(service string, openAfter int, clock func() time.Time) *Breaker {
	return &Breaker{service: service, openAfter: openAfter, clock: clock}
}

// Open returns [ErrOpen] with its text while the circuit is open, and whether the next
// [Call] probes the service. While the circuit is closed the error is nil.
func (b *Breaker) Open() (due bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open()
}

func (b *Breaker) open() (due bool, err error) {
	if b.pause == 0 {
		return false, nil
	}
	due = !b.probing && !b.clock().Before(b.until)
	return due, Of(fmt.Errorf("%w: %s: %w since %s, after %d failures in a row: %s; the next probe is from %s on",
		backends.ErrUnavailable, b.service, ErrOpen, b.since.UTC().Format(time.RFC3339), b.failures, b.cause, b.until.UTC().Format(time.RFC3339)))
}

// Call calls f for at most limit, even if f ignores its context: see [work.Await]. If ctx ends
// earlier, an answer of f still counts. The call is the probe if one is due. It returns [ErrOpen]
// at once while the circuit is open, the errors and panics of f, or context.DeadlineExceeded after
// limit. All of them have the sentinel of [Of]. The cause of ctx's end has none, and does not
// count as a failure of the service.
func Call[T any](ctx context.Context, b *Breaker, limit time.Duration, f func(context.Context) (T, error)) (out T, err error) {
	probe, err := b.begin()
	if err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	out, err = work.Await(wait, b.service, func() (T, error) { return f(limited) })
	gaveUp := err != nil && ctx.Err() != nil
	if err != nil && !gaveUp && (limited.Err() != nil || wait.Err() != nil) {
		err = fmt.Errorf("%s: no answer within %s: %w", b.service, limit.Round(time.Millisecond), err)
	}
	b.end(probe, err, !gaveUp)
	switch {
	case gaveUp:
		err = context.Cause(ctx)
	case err != nil:
		err = Of(err)
	}
	return out, err
}

// begin reports whether the call that it lets through is a probe.
func (b *Breaker) begin() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	due, err := b.open()
	if err != nil && !due {
		return false, err
	}
	b.probing = b.probing || due
	return due, nil
}

// end counts the outcome of a call. Calls that began before the circuit opened leave the pause as
// it is. If a probe ends undecided, the next call probes.
func (b *Breaker) end(probe bool, err error, counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch {
	case err == nil:
		b.failures, b.pause = 0, 0
		return
	case !counts || errors.Is(Of(err), ErrForm) || !errors.Is(Of(err), backends.ErrUnavailable):
		return
	}
	b.failures++
	opens := b.pause == 0 && b.failures >= b.openAfter
	if opens {
		b.since = b.clock()
	}
	if opens || b.pause > 0 && probe {
		b.pause = min(max(firstPause, 2*b.pause), longestPause)
		b.until, b.cause = b.clock().Add(b.pause), fmt.Sprintf("%.300s", err.Error())
	}
}
