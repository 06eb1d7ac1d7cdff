// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
)

// Planted runs a statement as a mistake of this package would: in a call on p, with a condition
// that forgets the partition. It returns the rows' first column.
func Planted(ctx context.Context, s *Store, p backends.Partition, query string, args ...any) ([]string, error) {
	return call(ctx, s, updating, "a planted mistake", p, nil, func(t *tx) []string {
		return ask(t, pgx.RowTo[string], query, args...)
	})
}
