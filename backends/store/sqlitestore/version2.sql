-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Schema version 2: which partitions were dropped of late, and sessions in the order in which
-- they began.

CREATE TABLE lives (
	life      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
	namespace TEXT NOT NULL,
	kind      TEXT NOT NULL,
	id        TEXT NOT NULL,
	began     INTEGER NOT NULL,
	UNIQUE (namespace, kind, id)
);

-- The storage, so that a life of another one is told apart.
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(6))));

DROP INDEX sessions_changed;
DROP INDEX sessions_pending;
ALTER TABLE sessions DROP COLUMN changed;
CREATE INDEX sessions_of ON sessions (part); -- and by pk, as every index
CREATE INDEX sessions_pending ON sessions (part) WHERE pending = 1;
