// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/einomem/einomem/backends"
)

// firstPause and longestPause bound the time between two tries of [OnFailure].
const firstPause, longestPause = 5 * time.Millisecond, 250 * time.Millisecond

// OnFailure calls f, a call of a storage, again while it fails with an error that passes by itself:
// for about as long as limit, until ctx ends. It returns f's last error. It waits between the
// tries, ever longer and by chance. All steps of f must bear a repeat.
func OnFailure(ctx context.Context, limit time.Duration, transient func(error) bool, f func() error) error {
	over, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := f()
		if err == nil || over.Err() != nil || !transient(err) {
			return err
		}
		select {
		case <-over.Done():
		case <-time.After(rand.N(pause)):
		}
	}
}

// retries bounds the tries of [OnConflict]: several processes write at once.
const retries = 16

// OnConflict calls f, which reads and writes, again while it fails with ErrConflict: at most 16
// times in all, until ctx ends. It returns f's last error. It waits a little between the tries,
// ever longer and by chance, so every writer wins at last.
func OnConflict(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !errors.Is(err, backends.ErrConflict) || attempt == retries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(time.Duration(attempt) * time.Millisecond)):
		}
	}
}
