// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// A staged load puts its memories aside as blobs, decides in one write, and then
// moves them into the workspace, a batch at a time. A batch has a key of its own and
// the token of the lease: done again it does nothing, done by a process that was
// only slow it is refused.

const (
	stagedMost  = 500     // memories in a blob, and so in a batch: never more than Config.OneBatch
	stagedBytes = 4 << 20 // of input in a blob
	embedMost   = 100     // texts embedded before the lease is renewed
	removedMost = 1000    // ids in a blob, and so in a batch: never more than Config.OneBatch
)

// stage is the right to load into a workspace, until end.
type stage struct {
	*Library
	at    *place
	id    string
	token int64
	moved int            // memories written by flip
	seen  *store.Session // as the last renew left it
	left  *journal       // of a load of before that was decided and not finished
}

// acquire takes the lease of the workspace's loads.
func (l *Library) acquire(ctx context.Context, at *place) (*stage, error) {
	s := &stage{Library: l, at: at, id: l.ids()}
	if _, err := l.session(ctx, at); err != nil {
		return nil, err
	}
	st, err := l.keeper.Store().Update(ctx, at.partition, &store.SessionUpdate{Session: sessionID, Acquire: &store.Acquire{Owner: s.id, For: leaseFor}})
	if errors.Is(err, backends.ErrConflict) {
		return nil, fmt.Errorf("%w: another load of the workspace is under way, or died less than %v ago: try again later", err, leaseFor)
	}
	if err != nil {
		return nil, err
	}
	s.token = st.Lease.Token
	if s.left, err = journalOf(st); err != nil {
		s.giveBack(ctx)
	}
	return s, err
}

// held is an update of the session that holds only under the lease, which it renews.
func (s *stage) held() *store.SessionUpdate {
	return &store.SessionUpdate{Session: sessionID, Token: s.token, Acquire: &store.Acquire{Owner: s.id, For: leaseFor}}
}

// forget clears the journal: nothing is left to do.
func (s *stage) forget(ctx context.Context) error {
	none := ""
	u := s.held()
	u.Summary = &none
	_, err := s.keeper.Store().Update(ctx, s.at.partition, u)
	return err
}

