// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// applicationID marks a file as one of ours ("eino" in ASCII), so that another
// application's database is never written to.
const applicationID = 0x65696e6f

// header is what a file says of itself.
type header struct{ app, version, tables int }

func readHeader(c *conn) (header, error) {
	var h header
	const query = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`
	_, err := c.row(query, nil, &h.app, &h.version, &h.tables)
	return h, err
}

// inspect refuses a file that is another application's or newer than this code,
// before anything of it is changed.
func inspect(c *conn, path string) error {
	h, err := readHeader(c)
	switch {
	case err != nil:
		return err
	case h.app != applicationID && (h.app != 0 || h.tables != 0):
		return fmt.Errorf("%w: %s holds the tables of another application: choose another path", backends.ErrInvalid, path)
	case h.version > len(ladder):
		return fmt.Errorf("%w: %s has schema version %d, and this code knows versions up to %d: update the code",
			backends.ErrUnavailable, path, h.version, len(ladder))
	}
	return nil
}

// migrate brings the file up to the schema of this code, in one transaction.
func migrate(ctx context.Context, c *conn) error {
	h, err := readHeader(c)
	if err != nil || h.version >= len(ladder) {
		return err
	}
	return c.transaction(ctx, beginImmediate, func() error {
		// Another process may have done it while this one waited.
		if h, err = readHeader(c); err != nil {
			return err
		}
		for v := h.version; v < len(ladder); v++ {
			if err := c.script(ladder[v]); err != nil {
				return fmt.Errorf("schema version %d: %w", v+1, err)
			}
		}
		return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, max(h.version, len(ladder))))
	})
}
