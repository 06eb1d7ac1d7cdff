-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- A line for each contradiction between tables. Each @ becomes the name of the schema.

SELECT 'partition ' || name || ': ' || (SELECT count(*) FROM @records WHERE part = pk) || ' of ' || records || ' records are there'
FROM @partitions WHERE records <> (SELECT count(*) FROM @records WHERE part = pk)

UNION ALL SELECT 'partition ' || name || ': a record is newer than the partition'
FROM @partitions WHERE version < (SELECT max(version) FROM @records WHERE part = pk)

UNION ALL SELECT 'partition ' || name || ': a record ' || quote_literal(encode(r.id, 'escape')) || ' is deleted, too'
FROM @partitions p JOIN @records r ON r.part = p.pk JOIN @tombstones d ON d.part = r.part AND d.id = r.id

UNION ALL SELECT 'partition ' || name || ', session ' || quote_literal(encode(s.id, 'escape')) || ': ' || m.n || ' of ' || s.last || ' messages are there'
FROM @partitions p JOIN @sessions s ON s.part = p.pk,
	LATERAL (SELECT count(*) AS n, coalesce(max(seq), 0) AS last FROM @messages WHERE session = s.pk) m
WHERE m.n <> s.last OR m.last <> s.last

UNION ALL SELECT DISTINCT 'partition number ' || part || ' is missing, and has rows'
FROM (SELECT part FROM @records UNION SELECT part FROM @tombstones UNION SELECT part FROM @events
	UNION SELECT part FROM @batches UNION SELECT part FROM @sessions UNION SELECT part FROM @blobs) o
WHERE NOT EXISTS (SELECT 1 FROM @partitions WHERE pk = o.part)

UNION ALL SELECT DISTINCT 'session number ' || session || ' is missing, and has messages'
FROM @messages m WHERE NOT EXISTS (SELECT 1 FROM @sessions WHERE pk = m.session AND part = m.part)

LIMIT 100
