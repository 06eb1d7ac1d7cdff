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

// releaseTimeout bounds the write that releases a lease after its context ended.
const releaseTimeout = 5 * time.Second

var (
	// errBusy is returned while another process holds the session's lease.
	errBusy = fmt.Errorf("another process consolidates the session: %w", backends.ErrConflict)
	// errLost is returned once the lease went to another process.
	errLost = fmt.Errorf("another process took the session over: %w", backends.ErrConflict)
	// errGone is returned for a session that does not exist any more.
	errGone = fmt.Errorf("the session was deleted: %w", backends.ErrNotFound)
)

// run is one owner's work on one session, under its lease.
type run struct {
	m     *Memory
	key   sessionKey
	s     *store.Session // as last seen
	token int64          // the fencing token: every write presents it
	early bool           // asked for by a caller: pauses do not count

	inDoubt bool // how an earlier try of the present batch ended is not known
}

// acquire takes the session's lease, or returns errBusy or errGone.
func (m *Memory) acquire(ctx context.Context, k sessionKey) (*run, error) {
	r := &run{m: m, key: k}
	err := r.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: m.owner, For: m.cfg.Lease}})
	if errors.Is(err, errLost) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	r.token = r.s.Lease.Token
	return r, nil
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

// release gives the lease back, also when ctx ended. If that fails, the lease expires.
func (r *run) release(ctx context.Context, u store.SessionUpdate) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	u.Release = true
	return r.update(ctx, u)
}

// abandon releases the lease after an error of the session's store, and returns the error.
func (r *run) abandon(ctx context.Context, err error) error {
	if !errors.Is(err, errLost) && !errors.Is(err, errGone) {
		_ = r.release(ctx, store.SessionUpdate{}) // the first error is the one to report
	}
	return err
}

// renewal returns a context that ends when the lease is lost, with errLost or errGone as
// its cause, and renews the lease until stop is called.
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
		} // else it holds, or the next tick retries
	}
}
