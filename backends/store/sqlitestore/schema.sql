-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Schema version 1: everything. The package comment describes the tables and must change
-- with them. A step that was released is never edited: what changes becomes a new step.

CREATE TABLE partitions (
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
);
