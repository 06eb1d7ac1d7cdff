-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Schema version 2: which partitions were dropped of late.

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
