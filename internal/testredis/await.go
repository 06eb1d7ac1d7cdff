// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"time"
)

const (
	patience = 30 * time.Second // for what a server does by itself, on a busy machine
	glance   = 10 * time.Millisecond
)

// await calls check until it returns nil, and returns its last error when the patience ends.
func await(check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", patience, err)
		}
	}
}
