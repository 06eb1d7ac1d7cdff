// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

// sealed is the content of a row: text in JSON, data or both, its key, and the checksum
// of all. The key is the one that its owner, a partition or a session, has for it.
// Queries select it in this order.
type sealed struct {
	owner int64
	key   string
	text  string
	data  []byte
	sum   sql.NullInt64 // NULL in rows that a version without checksums wrote
}

func (r *sealed) columns() []any { return []any{&r.owner, &r.key, &r.text, &r.data, &r.sum} }

// checksum returns the CRC-32C of the row.
func (r *sealed) checksum() int64 {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 512), uint64(r.owner))
	b = binary.LittleEndian.AppendUint32(append(b, r.key...), uint32(len(r.key)))
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(append(b, r.text...), table), table, r.data))
}

// check returns ErrUnavailable if the row has changed since it was written.
func (r *sealed) check(what string) error {
	if r.sum.Valid && r.sum.Int64 != r.checksum() {
		return errDamaged(fmt.Sprintf("%s %q", what, r.key))
	}
	return nil
}

// errDamaged is the error for data that has changed since it was written.
func errDamaged(what string) error {
	return fmt.Errorf("%s: %w: damaged: not as it was written: restore a backup", what, backends.ErrUnavailable)
}

// decode checks the row and reads its text into v.
func (r *sealed) decode(what string, v any) error {
	if err := r.check(what); err != nil {
		return err
	}
	return plan.Decode(fmt.Sprintf("%s %q", what, r.key), r.text, v)
}

// rows returns all rows that a query selects.
func (c *conn) rows(ctx context.Context, query string, args ...any) ([]sealed, error) {
	return collect(ctx, c, (*sealed).columns, query, args...)
}

// decoded returns the values of the rows that a query selects.
func decoded[T any](ctx context.Context, c *conn, what, query string, args ...any) ([]T, error) {
	rows, err := c.rows(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(rows))
	return out, plan.Each(len(out), func(i int) error { return rows[i].decode(what, &out[i]) })
}
