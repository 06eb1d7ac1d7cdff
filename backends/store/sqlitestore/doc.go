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
// with the shell's ".backup" or VACUUM INTO.
//
// # Damage
//
// The last eight bytes of each page of the file are a CRC-32C of the page and its place,
// checked whenever the page is read. A damaged page is ErrUnavailable, with the record's id
// where there is one; what stands in other pages answers. [Store.Changes] of a partition
// with a damaged record fails and names it, because an index without it would pass for the
// whole: put a backup in the file's place, or begin a new file from the shell's ".recover".
// Other programs may read, back up and vacuum the file; what they write otherwise looks like
// damage. The "-wal" file has SQLite's own checksums. A file that an older version began has
// none: copy it into a new one with store.Transfer.
//
// Every call makes sure that the file is where it was when the store was opened. One that
// was removed, replaced or emptied is ErrUnavailable until the store is opened again.
//
// # What is deleted
//
// Deleted bytes are overwritten (secure_delete), also the copies that SQLite leaves where it
// moved something. Until the next checkpoint old bytes may stand in the file and in "-wal":
// [Store.Reclaim] ends that at once and gives room back. Backups, snapshots and what a disk
// keeps of overwritten blocks are the program's to erase.
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
// One connection writes. Calls that wait for it at the same time share one BEGIN IMMEDIATE
// transaction, each in a savepoint of its own, and so one wait for the disk: 64 clients
// append about four times as many turns as one, and none is answered before the commit.
// [Config].ReadConns other connections read and are never blocked by writing. The
// benchmarks measure appends of 1 and of 64 clients, a durable batch, a check for changes
// that finds none, loading 10,000 vectors, and pages of lists.
//
// The "-wal" file grows to 16 MB before its pages go to the file; each connection caches up
// to 8 MB.
//
// Idempotency keys are kept for 31 days, tombstones and history until the
// partition is dropped. An expired session is gone at once for every call; its
// rows are purged by later appends, a few at a time. What a page of [Store.List] or
// [Store.ListBlobs] costs does not depend on how many sessions or blobs there are.
package sqlitestore
