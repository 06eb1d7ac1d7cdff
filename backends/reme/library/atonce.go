// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// actor is who the history says it was.
const actor = "library"

// atOnce stores the records in one write. It returns false when what has to be
// removed is too much for that.
func (ld *loading) atOnce(ctx context.Context, records []*store.Record) (bool, error) {
	if err := ld.embed(ctx, records); err != nil {
		return false, err
	}
	done := false
	err := keeper.Retry(ctx, func() (err error) {
		done, err = ld.tryAtOnce(ctx, records)
		return err
	})
	if done && err == nil {
		ld.tell(len(records), len(records), StageWrite)
	}
	return done, err
}

// tryAtOnce reads what the workspace holds and writes what it is to hold. The state
// of the library's session proves that no other load came in between.
func (ld *loading) tryAtOnce(ctx context.Context, records []*store.Record) (bool, error) {
	st, err := ld.settle(ctx, ld.at)
	if err != nil {
		return false, err
	}
	gone, err := ld.toRemove(ctx, mostInOneBatch)
	if err != nil || len(gone) > mostInOneBatch {
		return false, err
	}
	batch := &store.Batch{Key: sessionID + "/" + ld.ids(), Embedding: ld.embedded, Session: &store.SessionUpdate{Session: sessionID, Version: st.Version}}
	for _, id := range gone {
		batch.Mutations = append(batch.Mutations, remove(id))
	}
	puts, err := ld.puts(ctx, records)
	if err != nil {
		return false, err
	}
	batch.Mutations = append(batch.Mutations, puts...)
	if err := ld.apply(ctx, batch); err != nil && !ld.wasApplied(ctx, batch) {
		return false, err
	}
	ld.out.Loaded, ld.out.Removed = len(puts), len(gone)
	ld.out.Skipped += len(records) - len(puts)
	return true, nil
}

// apply writes a batch. A load that replaces the workspace also replaces the space
// of its vectors.
func (ld *loading) apply(ctx context.Context, b *store.Batch) error {
	b.Reembed = b.Embedding != nil && ld.request.Mode == Replace
	_, err := ld.keeper.Store().Apply(ctx, ld.at.partition, b)
	ld.doubt = unanswered(err)
	if errors.Is(err, backends.ErrDimension) {
		return fmt.Errorf("%w: Reembed the workspace first, or load WithoutVectors", err)
	}
	return err
}

// wasApplied asks the store whether a batch whose write was not answered was
// carried out.
func (ld *loading) wasApplied(ctx context.Context, b *store.Batch) bool {
	if !ld.doubt {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyFor)
	defer cancel()
	// A batch that is still under way comes too late from here on: the session has
	// another version.
	if _, err := ld.keeper.Store().Update(ctx, ld.at.partition, &store.SessionUpdate{Session: sessionID}); err != nil {
		return false
	}
	applied, err := ld.keeper.Replayed(ctx, ld.at.partition, b.Key, nil)
	ld.doubt = err != nil
	return applied != nil
}

// unanswered reports whether what failed may have been done all the same.
func unanswered(err error) bool {
	return errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// puts returns what writes the records: with Add those alone that are not there.
func (ld *loading) puts(ctx context.Context, records []*store.Record) ([]store.Mutation, error) {
	held := map[string]bool{}
	if ld.request.Mode == Add {
		ids := make([]string, len(records))
		for i, r := range records {
			ids[i] = r.ID
		}
		have, err := ld.keeper.Records(ctx, ld.at.partition, ids...)
		if err != nil {
			return nil, err
		}
		for i := range have {
			held[have[i].ID] = true
		}
	}
	out := make([]store.Mutation, 0, len(records))
	for _, r := range records {
		if held[r.ID] {
			continue
		}
		m := store.Put(r)
		m.Actor, m.Role = actor, r.Origin.Role
		if ld.request.Mode == Add {
			m.Expect = store.MustNotExist
		}
		out = append(out, m)
	}
	return out, nil
}

func remove(id string) store.Mutation {
	m := store.Delete(id)
	m.Actor = actor
	return m
}

// toRemove returns the ids of what the workspace holds and the load does not: none
// unless it replaces. It ends early when there are more than so many.
func (ld *loading) toRemove(ctx context.Context, most int) ([]string, error) {
	if ld.request.Mode != Replace {
		return nil, nil
	}
	var gone []string
	err := ld.each(ctx, ld.at.partition, func(ids []string) error {
		for _, id := range ids {
			if _, loaded := ld.seen[hashOf(id)]; !loaded {
				gone = append(gone, id)
			}
		}
		if len(gone) > most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return gone, err
}

var errEnough = errors.New("enough")

// each hands out the ids of the memories of a partition, without its core blocks,
// in pages. It holds no more than a page.
func (l *Library) each(ctx context.Context, p backends.Partition, do func(ids []string) error) error {
	for cursor := ""; ; {
		c, err := l.keeper.Store().Changes(ctx, p, cursor)
		if err != nil {
			return fmt.Errorf("reading what the workspace holds: %w", err)
		}
		var ids []string
		for i := range c.Records {
			if c.Records[i].Kind != backends.KindCore {
				ids = append(ids, c.Records[i].ID)
			}
		}
		if err := do(ids); err != nil {
			return err
		}
		if cursor = c.Cursor; !c.More {
			return nil
		}
	}
}
