// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// errDivided says that a stretch of the log was divided, and that its first half
// can be tried at once.
var errDivided = errors.New("the stretch was divided")

// exhausted divides a stretch that failed too often, so that one turn which
// cannot be learnt from does not take its neighbours with it: its first half is
// tried next, then the rest, each divided again once it fails. What cannot be
// divided is given up.
//
// A stretch of which a try may have succeeded is not divided: its parts have
// other idempotency keys than the whole, and would be learnt twice.
func (r *run) exhausted(ctx context.Context, b *batch, retry store.Retry, err error) error {
	half := b.half()
	if half == 0 || retry.InDoubt {
		return r.giveUp(ctx, b, retry.Attempts, err)
	}
	retry.Whole = max(retry.Whole, b.upto)
	retry.Upto = b.entries[half-1].Seq
	if !hopeless(err) {
		return r.later(ctx, retry, err)
	}
	retry.After = time.Time{} // no pause would help
	if uerr := r.update(ctx, store.SessionUpdate{Retry: &retry}); uerr != nil {
		return r.abandon(ctx, errors.Join(err, uerr))
	}
	return errDivided
}

// half returns how many entries make the first half of the batch's turns; 0: it
// is one turn.
func (b *batch) half() int {
	var ends []int
	for i := range b.entries {
		if boundary(b.entries, i) {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)/2]
}

// unclear reports whether an Add that failed so may have stored something: its
// answer got lost, or it was cut off. After every other error nothing was stored.
func unclear(err error) bool {
	return errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
