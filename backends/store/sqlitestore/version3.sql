-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Schema version 3: checksums of rows, NULL in those of earlier versions, and how many
-- records a partition has.

ALTER TABLE partitions ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partitions ADD COLUMN sum INTEGER;
ALTER TABLE records ADD COLUMN sum INTEGER;
ALTER TABLE tombstones ADD COLUMN sum INTEGER;
ALTER TABLE events ADD COLUMN sum INTEGER;
ALTER TABLE batches ADD COLUMN sum INTEGER;
ALTER TABLE sessions ADD COLUMN sum INTEGER;
ALTER TABLE messages ADD COLUMN sum INTEGER;
ALTER TABLE blobs ADD COLUMN sum INTEGER;
UPDATE partitions SET records = (SELECT count(*) FROM records WHERE part = partitions.pk);
