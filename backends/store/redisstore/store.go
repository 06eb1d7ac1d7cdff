// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Store is a [store.Store] in Redis. It is safe for concurrent use, and any
// number of processes may have one on the same server.
type Store struct {
	client redis.UniversalClient
	config Config
	server serverInfo
	owned  bool // the client is ours to close
	closed atomic.Bool
	builds builds // indexes that are built in the background
}

var _ store.Store = (*Store)(nil)

// New returns a store on a client, after a look at the server: what is missing
// there is said in one error, what is dangerous is logged. A nil cfg means the
// defaults. The client stays the caller's: Close leaves it open.
func New(ctx context.Context, client redis.UniversalClient, cfg *Config) (*Store, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, fmt.Errorf("redisstore: %w: no client: pass one, or use Open with a URL", backends.ErrInvalid)
	}
	prepareDecoder()
	s := &Store{client: client, config: c}
	if err := s.check(ctx); err != nil {
		return nil, fmt.Errorf("redisstore: the server cannot be used: %w", err)
	}
	return s, nil
}

// Close ends the store, and what it builds in the background: calls after it are
// ErrUnavailable. A client that was given to New stays open.
func (s *Store) Close() error {
	first := !s.closed.Swap(true)
	s.builds.stop()
	if !first || !s.owned {
		return nil
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // a failover closes connections first
		return fmt.Errorf("redisstore: close: %w", err)
	}
	return nil
}

func (s *Store) now() time.Time { return s.config.Clock() }

// firstPause and longestPause bound the time between two tries of a call.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// do calls f, again for as long as Config.Retry if it fails for a passing reason.
// All that f does may be done twice.
func (s *Store) do(ctx context.Context, doing string, f func() error) error {
	if s.closed.Load() {
		return fmt.Errorf("redisstore: %s: %w: the store is closed", doing, backends.ErrUnavailable)
	}
	limit := time.NewTimer(s.config.Retry) // of the tries too: each may wait long for an answer
	defer limit.Stop()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := f()
		if err == nil || !passing(err) || s.config.Retry < 0 || over(limit) || ctx.Err() != nil {
			return describe(doing, err, ctx)
		}
		s.refreshTopology(ctx, err)
		if !sleep(ctx, pause) {
			return describe(doing, err, ctx)
		}
	}
}

func over(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

// sleep waits, and reports whether it was not cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
