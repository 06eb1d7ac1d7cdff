// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// detachedTimeout bounds the write that gives a lease back after its context ended.
const detachedTimeout = 5 * time.Second

var (
	// errBusy says that another process holds the session's lease.
	errBusy = fmt.Errorf("the session is being consolidated by another process: %w", backends.ErrConflict)
	// errLost says that the lease went to another process while this one was at work.
	errLost = fmt.Errorf("the session was taken over by another process: %w", backends.ErrConflict)
	// errGone says that the session does not exist any more.
	errGone = fmt.Errorf("the session was deleted: %w", backends.ErrNotFound)
)

// run is one owner's work on one session, under its lease.
type run struct {
	m     *Memory
	key   sessionKey
	s     *store.Session // as last seen
	token int64          // the fencing token: every write presents it
	early bool           // asked for by a caller: pauses are not waited for

	inDoubt bool // how an earlier try of the present batch ended is not known
}

// acquire takes the session's lease, or returns errBusy or errGone.
func (m *Memory) acquire(ctx context.Context, k sessionKey) (*run, error) {
	s, err := m.cfg.Sessions.Update(ctx, k.partition, &store.SessionUpdate{
		Session: k.id, Acquire: &store.Acquire{Owner: m.owner, For: m.cfg.Lease},
	})
	switch {
	case errors.Is(err, backends.ErrConflict):
		return nil, errBusy
	case errors.Is(err, backends.ErrNotFound):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("taking the lease: %w", err)
	}
	return &run{m: m, key: k, s: s, token: s.Lease.Token}, nil
}

// update writes to the session under the lease, or returns errLost or errGone.
func (r *run) update(ctx context.Context, u store.SessionUpdate) error {
	u.Session, u.Token = r.key.id, r.token
	s, err := r.m.cfg.Sessions.Update(ctx, r.key.partition, &u)
	switch {
	case errors.Is(err, backends.ErrConflict):
		return errLost
	case errors.Is(err, backends.ErrNotFound):
		return errGone
	case err != nil:
		return fmt.Errorf("updating the session: %w", err)
	}
	r.s = s
	return nil
}

// release gives the lease back, also when ctx is done. A lease that cannot be
// given back expires.
func (r *run) release(ctx context.Context, u store.SessionUpdate) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	defer cancel()
	u.Release = true
	return r.update(ctx, u)
}

// renewal returns a context that ends when the lease is lost, with errLost or
// errGone as its cause, and renews the lease until stop is called.
func (r *run) renewal(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.renew(ctx, cancel)
	}()
	return ctx, func() { cancel(nil); <-ended }
}

func (r *run) renew(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(max(r.m.cfg.Lease/3, time.Millisecond))
	defer tick.Stop()
	held := *r // the run's own state belongs to the goroutine that works
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := held.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: r.m.owner, For: r.m.cfg.Lease}})
		if errors.Is(err, errLost) || errors.Is(err, errGone) {
			lost(err)
			return
		} // else it holds, or the next tick tries again
	}
}
