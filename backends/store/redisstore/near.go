// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var _ store.Near = (*Store)(nil)

// Count implements [store.Near].
func (s *Store) Count(ctx context.Context, p backends.Partition) (int, error) {
	if err := checkNames(p, ""); err != nil {
		return 0, err
	}
	var n int64
	err := s.do(ctx, "count the records of "+p.String(), func() (err error) {
		n, err = s.client.ZCard(ctx, s.keys(p).changed()).Result()
		return err
	})
	return int(n), err
}

// Outline implements [store.Near].
func (s *Store) Outline(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return s.changes(ctx, p, cursor, false)
}

// Vectors implements [store.Near].
func (s *Store) Vectors(ctx context.Context, p backends.Partition, ids ...string) ([][]byte, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	out := make([][]byte, len(ids))
	err := s.do(ctx, fmt.Sprintf("get %d vectors of %s", len(ids), p), func() error {
		for start := 0; start < len(ids); start += hmgetChunk {
			got, err := s.client.HMGet(ctx, s.keys(p).vectors(), ids[start:min(start+hmgetChunk, len(ids))]...).Result()
			if err != nil {
				return err
			}
			for i, v := range got {
				out[start+i] = nil
				if text, ok := v.(string); ok {
					out[start+i] = bytesOf(text)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Nearest implements [store.Near] on a vector set, the data type that Redis has
// since version 8.
//
// The set is an index of the partition's active records that have a vector. It is
// brought up to date by whoever searches it: first what changed is written to it,
// then it is searched. Where more than Config.Near.Ahead changes are to be written,
// as at the first search of a large partition, the answer is ErrUnavailable, and
// this store goes on to build the index in the background, until it is done or the
// store is closed; any number of processes may meet in it, one of them builds. Load
// the partition meanwhile, or call [Store.BuildNear] before the first search.
//
// ErrUnavailable that is [errors.ErrUnsupported], too, is the answer of a server that
// has no vector sets, forbids them, or whose version is known to crash in them (see
// [NearAuto]). ErrDimension
// says that q.Vector, or q.Embedding, is not of the space of the partition.
//
// Vectors that q.Decode cannot read, or that are zero, are left out. The cosines are
// those of the index: within about 0.01 of the exact ones where it keeps int8.
func (s *Store) Nearest(ctx context.Context, p backends.Partition, q *store.NearestQuery) (*store.Neighbours, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	if err := checkNearest(q); err != nil {
		return nil, fmt.Errorf("redisstore: nearest: %w", err)
	}
	if s.config.Near.Use == NearNever {
		return nil, fmt.Errorf("redisstore: nearest: %w: %w: Config.Near.Use is NearNever", backends.ErrUnavailable, errors.ErrUnsupported)
	}
	var out *store.Neighbours
	err := s.do(ctx, "nearest in "+p.String(), func() (err error) {
		out, err = s.nearest(ctx, p, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func checkNearest(q *store.NearestQuery) error {
	switch {
	case q == nil || q.Decode == nil:
		return fmt.Errorf("%w: needs a query with a vector, a limit and a way to decode", backends.ErrInvalid)
	case q.Limit < 1:
		return fmt.Errorf("limit %d: %w: at least 1", q.Limit, backends.ErrInvalid)
	case !direction(q.Vector):
		return fmt.Errorf("vector of %d components: %w: empty, zero or not finite", len(q.Vector), backends.ErrInvalid)
	}
	return nil
}

// BuildNear brings the index of a partition up to date, however much there is to do,
// and returns when it is: some minutes for 100,000 records. decode reads their vectors,
// as NearestQuery.Decode does. When the context ends, what is done stays, and the
// next call goes on from there. Where there are no vector sets to use it is
// ErrUnavailable, as [Store.Nearest] is.
//
// The server does other work in between, which waits for some ten milliseconds at
// most; but when an index of 100,000 records is erased, as before it is built anew
// for another embedding model, everything waits for about 150.
func (s *Store) BuildNear(ctx context.Context, p backends.Partition, decode func(encoded []byte) ([]float32, error)) error {
	if err := checkNames(p, ""); err != nil {
		return err
	}
	if decode == nil {
		return fmt.Errorf("redisstore: build the index of %s: %w: needs a way to decode", p, backends.ErrInvalid)
	}
	if s.config.Near.Use == NearNever {
		return fmt.Errorf("redisstore: build the index of %s: %w: %w: Config.Near.Use is NearNever", p, backends.ErrUnavailable, errors.ErrUnsupported)
	}
	return s.newIndexer(p, decode).build(ctx)
}
