// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// sessionID is the session of a workspace in which the library keeps what it must
// know after a crash: a lease, so that one load is under way at a time; as its
// summary the journal of a load that was decided; and as its blobs what is staged. It
// has no messages.
const sessionID = "library/load"

// leaseFor is how long a load may be silent until it counts as dead.
const leaseFor = 2 * time.Minute

// journal tells what a load that was decided has to do. Every step of it may be
// done again.
type journal struct {
	ID        string           `json:"id"`   // of the load; its blobs' names begin with it
	Puts      int              `json:"puts"` // blobs of memories to write
	Gone      int              `json:"gone"` // blobs of ids to remove
	Memories  int              `json:"memories"`
	Removed   int              `json:"removed"`
	Mode      Mode             `json:"mode"`
	Embedding *store.Embedding `json:"embedding,omitempty"`
}

// session returns the state of the library's session, which it begins if need be.
func (l *Library) session(ctx context.Context, at *place) (*store.Session, error) {
	st, err := l.keeper.Store().Session(ctx, at.partition, sessionID)
	if errors.Is(err, backends.ErrNotFound) {
		scope := backends.Scope{Namespace: at.scope.Namespace, Workspace: at.scope.Workspace}
		return l.keeper.Store().Append(ctx, at.partition, sessionID, &store.Append{Scope: scope, Learnt: true})
	}
	return st, err
}

// journalOf reads the journal of a session, nil if there is none.
func journalOf(st *store.Session) (*journal, error) {
	if st.Summary == "" {
		return nil, nil
	}
	j := &journal{}
	if err := json.Unmarshal([]byte(st.Summary), j); err != nil {
		return nil, damaged(fmt.Errorf("the journal of a load, in session %q, cannot be read: %w", sessionID, err))
	}
	return j, nil
}

// damaged is the error of a load that was decided, and of which something is lost that
// it needs: it can be neither finished nor undone.
func damaged(err error) error {
	return fmt.Errorf("%w: %w; save the workspace with Dump of package keeper, Delete it with Erase, and load that", backends.ErrUnavailable, err)
}

// settle returns the state of the library's session once nothing of an earlier load
// is left: what a dead process left is finished, or undone if it was not decided.
func (l *Library) settle(ctx context.Context, at *place) (*store.Session, error) {
	st, err := l.session(ctx, at)
	if err != nil || st.Summary == "" && st.Lease.Owner == "" {
		return st, err
	}
	if _, err := l.resume(ctx, at); err != nil {
		return nil, err
	}
	return l.session(ctx, at)
}

// settled returns ErrConflict while a load of the workspace is decided and not
// finished: who reads it would read a part.
func (l *Library) settled(ctx context.Context, p backends.Partition) error {
	st, err := l.keeper.Store().Session(ctx, p, sessionID)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return nil
	case err != nil:
		return err
	case st.Summary != "":
		return fmt.Errorf("%w: a load of workspace %s is not finished: wait, or call Resume", backends.ErrConflict, p.ID)
	}
	return nil
}

// ResumeResponse tells what was left of a load.
type ResumeResponse struct {
	// Finished is how many memories a load had that was decided: the workspace holds
	// them now. 0 when there was none.
	Finished int
	// Cleared tells that only things put aside were left, of a load that was not
	// decided or that was done: they were removed, and the workspace is as it was.
	Cleared bool
}

// Resume finishes a staged load of the workspace that was decided when its process
// died, or undoes one that was not. Every load does so, too. ErrConflict: the load is
// still under way, as far as one can know; one that is silent for two minutes
// counts as dead.
func (l *Library) Resume(ctx context.Context, s backends.Scope) (*ResumeResponse, error) {
	at, err := l.place(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &ResumeResponse{}
	st, err := l.keeper.Store().Session(ctx, at.partition, sessionID)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return out, nil
	case err == nil && (st.Summary != "" || st.Lease.Owner != ""):
		out, err = l.resume(ctx, at)
	}
	if err != nil {
		return nil, fmt.Errorf("library: resuming a load of workspace %s: %w", at.partition.ID, err)
	}
	return out, nil
}

func (l *Library) resume(ctx context.Context, at *place) (*ResumeResponse, error) {
	s, err := l.acquire(ctx, at)
	if err != nil {
		return nil, err
	}
	out := &ResumeResponse{Cleared: s.left == nil}
	if s.left != nil {
		out.Finished = s.left.Memories
	}
	if err := s.finishLeft(ctx, l.reporter(nil)); err != nil {
		s.giveBack(ctx)
		return nil, err
	}
	return out, s.release(ctx)
}
