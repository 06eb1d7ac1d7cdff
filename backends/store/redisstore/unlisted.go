// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Deleted implements [store.Records]. It scans the histories, whose texts the server
// sends along.
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "deleted memories", p, page, func(k keys, after uint64, size int) (*store.IDPage, error) {
		found, next, err := s.client.HScan(ctx, k.history(), after, "", int64(size)).Result()
		if err != nil {
			return nil, err
		}
		versions := make([]*redis.FloatCmd, len(found)/2)
		err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for i := range versions {
				versions[i] = pipe.ZScore(ctx, k.changed(), found[2*i])
			}
		})
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		for i, version := range versions {
			if isNil(version.Err()) {
				out.IDs = append(out.IDs, found[2*i])
			}
		}
		if next != 0 {
			out.Next = strconv.FormatUint(next, 10)
		}
		return out, nil
	})
}

// BlobSessions implements [store.Blobs]. Sessions come in the order of their creation.
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "sessions with blobs", p, page, func(k keys, after uint64, size int) (*store.IDPage, error) {
		found, err := s.client.ZRangeByScoreWithScores(ctx, k.born(), &redis.ZRangeBy{Min: fmt.Sprint("(", after), Max: "+inf", Count: int64(size)}).Result()
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(found))
		for i, z := range found {
			ids[i] = fmt.Sprint(z.Member)
		}
		alive, err := s.living(ctx, k, ids, func(k sessionKeys) []string { return []string{k.blobs()} })
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		for i, id := range ids {
			if alive[i] {
				out.IDs = append(out.IDs, id)
			}
		}
		if len(found) == size {
			out.Next = strconv.FormatUint(uint64(found[size-1].Score), 10)
		}
		return out, nil
	})
}

// idPage reads a page of ids after a cursor that is a number.
func (s *Store) idPage(ctx context.Context, what string, p backends.Partition, page store.Page, read func(k keys, after uint64, size int) (*store.IDPage, error)) (*store.IDPage, error) {
	after := uint64(0)
	if page.Cursor != "" {
		var err error
		if after, err = strconv.ParseUint(page.Cursor, 10, 64); err != nil {
			return nil, fmt.Errorf("redisstore: %s: cursor %q: %w: not one of this store", what, page.Cursor, backends.ErrInvalid)
		}
	}
	return on(ctx, s, p, "", what+" of "+p.String(), func() (*store.IDPage, error) { return read(s.keys(p), after, page.Size()) })
}
