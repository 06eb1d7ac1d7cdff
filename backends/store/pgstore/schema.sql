-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Schema version 1: everything. The package comment describes the tables and must change
-- with them. A step that was released is never edited: a change becomes a new step. @schema
-- becomes the quoted name of the schema, and each other @ that name with a dot.

DO $$
BEGIN
	IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE '"' || nspname || '"' = '@schema') THEN
		CREATE SCHEMA @schema; -- a role without the right to create one may have one
	END IF;
END $$;
CREATE TABLE @identity (id text NOT NULL, version int NOT NULL);
INSERT INTO @identity VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12), 1);
CREATE TABLE @partitions (
	pk        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never used again, so that a dropped partition has other cursors
	name      text COLLATE "C" NOT NULL UNIQUE, -- namespace/kind/id, percent-encoded
	namespace text COLLATE "C" NOT NULL,
	kind      text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	version   bigint NOT NULL DEFAULT 0,
	records   bigint NOT NULL DEFAULT 0,
	model     bytea NOT NULL DEFAULT '',
	dim       bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX ON @partitions (namespace, pk);
-- Most records stay in one piece, so a load reads the table alone.
CREATE TABLE @records (
	part    bigint NOT NULL,
	id      bytea NOT NULL,
	version bigint NOT NULL,
	memory  text NOT NULL,
	vector  bytea,
	PRIMARY KEY (part, id)
) WITH (toast_tuple_target = 8160);
CREATE INDEX ON @records (part, version);
ALTER TABLE @records ALTER vector SET STORAGE EXTERNAL; -- it does not compress
CREATE TABLE @tombstones (
	part    bigint NOT NULL,
	id      bytea NOT NULL,
	version bigint NOT NULL,
	PRIMARY KEY (part, id)
);
CREATE INDEX ON @tombstones (part, version);
CREATE TABLE @events (
	pk    bigint GENERATED ALWAYS AS IDENTITY,
	part  bigint NOT NULL,
	id    bytea NOT NULL,
	event text NOT NULL,
	PRIMARY KEY (part, id, pk)
);
CREATE TABLE @batches (
	part    bigint NOT NULL,
	key     bytea NOT NULL,
	created bigint NOT NULL,
	version bigint NOT NULL,
	results text NOT NULL,
	PRIMARY KEY (part, key)
);
CREATE INDEX ON @batches (part, created);
CREATE TABLE @sessions (
	pk      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never used again: listings point to it
	part    bigint NOT NULL,
	id      bytea NOT NULL,
	last    bigint NOT NULL DEFAULT 0,
	pending boolean NOT NULL DEFAULT false,
	expires bigint,
	state   text NOT NULL DEFAULT '',
	UNIQUE (part, id)
) WITH (fillfactor = 80);
CREATE INDEX ON @sessions (part, pk);
CREATE INDEX ON @sessions (part, pk) WHERE pending;
CREATE INDEX ON @sessions (expires) WHERE expires IS NOT NULL;
CREATE TABLE @messages (
	part    bigint NOT NULL,
	session bigint NOT NULL,
	seq     bigint NOT NULL,
	id      bytea NOT NULL,
	entry   text NOT NULL,
	PRIMARY KEY (session, seq),
	UNIQUE (session, id)
);
CREATE TABLE @blobs (
	part    bigint NOT NULL,
	session bytea NOT NULL,
	name    bytea NOT NULL,
	data    bytea NOT NULL,
	PRIMARY KEY (part, session, name)
);
CREATE TABLE @lives (
	life  bigint GENERATED ALWAYS AS IDENTITY, -- never used again
	name  text COLLATE "C" PRIMARY KEY,
	began bigint NOT NULL
);

-- Statistics would keep samples of names and content, out of reach for a deletion.
DO $$
DECLARE c record;
BEGIN
	FOR c IN SELECT attrelid::regclass AS t, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
			WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@partitions'::regclass)
			AND attnum > 0 AND atttypid IN ('text'::regtype, 'bytea'::regtype) LOOP
		EXECUTE format('ALTER TABLE %s ALTER %I SET STATISTICS 0', c.t, c.attname);
	END LOOP;
END $$;

-- The second fence, which Options.RowSecurity turns on: a transaction names its partition.
CREATE POLICY own ON @partitions USING (name = current_setting('einomem.partition', true) OR current_setting('einomem.partition', true) = '*');
DO $$
DECLARE t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['records', 'tombstones', 'events', 'batches', 'sessions', 'messages', 'blobs'] LOOP
		EXECUTE 'CREATE POLICY own ON @' || t || ' USING (current_setting(''einomem.partition'', true) = ''*''
			OR part = (SELECT pk FROM @partitions WHERE name = current_setting(''einomem.partition'', true)))';
	END LOOP;
END $$;
