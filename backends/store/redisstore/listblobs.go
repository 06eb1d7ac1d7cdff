// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// ListBlobs implements [store.Blobs]. A hash has no order: each page reads the
// names of all the session's blobs and chooses among them here, because scripts
// compare texts by the locale of the server. The data is never read.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, id, prefix string, page store.Page) (*store.BlobPage, error) {
	if err := checkNames(p, id); err != nil {
		return nil, err
	}
	within, err := plan.ParseNames("blob", prefix, page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("redisstore: list blobs: %w", err)
	}
	var out *store.BlobPage
	err = s.do(ctx, fmt.Sprintf("list blobs of session %q", id), func() error {
		names, err := s.blobNames(ctx, s.keys(p).session(id), within)
		if err != nil {
			return err
		}
		out = &store.BlobPage{}
		if size := page.Size(); len(names) > size {
			names = names[:size]
			out.Next = plan.NamesCursor(names[size-1])
		}
		out.Blobs, err = s.blobSizes(ctx, s.keys(p).session(id), names)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// blobNames returns the names within a range in order, none if the session is
// expired.
func (s *Store) blobNames(ctx context.Context, k sessionKeys, within plan.Names) ([]string, error) {
	var ends *redis.StringCmd
	var names *redis.StringSliceCmd
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		ends, names = pipe.HGet(ctx, k.state(), "expires"), pipe.HKeys(ctx, k.blobs())
		return nil
	})
	if err != nil {
		return nil, err
	}
	if gone, err := past(ends.Val(), s.now()); gone || err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(names.Val(), func(name string) bool { return !within.Holds(name) })
	slices.Sort(out)
	return out, nil
}

// blobSizes leaves out the blobs that were removed since their names were read.
func (s *Store) blobSizes(ctx context.Context, k sessionKeys, names []string) ([]store.BlobInfo, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	sizes, err := sizesScript.Run(ctx, s.client, []string{k.blobs()}, args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	if len(sizes) != len(names) {
		return nil, fmt.Errorf("%w: unexpected answer of a script: %d sizes of %d blobs", backends.ErrUnavailable, len(sizes), len(names))
	}
	out := make([]store.BlobInfo, 0, len(names))
	for i, size := range sizes {
		if size >= 0 {
			out = append(out, store.BlobInfo{Name: names[i], Size: size})
		}
	}
	return out, nil
}
