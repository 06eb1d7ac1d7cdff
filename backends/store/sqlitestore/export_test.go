// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"time"
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

// HoldWriter takes the connection that writes, until release is called. Those that wait then
// are one group, however long they take.
func (s *Store) HoldWriter() (release func()) {
	c := <-s.writer
	s.groupTime = time.Hour
	return func() { s.writer.put(c) }
}

// Waiting is how many calls wait for a transaction.
func (s *Store) Waiting() int {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	return len(s.waiting.calls)
}

// Script runs statements on the connection that writes.
func (s *Store) Script(text string) error {
	return s.borrow(context.Background(), s.writer, func(c *conn) error { return c.script(text) })
}

// BlobsQuery is the query that lists blobs.
const BlobsQuery = blobsQuery
