-- Copyright 2026 The einomem Authors
-- SPDX-License-Identifier: Apache-2.0

-- Turns row security on for each table with a policy where it is off. @schema becomes the quoted
-- name of the schema.

DO $$
DECLARE t regclass;
BEGIN
	FOR t IN SELECT polrelid FROM pg_policy JOIN pg_class c ON c.oid = polrelid
			WHERE relnamespace = '@schema'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity) LOOP
		EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;
