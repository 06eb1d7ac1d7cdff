// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	if err := checkBlob(p, id, name); err != nil {
		return err
	}
	what := "put"
	if data == nil {
		what = "remove"
	}
	k := s.keys(p)
	keys := append(append([]string{k.meta()}, k.session(id).all()...), k.sessions(), k.pending(), k.born())
	return s.do(ctx, fmt.Sprintf("put blob %q of session %q", name, id), func() error {
		return s.announced(ctx, p, func(inc string) (bool, error) {
			reply, err := s.write(ctx, blobScript, keys, id, micros(s.now()), inc, name, what, data)
			return reply == "ok", err
		})
	})
}

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, id, name string) ([]byte, error) {
	if err := checkBlob(p, id, name); err != nil {
		return nil, err
	}
	var out []byte
	err := s.do(ctx, fmt.Sprintf("get blob %q of session %q", name, id), func() error {
		k := s.keys(p).session(id)
		var data, ends *redis.StringCmd
		err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
			ends = pipe.HGet(ctx, k.state(), "expires")
			data = pipe.HGet(ctx, k.blobs(), name)
			return nil
		})
		if err != nil {
			return err
		}
		gone, err := past(ends.Val(), s.now())
		if err != nil {
			return err
		}
		if gone || data.Err() != nil {
			return fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		out, err = data.Bytes()
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func checkBlob(p backends.Partition, session, name string) error {
	if err := checkNames(p, session); err != nil {
		return err
	}
	if err := store.ValidateID("blob", name); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}
