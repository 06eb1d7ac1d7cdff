// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// nearScan is up to how many elements all are compared: that takes no longer
	// than a walk of the graph, and finds everything.
	nearScan = 2000
	// nearEffort is how many candidates a walk of the graph keeps at least, and
	// nearMostEffort how many the server allows.
	nearEffort, nearMostEffort = 400, 1_000_000
	// nearPoll is how often a search looks whether others are done with the index.
	nearPoll = 10 * time.Millisecond
)

// errMoved says that the index was built anew while it was searched.
var errMoved = errors.New("the index was replaced")

// nearest searches the index once it reaches the version that the partition had
// when the search began.
func (s *Store) nearest(ctx context.Context, p backends.Partition, q *store.NearestQuery) (*store.Neighbours, error) {
	b := s.newIndexer(p, q.Decode)
	target := int64(-1)
	for {
		o, err := s.look(ctx, p, b.owner, s.config.Near.Ahead)
		if err != nil {
			return nil, err
		}
		if o.inc == "" {
			return &store.Neighbours{Exact: true}, nil
		}
		if target < 0 {
			target = o.version
		}
		if o.mine {
			if o, err = b.catchUp(ctx, o); err != nil && !errors.Is(err, errLost) {
				return nil, err
			}
		}
		switch {
		case err != nil: // lost
		case !fitsSpace(q, o.space):
			return nil, fmt.Errorf("vector of %d components: %w: those of the partition are of model %q with %d", len(q.Vector), backends.ErrDimension, o.space.Model, o.space.Dim)
		case o.reaches(target):
			out, err := s.searchIndex(ctx, p, q, o)
			if !errors.Is(err, errMoved) {
				return out, err
			}
		case o.todo > s.config.Near.Ahead:
			s.builds.start(ctx, b)
			return nil, fmt.Errorf("%w: the index is being built, %d changes are to go: load the partition meanwhile, or call BuildNear ahead", backends.ErrUnavailable, o.todo)
		}
		if !sleep(ctx, min(nearPoll, max(o.wait(), time.Millisecond))) {
			return nil, fmt.Errorf("%w: the index is being brought up to date: %w", backends.ErrUnavailable, context.Cause(ctx))
		}
	}
}

// wait is how long others may have the index for themselves.
func (o *outlook) wait() time.Duration {
	if o == nil {
		return 0
	}
	return o.busy
}

func fitsSpace(q *store.NearestQuery, space *store.Embedding) bool {
	return len(q.Vector) == space.Dim && (q.Embedding == nil || *q.Embedding == *space)
}

// searchIndex searches the index that was looked at. Elements that do not count any
// more are passed over: if too few others are found, it looks further.
func (s *Store) searchIndex(ctx context.Context, p backends.Partition, q *store.NearestQuery, o *outlook) (*store.Neighbours, error) {
	exact := q.Exact || o.card <= nearScan
	limit := min(q.Limit, o.card)
	for count := limit + min(o.dead, limit); ; count = min(4*count, o.card) {
		out := &store.Neighbours{Exact: exact}
		if count == 0 {
			return out, nil
		}
		found, err := s.vsim(ctx, p, q.Vector, count, exact)
		if err != nil {
			return nil, err
		}
		if err := s.keepLive(ctx, p, o, found, limit, out); err != nil {
			return nil, err
		}
		if len(out.IDs) == limit || o.dead == 0 || count >= o.card {
			return out, nil
		}
	}
}

func (s *Store) vsim(ctx context.Context, p backends.Partition, v []float32, count int, exact bool) ([]redis.VectorScore, error) {
	args := &redis.VSimArgs{Count: int64(count), EF: int64(min(nearMostEffort, max(nearEffort, 2*count))), Truth: exact}
	found, err := s.client.VSimWithArgsWithScores(ctx, s.keys(p).near(), &redis.VectorFP32{Val: nearBlob(v)}, args).Result()
	if isNil(err) {
		return nil, nil
	}
	if redis.HasErrorPrefix(err, "NOPERM") {
		return nil, nearRefusal(err.Error())
	}
	return found, err
}

// keepLive adds what counts of the elements found to out, or fails if the index is
// not the one that was looked at any more.
func (s *Store) keepLive(ctx context.Context, p backends.Partition, o *outlook, found []redis.VectorScore, limit int, out *store.Neighbours) error {
	fields := make([]string, 1, len(found)+1)
	fields[0] = "name"
	for _, f := range found {
		_, id := splitElement(f.Name)
		fields = append(fields, entry(id))
	}
	got, err := s.client.HMGet(ctx, s.keys(p).nearState(), fields...).Result()
	if err != nil {
		return err
	}
	if got[0] != o.name {
		return errMoved
	}
	for i, f := range found {
		if hash, id := splitElement(f.Name); got[i+1] == hash && len(out.IDs) < limit {
			out.IDs = append(out.IDs, id)
			out.Cosines = append(out.Cosines, cosine(f.Score))
		}
	}
	return nil
}

// cosine converts a score of VSIM, which is from 0 to 1.
func cosine(score float64) float64 { return max(-1, min(1, 2*score-1)) }

// nearBlob is how VADD and VSIM take a vector: little-endian float32.
func nearBlob(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// direction reports whether a vector has one: it is finite and not zero, and its
// length can be computed in float32.
func direction(v []float32) bool {
	var sum float32
	for _, x := range v {
		sum += x * x
	}
	return sum > 0 && !math.IsInf(float64(sum), 0) // NaN is not above 0
}
