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

// migrate brings the file up to the schema of this code, in one transaction.
func migrate(ctx context.Context, c *conn, path string) error {
	var app, version, tables int
	const header = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`
	if _, err := c.row(header, nil, &app, &version, &tables); err != nil {
		return err
	}
	switch {
	case app != applicationID && (app != 0 || tables != 0):
		return fmt.Errorf("%w: %s holds the tables of another application: choose another path", backends.ErrInvalid, path)
	case version > len(ladder):
		return fmt.Errorf("%w: %s has schema version %d, and this code knows versions up to %d: update the code",
			backends.ErrUnavailable, path, version, len(ladder))
	case version == len(ladder):
		return nil
	}
	return c.transaction(ctx, beginImmediate, func() error {
		// Another process may have done it while this one waited.
		if _, err := c.row(header, nil, &app, &version, &tables); err != nil {
			return err
		}
		for ; version < len(ladder); version++ {
			if err := c.script(ladder[version]); err != nil {
				return fmt.Errorf("schema version %d: %w", version+1, err)
			}
		}
		return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
	})
}
