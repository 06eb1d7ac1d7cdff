// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Load has clients that call do at the same time, ops times in all, each with its
// own number and that of the call. It returns how long that took and how long
// each call took.
func Load(ctx context.Context, clients, ops int, do func(ctx context.Context, client, op int) error) (time.Duration, []time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	g, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for client := range clients {
		g.Go(func() error {
			var times []time.Duration
			for op := client; op < ops; op += clients {
				took, err := Time(func() error { return do(ctx, client, op) })
				if err != nil {
					return err
				}
				times = append(times, took)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), all, err
}
