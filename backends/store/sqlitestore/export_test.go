// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
)

// LimitPages makes the disk full: the file may grow by n pages more. Negative
// removes the limit.
func (s *Store) LimitPages(n int) error {
	return s.borrow(context.Background(), s.writer, func(c *conn) error {
		limit := 1 << 30
		if n >= 0 {
			if _, err := c.row("PRAGMA page_count", nil, &limit); err != nil {
				return err
			}
			limit += n
		}
		return c.script(fmt.Sprintf("PRAGMA max_page_count = %d", limit))
	})
}

// HoldWriter takes the connection that writes, until release is called.
func (s *Store) HoldWriter() (release func()) {
	c := <-s.writer
	return func() { s.writer <- c }
}

// Script runs statements on the connection that writes.
func (s *Store) Script(text string) error {
	return s.borrow(context.Background(), s.writer, func(c *conn) error { return c.script(text) })
}

// BlobsQuery is the query that lists blobs.
const BlobsQuery = blobsQuery