// sweep removes what was put aside under names that begin with prefix: all of it
// with the empty one, which only who has just got the lease may do.
func (s *stage) sweep(ctx context.Context, prefix string) error {
	for cursor := ""; ; {
		page, err := s.keeper.Store().ListBlobs(ctx, s.at.partition, sessionID, prefix, store.Page{Limit: 1000, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, b := range page.Blobs {
			if err := s.keeper.Store().PutBlob(ctx, s.at.partition, sessionID, b.Name, nil); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// finishLeft finishes the load that was left, if there is one, and sweeps away what
// any others have put aside.
func (s *stage) finishLeft(ctx context.Context, tell Progress) error {
	if s.left != nil {
		if err := s.flip(ctx, s.left, tell); err != nil {
			return err
		}
		if err := s.forget(ctx); err != nil {
			return err
		}
		s.left = nil
	}
	return s.sweep(ctx, "")
}

// release gives the lease back.
func (s *stage) release(ctx context.Context) error {
	_, err := s.keeper.Store().Update(ctx, s.at.partition, &store.SessionUpdate{Session: sessionID, Token: s.token, Release: true})
	return err
}

// giveBack releases the lease of a load that failed, if the store lets it: what it left is
// finished by whoever comes next, at once.
func (s *stage) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyFor)
	defer cancel()
	_ = s.release(ctx)
}

// tidyFor is how long tidying up may take.
const tidyFor = 30 * time.Second

// tidy ends a load that was not decided, or that is done. Where it fails, the next
// load does that. It touches nothing of a load that took over.
func (s *stage) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyFor)
	defer cancel()
	if s.sweep(ctx, s.id+"/") == nil {
		_ = s.release(ctx)
	}
}

func putName(id string, n int) string  { return fmt.Sprintf("%s/put/%08d", id, n) }
func goneName(id string, n int) string { return fmt.Sprintf("%s/gone/%08d", id, n) }

// renew renews the lease, also one that ran out, unless another load had it since.
func (s *stage) renew(ctx context.Context) error {
	u := s.held()
	u.Token = 0
	st, err := s.keeper.Store().Update(ctx, s.at.partition, u)
	if err != nil {
		return err
	}
	s.seen = st
	if st.Lease.Token != s.token {
		s.token = st.Lease.Token // to be given back
		return fmt.Errorf("%w: this load was silent for more than %v, and another one came in between: load again", backends.ErrConflict, leaseFor)
	}
	return nil
}

// put puts data aside, if the lease is still ours.
func (s *stage) put(ctx context.Context, name string, data []byte) error {
	if err := s.renew(ctx); err != nil {
		return err
	}
	return s.keeper.Store().PutBlob(ctx, s.at.partition, sessionID, name, data)
}

// stage loads the records and all that follow them, or with whole the records alone.
func (ld *loading) stage(ctx context.Context, records []*store.Record, whole bool) error {
	ld.out.Staged = true
	s, err := ld.acquire(ctx, ld.at)
	if err != nil {
		return err
	}
	j := &journal{ID: s.id, Mode: ld.request.Mode}
	err = s.finishLeft(ctx, ld.tell)
	if err == nil {
		err = ld.putAside(ctx, s, j, records, whole)
	}
	if err == nil {
		err = ld.decide(ctx, s, j)
	}
	if err != nil {
		switch {
		case ld.doubt:
		case s.left != nil: // its journal still stands there
			s.giveBack(ctx)
		default:
			s.tidy(ctx)
		}
		return err
	}
	ld.out.Committed = true
	ctx = context.WithoutCancel(ctx) // half a load is worse than a late answer
	if err := s.flip(ctx, j, ld.tell); err != nil {
		s.giveBack(ctx)
		return err
	}
	ld.out.Loaded, ld.out.Removed = s.moved, j.Removed
	ld.out.Skipped += j.Memories - s.moved
	if err := s.forget(ctx); err != nil {
		return err
	}
	ld.out.Committed = false
	s.tidy(ctx)
	return nil
}

// putAside stages everything that the load does.
func (ld *loading) putAside(ctx context.Context, s *stage, j *journal, records []*store.Record, whole bool) error {
	for {
		for part := range slices.Chunk(records, min(stagedMost, ld.oneBatch)) {
			if err := ld.putRecords(ctx, s, j, part); err != nil {
				return err
			}
		}
		if whole {
			break
		}
		var err error
		records, err = ld.gather(ctx, min(stagedMost, ld.oneBatch), stagedBytes)
		if whole = errors.Is(err, io.EOF); err != nil && !whole {
			return err
		}
	}
	j.Embedding = ld.embedded
	return ld.putGone(ctx, s, j)
}

func (ld *loading) putRecords(ctx context.Context, s *stage, j *journal, records []*store.Record) error {
	for part := range slices.Chunk(records, embedMost) { // an embedder may be slow
		if err := ld.embed(ctx, part); err != nil {
			return err
		}
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	var data []byte
	for _, r := range records {
		line, err := writeOwn(&r.Memory, r.Vector)
		if err != nil {
			return fmt.Errorf("memory %s: %w: %w", r.ID, backends.ErrInvalid, err)
		}
		data = append(data, line...)
	}
	if err := s.put(ctx, putName(j.ID, j.Puts), data); err != nil {
		return err
	}
	j.Puts++
	j.Memories += len(records)
	return nil
}

// putGone stages the ids of what the load removes.
func (ld *loading) putGone(ctx context.Context, s *stage, j *journal) error {
	if j.Mode != Replace {
		return nil
	}
	return ld.each(ctx, ld.at.partition, func(ids []string) error {
		ids = slices.DeleteFunc(ids, func(id string) bool { _, loaded := ld.seen[hashOf(id)]; return loaded })
		for part := range slices.Chunk(ids, min(removedMost, ld.oneBatch)) {
			data, err := json.Marshal(part)
			if err != nil {
				return err
			}
			if err := s.put(ctx, goneName(j.ID, j.Gone), data); err != nil {
				return err
			}
			j.Gone++
			j.Removed += len(part)
		}
		return ctx.Err()
	})
}

// decide writes the journal: from then on the load is done, sooner or later.
func (ld *loading) decide(ctx context.Context, s *stage, j *journal) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := s.renew(ctx); err != nil {
		return err
	}
	u := s.held()
	summary := string(text)
	u.Summary, u.Version = &summary, s.seen.Version
	err = ld.apply(ctx, &store.Batch{Embedding: j.Embedding, Session: u})
	if !ld.doubt {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyFor)
	defer cancel()
	if s.renew(ctx) != nil { // by which what is still under way comes too late
		return fmt.Errorf("%w: call Resume to know whether the load was decided", err)
	}
	ld.doubt = false
	if s.seen.Summary == summary {
		return nil
	}
	return err
}
