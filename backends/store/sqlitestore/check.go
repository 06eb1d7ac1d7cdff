// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"slices"
)

// Check reads the whole file, and compares its tables with their indexes, as SQLite's
// integrity_check does. It returns a line for each thing that is damaged, at most 100, and
// nothing for a file that is whole. It changes nothing, may run while others write, and takes
// as long as reading the file. A page that cannot be read is ErrUnavailable.
func (s *Store) Check(ctx context.Context) (found []string, err error) {
	err = s.borrow(ctx, s.readers, func(c *conn) error {
		found, err = column[string](ctx, c, "PRAGMA integrity_check")
		return err
	})
	if slices.Equal(found, []string{"ok"}) {
		found = nil
	}
	return found, s.describe("check "+s.path, err)
}
