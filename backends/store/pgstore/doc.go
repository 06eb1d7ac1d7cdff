// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgstore keeps records and sessions in Postgres 13 or newer: for many processes, on many
// machines, in a database that is backed up, replicated and watched already.
//
//	s, err := pgstore.Open(ctx, "postgres://me@localhost:5432/app", nil)
//
// A [Store] implements the whole contract of package store with plain SQL. It needs no extension.
// The package is a module of its own, so that other programs do not link a driver of Postgres.
//
// # What a write survives
//
// Each call is one transaction, which waits for the disk (synchronous_commit is on even where the
// database's default is off). An acknowledged write survives a kill of the process, and of a server
// with fsync. With asynchronous replication a failover can lose the newest writes, unless
// synchronous_standby_names makes commits wait. A cursor of Changes holds when the server was
// started: after a restart or a failover readers load their partitions anew, so they never keep
// records that were lost.
//
// A call that the server undid (40001, 40P01), or that met a broken connection before its COMMIT,
// is repeated for up to Options.Retry. A COMMIT without an answer is ErrUnavailable: repeating the
// call is harmless, as in every store.
//
// # Locks
//
// A write first locks the row of its partition. Sessions of a partition share that lock (FOR KEY
// SHARE) and lock their own rows, so they change beside each other and beside a batch. Batches of a
// partition follow each other (FOR NO KEY UPDATE). A drop excludes all (FOR UPDATE). Each statement
// after the lock sees all that was committed before it (READ COMMITTED), so a fencing token, a
// version or an epoch that was read is current until COMMIT. A read is one statement, or REPEATABLE
// READ: it sees one state of the database, and waits for nobody.
//
// Workers that look for sessions to learn from take none of these locks while a model thinks:
// the lease of a session is theirs, so SKIP LOCKED has no use there. Purging of expired sessions
// uses it: processes erase different ones.
//
// # Poolers
//
// Every setting is local to a transaction, and by default no prepared statement stays on the server.
// So PgBouncer works in transaction mode, of every version. Without a pooler, or with PgBouncer 1.21
// and max_prepared_statements, default_query_exec_mode=cache_statement in the URL saves the server
// some parsing. A pool that is given to [New] has the mode that its owner chose.
//
// # Row security
//
// Every transaction names its partition in the setting einomem.partition, and every table has a policy
// that compares it. [Options].RowSecurity turns the policies on: a statement with a wrong or missing
// condition then finds nothing of other partitions. Lists of all partitions, [Store.Check] and the
// purging of expired sessions name all ("*"). Superusers and roles with BYPASSRLS see everything,
// so Open refuses those. A role for pg_dump needs BYPASSRLS. To turn it off again, run ALTER TABLE …
// DISABLE ROW LEVEL SECURITY for each table.
//
// # Deletion
//
// A deleted row is gone for every call at once. Its bytes stay in the table until the room is used
// again; a plain VACUUM only frees the room. [Store.Compact] (VACUUM FULL) writes tables, indexes and
// overflow tables anew; run it after a Forget where bytes must go, at a quiet time, since calls wait
// for it. Content has no statistics, so pg_statistic holds no samples of it. Write-ahead log,
// archives, replicas, logs and backups are beyond the store: the receipt of a Forget names them.
//
// # Size
//
// A record takes its JSON and its vector beside the entries of two indexes, and stays in one piece up
// to 8 KB; a message takes its JSON and two entries. Each change of a session or a record leaves a dead
// row, which autovacuum frees: let it run often on tables that change often, for example ALTER TABLE
// einomem.sessions SET (autovacuum_vacuum_scale_factor = 0.02). [Store.Compact] gives room back.
//
// # Tables
//
// They stand in the schema of Options.Schema. Ids are bytea, since an id may hold a zero byte, and
// sort by their bytes: convert_from(id, 'UTF8') shows them. States, memories, messages and events are
// JSON as in packages backends and store (the number of a message is in column seq). The number of
// a partition is in column part.
//
//	identity    id, version                                          of the storage, see store.Begin; version of the schema
//	partitions  pk, name, namespace, kind, id, version, records, model, dim   a partition; model and dim name its embedding
//	records     part, id, version, memory, vector                    a memory and the version at which it last changed
//	tombstones  part, id, version                                    a memory that was deleted
//	events      pk, part, id, event                                  the history of a memory, in the order of pk
//	batches     part, key, created, version, results                 an idempotency key and the results of its batch
//	sessions    pk, part, id, last, pending, expires, state          a session; pk is its place in listings
//	messages    part, session, seq, id, entry                        a message of a session
//	blobs       part, session, name, data                            bytes beside a session
//	lives       life, name, began                                    a partition that was dropped of late: see store.Begin
//
// Times in columns are microseconds since 1970. For example, the memories of ann:
//
//	SELECT memory::json ->> 'text' FROM einomem.records r JOIN einomem.partitions p ON p.pk = r.part
//	WHERE p.kind = 'user' AND p.id = 'ann';
//
// Open brings an older schema up to date under an advisory lock, so any number of processes may
// start at once. The role needs the right to create the schema, or to create tables in one that
// exists; later it needs only the tables.
//
// # One contract, two dialects
//
// sqlitestore and pgstore share what is decided: package plan says what a batch, an append, an update
// and an erasure mean, and [plan.Retry] repeats calls here and in redisstore. They share the
// form of their tables, and no SQL. SQLite runs one statement a row inside the process, between
// group commits, and each row has a checksum. Postgres takes many rows a statement and many
// statements a packet; they lock rows, and find their partition by its name. A common layer would
// be an interface of a method a statement. Each dialect would implement all of them, far beyond 200
// lines, and the layer would come on top.
package pgstore
