// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var (
	errRemote  = errors.New("the vectors of the partition stay in the store")
	errLoaded  = errors.New("the vectors of the partition were loaded meanwhile")
	errRefused = errors.New("the store cannot find neighbours in the partition")
)

// ranking returns the pool of hits of a query, best first, wherever the vectors
// are. degraded tells why the store's part in it is missing.
func (r *Ranker) ranking(ctx context.Context, p *partition, q *query) (hits []backends.Hit, degraded, err error) {
	for range maxRounds {
		hits, err = r.rank(p, q)
		if !errors.Is(err, errRemote) {
			return hits, degraded, err
		}
		hits, err = r.rankRemote(ctx, p, q)
		switch {
		case errors.Is(err, errLoaded):
			continue
		case errors.Is(err, errRefused):
			if err := p.current(ctx); err != nil { // loads the vectors
				return nil, nil, err
			}
		case err == nil, ctx.Err() != nil, errors.Is(err, backends.ErrDimension):
			return hits, nil, err
		default:
			degraded = fmt.Errorf("the ranking is lexical alone: %w", err)
			q.vector = nil
		}
	}
	return nil, nil, fmt.Errorf("searching partition %s: %w: %w", p.key, backends.ErrUnavailable, err)
}

// neighbours asks the store for the memories nearest to the query.
func (s *remoteSearch) neighbours(ctx context.Context, limit int, exact bool) error {
	p, near, space := s.partition, s.ranker.near(), s.space
	q := &store.NearestQuery{Vector: s.query.vector, Limit: limit, Exact: exact, Embedding: &space, Decode: Decoder(space)}
	found, err := near.Nearest(ctx, p.key, q)
	if errors.Is(err, backends.ErrUnavailable) && !errors.Is(err, errors.ErrUnsupported) {
		// A connection that failed is no lack of the ability: that is certain only of a
		// store which answers something else.
		if _, err := near.Count(ctx, p.key); err != nil {
			return fmt.Errorf("asking whether partition %s can be reached: %w", p.key, err)
		}
		found, err = near.Nearest(ctx, p.key, q)
	}
	switch {
	case err == nil:
	case errors.Is(err, backends.ErrUnavailable), errors.Is(err, errors.ErrUnsupported):
		p.access.refuse(s.ranker.config.Clock())
		return errRefused
	default:
		return fmt.Errorf("looking for neighbours in partition %s: %w", p.key, err)
	}
	s.limit, s.near = limit, distinct(found.IDs)
	s.asked = exact || found.Exact
	s.all = s.asked && len(s.near) < limit
	return nil
}

func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// vectorBatch is how many vectors one call to the store reads, so that not more
// than some ten MiB are on the way at a time.
const vectorBatch = 2048

// vectors reads the vectors with the given ids and notes their cosines.
func (s *remoteSearch) vectors(ctx context.Context, ids []string) error {
	row := make([]float32, s.space.Dim)
	for part := range slices.Chunk(ids, vectorBatch) {
		encoded, err := s.ranker.near().Vectors(ctx, s.partition.key, part...)
		if err == nil && len(encoded) != len(part) {
			err = fmt.Errorf("%w: the store answered with %d", backends.ErrUnavailable, len(encoded))
		}
		if err != nil {
			return fmt.Errorf("reading %d vectors of partition %s: %w", len(part), s.partition.key, err)
		}
		for i, id := range part {
			if s.known[id], err = s.cosine(row, encoded[i]); err != nil {
				return fmt.Errorf("the vector of memory %q in partition %s: %w: %w: call Reembed to make it anew", id, s.partition.key, backends.ErrDimension, err)
			}
		}
		s.read += len(part)
	}
	return nil
}

// cosine compares a stored vector with the query: 0 to 1, or noVector.
func (s *remoteSearch) cosine(row []float32, encoded []byte) (float64, error) {
	if len(encoded) == 0 {
		return noVector, nil
	}
	switch err := decodeVector(row, encoded, s.space); {
	case errors.Is(err, errStaleVector):
		return noVector, nil
	case err != nil:
		return 0, err
	}
	return unit(float64(vek32.Dot(s.query.vector, row))), nil
}
