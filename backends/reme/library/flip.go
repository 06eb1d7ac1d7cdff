// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// flip does what a journal says: it writes the new memories first and removes the
// others then, so that a search meanwhile finds too much rather than nothing.
func (s *stage) flip(ctx context.Context, j *journal, tell Progress) error {
	ld := &loading{Library: s.Library, at: s.at, request: &LoadRequest{Mode: j.Mode}}
	done := 0
	s.moved = 0
	for n := range j.Puts {
		records, err := s.staged(ctx, putName(j.ID, n))
		if err != nil {
			return err
		}
		if err := ld.move(ctx, s, putName(j.ID, n), j.Embedding, records); err != nil {
			return err
		}
		done += len(records)
		tell(done, j.Memories, StageWrite)
	}
	done = 0
	for n := range j.Gone {
		removed, err := s.removeStaged(ctx, goneName(j.ID, n))
		if err != nil {
			return err
		}
		done += removed
		tell(done, j.Removed, StageRemove)
	}
	return nil
}

// blob reads what is staged under a name.
func (s *stage) blob(ctx context.Context, name string) ([]byte, error) {
	data, err := s.keeper.Store().GetBlob(ctx, s.at.partition, sessionID, name)
	switch {
	case errors.Is(err, backends.ErrNotFound):
		return nil, damaged(fmt.Errorf("what was staged in %s is gone", name))
	case err != nil:
		return nil, fmt.Errorf("reading what is staged: %w", err)
	}
	return data, nil
}

// staged reads the records of a blob.
func (s *stage) staged(ctx context.Context, name string) ([]*store.Record, error) {
	data, err := s.blob(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []*store.Record
	for line := range bytes.Lines(data) {
		o, err := parseObject(line)
		if err != nil {
			return nil, damaged(fmt.Errorf("staged memories in %s: %w", name, err))
		}
		m, vector, err := readOwn(o)
		if err != nil {
			return nil, damaged(fmt.Errorf("staged memories in %s: %w", name, err))
		}
		out = append(out, &store.Record{Memory: *m, Vector: vector})
	}
	return out, nil
}

// move writes staged records into the workspace.
func (ld *loading) move(ctx context.Context, s *stage, key string, space *store.Embedding, records []*store.Record) error {
	return keeper.Retry(ctx, func() error {
		puts, err := ld.puts(ctx, records)
		if err != nil {
			return err
		}
		batch := &store.Batch{Key: sessionID + "/" + key, Mutations: puts, Embedding: space, Session: s.held()}
		_, err = ld.keeper.Store().Apply(ctx, ld.at.partition, batch)
		if errors.Is(err, backends.ErrDimension) { // somebody re-embedded the workspace since: words find them until the next time
			for _, r := range records {
				r.Vector = nil
			}
			batch.Embedding = nil
			_, err = ld.keeper.Store().Apply(ctx, ld.at.partition, batch)
		}
		if err == nil {
			s.moved += len(puts)
		}
		return err
	})
}

// removeStaged removes the memories of a blob of ids and returns how many it names.
func (s *stage) removeStaged(ctx context.Context, name string) (int, error) {
	data, err := s.blob(ctx, name)
	if err != nil {
		return 0, err
	}
	var ids []string
	if err := json.Unmarshal(data, &ids); err != nil {
		return 0, damaged(fmt.Errorf("staged ids in %s: %w", name, err))
	}
	batch := &store.Batch{Key: sessionID + "/" + name, Session: s.held()}
	for _, id := range ids {
		batch.Mutations = append(batch.Mutations, remove(id))
	}
	_, err = s.keeper.Store().Apply(ctx, s.at.partition, batch)
	return len(ids), err
}
