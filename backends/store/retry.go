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
