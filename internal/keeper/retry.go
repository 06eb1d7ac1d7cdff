// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"

	"github.com/einomem/einomem/backends"
)

// Attempts bounds how often a call that lost a race is tried.
const Attempts = 4

// Retry calls f, which reads and writes, again while it fails with ErrConflict: at
// most [Attempts] times in all, and not after ctx ended. It returns f's last error.
func Retry(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !errors.Is(err, backends.ErrConflict) || attempt == Attempts || ctx.Err() != nil {
			return err
		}
	}
}
