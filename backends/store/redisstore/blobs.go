// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	if err := checkBlob(name); err != nil {
		return err
	}
	what := "put"
	if data == nil {
		what = "remove"
	}
	_, err := on(ctx, s, p, id, fmt.Sprintf("put blob %q of session %q", name, id), func() (any, error) {
		return nil, s.registered(ctx, p, func(made string) ([]string, error) {
			reply, err := s.write(ctx, blobScript, s.keys(p).withSession(id), id, plan.Micros(s.now()), newNonce(), name, what, data, assignments(s.begunIn(ctx, p)), made)
			wanted := unregistered(reply)
			if err == nil && len(wanted) == 0 && reply != "ok" {
				err = badAnswer(reply)
			}
			return wanted, err
		})
	})
	return err
}

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, id, name string) ([]byte, error) {
	if err := checkBlob(name); err != nil {
		return nil, err
	}
	return on(ctx, s, p, id, fmt.Sprintf("get blob %q of session %q", name, id), func() ([]byte, error) {
		k := s.keys(p)
		var state blobsOnServer
		var data *redis.StringCmd
		err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
			state, data = readBlobs(ctx, pipe, k, id), pipe.HGet(ctx, k.session(id).blobs(), name)
		})
		if err != nil {
			return nil, err
		}
		gone, err := state.gone(s.now())
		if err != nil {
			return nil, err
		}
		if gone || data.Err() != nil {
			return nil, cmp.Or(s.vanished(ctx, p), fmt.Errorf("%w: in %s", backends.ErrNotFound, p))
		}
		return data.Bytes()
	})
}

func checkBlob(name string) error {
	if err := store.ValidateID("blob", name); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

// ListBlobs implements [store.Blobs]. A hash is unordered, and scripts compare texts by
// the locale of the server. So each page reads the names of all the session's blobs and
// chooses among them here. The data stays on the server. A blob that is removed meanwhile
// may be listed, as empty.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, id, prefix string, page store.Page) (*store.BlobPage, error) {
	within, err := plan.ParseNames("blob", prefix, page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("redisstore: list blobs: %w", err)
	}
	return on(ctx, s, p, id, fmt.Sprintf("list blobs of session %q", id), func() (*store.BlobPage, error) {
		k := s.keys(p).session(id)
		names, err := s.blobNames(ctx, p, id, within)
		if err != nil {
			return nil, err
		}
		out := &store.BlobPage{}
		names, out.Next = plan.Cut(names, page, func(last *string) string { return plan.NamesCursor(*last) })
		out.Blobs, err = s.blobSizes(ctx, k, names)
		return out, err
	})
}

// blobNames returns the names within a range in order; the names of an expired session
// are empty.
func (s *Store) blobNames(ctx context.Context, p backends.Partition, id string, within plan.Names) ([]string, error) {
	k := s.keys(p)
	var state blobsOnServer
	var names *redis.StringSliceCmd
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		state, names = readBlobs(ctx, pipe, k, id), pipe.HKeys(ctx, k.session(id).blobs())
	})
	if err != nil {
		return nil, err
	}
	if gone, err := state.gone(s.now()); gone || err != nil {
		return nil, err
	}
	if state.kept.Val() == "" && len(names.Val()) == 0 {
		return nil, s.vanished(ctx, p)
	}
	out := slices.DeleteFunc(names.Val(), func(name string) bool { return name < within.Low || name >= within.High })
	slices.Sort(out)
	return out, nil
}

func (s *Store) blobSizes(ctx context.Context, k sessionKeys, names []string) ([]store.BlobInfo, error) {
	sizes := make([]*redis.IntCmd, len(names))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names {
			sizes[i] = pipe.HStrLen(ctx, k.blobs(), name)
		}
	})
	var out []store.BlobInfo
	for i, name := range names {
		out = append(out, store.BlobInfo{Name: name, Size: sizes[i].Val()})
	}
	return out, err
}
