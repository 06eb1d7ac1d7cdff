// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

// storeTimeout is how long an embedder may take for the vectors of up to embedBatch texts
// that no reply waits for.
const storeTimeout = 2 * time.Minute

// How many failures in a row it takes to leave a service alone: few where each costs
// a reply, more where calls come in parallel.
const (
	openForSearches = 2
	openForStoring  = 5
)

// service is an embedder or a reranker as the ranker calls it: with a deadline also where it
// does not heed its context, and left alone while it fails.
type service struct {
	timeout time.Duration
	breaker *fault.Breaker
	// prober is set where replies wait: half of the time that is left is for the service,
	// and it is probed beside a search, which goes on without it.
	prober *Ranker
}

func newService(name string, timeout time.Duration, openAfter int, prober *Ranker) *service {
	// A replay of old conversations has a clock of its own: pauses are real time.
	return &service{timeout, fault.NewBreaker(name, openAfter, backends.SystemClock), prober}
}

// call makes a call of a service. One that fails, takes too long or is left alone is
// ErrUnavailable, one that refuses the texts ErrInvalid.
func call[T any](ctx context.Context, s *service, f func(context.Context) (T, error)) (out T, err error) {
	limit := s.timeout
	if deadline, bounded := ctx.Deadline(); bounded && s.prober != nil {
		limit = min(limit, deadline.Sub(backends.SystemClock())/2)
	}
	due, err := s.breaker.Open()
	switch {
	case err == nil, s.prober == nil:
		out, err = fault.Call(ctx, s.breaker, limit, f)
	case due:
		beside, finish, closed := s.prober.background(ctx)
		if closed != nil {
			return out, closed
		}
		go func() {
			defer finish()
			_, _ = fault.Call(beside, s.breaker, limit, f) // the breaker knows how it ended
		}()
	}
	return out, err
}
