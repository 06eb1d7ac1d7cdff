// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// ladder holds one script for each step from one schema version to the next:
// a file of version n is brought up to date by ladder[n:]. A step that was
// released is never edited; what changes becomes a new step. The package comment
// describes the tables and must change with them.
var ladder = []string{
	// 1: everything.
	`CREATE TABLE partitions (
		pk        INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a dropped partition has other cursors
		namespace TEXT NOT NULL,
		kind      TEXT NOT NULL,
		id        TEXT NOT NULL,
		version   INTEGER NOT NULL DEFAULT 0,
		model     TEXT NOT NULL DEFAULT '',
		dim       INTEGER NOT NULL DEFAULT 0,
		UNIQUE (namespace, kind, id)
	);
	CREATE TABLE records (
		pk      INTEGER PRIMARY KEY,
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		version INTEGER NOT NULL,
		memory  TEXT NOT NULL,
		vector  BLOB,
		UNIQUE (part, id)
	);
	CREATE INDEX records_changed ON records (part, version);
	CREATE TABLE tombstones (
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		version INTEGER NOT NULL,
		PRIMARY KEY (part, id)
	) WITHOUT ROWID;
	CREATE INDEX tombstones_changed ON tombstones (part, version);
	CREATE TABLE events (
		pk    INTEGER PRIMARY KEY,
		part  INTEGER NOT NULL,
		id    TEXT NOT NULL,
		event TEXT NOT NULL
	);
	CREATE INDEX events_of ON events (part, id);
	CREATE TABLE batches (
		part    INTEGER NOT NULL,
		key     TEXT NOT NULL,
		created INTEGER NOT NULL,
		version INTEGER NOT NULL,
		results TEXT NOT NULL,
		PRIMARY KEY (part, key)
	) WITHOUT ROWID;
	CREATE INDEX batches_created ON batches (created);
	CREATE TABLE sessions (
		pk      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: listings point to it
		part    INTEGER NOT NULL,
		id      TEXT NOT NULL,
		changed INTEGER NOT NULL,
		pending INTEGER NOT NULL,
		expires INTEGER,
		state   TEXT NOT NULL,
		UNIQUE (part, id)
	);
	CREATE INDEX sessions_changed ON sessions (changed);
	CREATE INDEX sessions_pending ON sessions (changed) WHERE pending = 1;
	CREATE INDEX sessions_expires ON sessions (expires) WHERE expires IS NOT NULL;
	CREATE TABLE messages (
		session INTEGER NOT NULL,
		seq     INTEGER NOT NULL,
		id      TEXT NOT NULL,
		entry   TEXT NOT NULL,
		PRIMARY KEY (session, seq),
		UNIQUE (session, id)
	) WITHOUT ROWID;
	CREATE TABLE blobs (
		pk      INTEGER PRIMARY KEY,
		part    INTEGER NOT NULL,
		session TEXT NOT NULL,
		name    TEXT NOT NULL,
		data    BLOB NOT NULL,
		UNIQUE (part, session, name)
	);`,
}

// applicationID marks a file as one of ours ("eino" in ASCII), so that another
// application's database is never written to.
const applicationID = 0x65696e6f

// header is what a file contains about itself.
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
		// Another process may have migrated it while this one waited.
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
