// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlitestore keeps records and sessions in one SQLite file: the
// embedded default, in pure Go (modernc.org/sqlite), with nothing to install.
//
//	s, err := sqlitestore.Open(ctx, "memory.db", nil)
//
// A [Store] implements the whole contract of package store. What was acknowledged
// survives a kill of the process at any moment, and unless [Config].Relaxed is set
// also a power cut. Several processes may have the file open: they see each
// other's writes at once and wait for each other's locks up to
// [Config].BusyTimeout. The file belongs on a local disk: the locks of network
// shares do not hold. Next to it stand two files of SQLite's, "-wal" and "-shm",
// while it is open; they are part of the database, so copy a file that is in use
// with the shell's ".backup".
//
// # Tables
//
// All are readable with the sqlite3 shell; states, memories, messages and events
// are JSON as in packages backends and store. The number of a partition stands
// first in every key.
//
//	partitions  pk, namespace, kind, id, version, model, dim   a partition; model and dim name its embedding
//	records     part, id, version, memory, vector              a memory and the version at which it last changed
//	tombstones  part, id, version                              a memory that was deleted
//	events      part, id, event                                the history of a memory, in the order of pk
//	batches     part, key, created, version, results           an idempotency key and the results of its batch
//	sessions    pk, part, id, pending, expires, state          a session; pk is its place in listings
//	messages    session, seq, id, entry                        a message of a session
//	blobs       part, session, name, data                      bytes beside a session
//	identity    id                                             of the file, see store.Begin
//	lives       life, namespace, kind, id, began               a partition that was dropped of late: see store.Begin
//
// Times in columns are microseconds since 1970. For example, what is known about
// ann:
//
//	SELECT memory ->> 'text' FROM records JOIN partitions ON part = partitions.pk
//	WHERE kind = 'user' AND partitions.id = 'ann' AND memory ->> 'superseded_by' IS NULL;
//
// PRAGMA user_version is the version of the schema, and Open brings older files
// up to date. PRAGMA application_id marks the file as one of this package, so
// that the tables of another application are never touched.
//
// # Costs
//
// One connection writes, in BEGIN IMMEDIATE transactions, one batch at a time;
// [Config].ReadConns others read and are never blocked by it. The benchmarks measure
// a durable write, a check for changes that finds none, and loading 10,000 vectors.
//
// Idempotency keys are kept for 31 days, tombstones and history until the
// partition is dropped. An expired session is gone at once for every call; its
// rows are purged by later appends, a few at a time. The cost of a page of
// [Store.ListBlobs] or of a PutBlob does not depend on how many blobs there are.
package sqlitestore
