// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"

	"github.com/einomem/einomem/backends"
)

// Life implements [store.Records].
func (s *Store) Life(ctx context.Context, p backends.Partition) (string, error) { return "", nil }

// Fence implements [store.Records].
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error { return nil }

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (int, error) {
	return 0, nil
}
