// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlitestore keeps records and sessions in one SQLite file. It is the embedded
// default, in pure Go (modernc.org/sqlite), and needs no installation.
//
//	s, err := sqlitestore.Open(ctx, "memory.db", nil)
//
// A [Store] implements the whole contract of package store. An acknowledged write
// survives a kill of the process at any moment, and unless [Config].Relaxed is set also a
// power cut. Several processes may have the file open: they see each other's writes at
// once and wait for each other's locks up to [Config].BusyTimeout. The file belongs on a
// local disk: the locks of network shares are unreliable. While it is open, two files of
// SQLite's stand next to it, "-wal" and "-shm". They are part of the database, so copy a
// file that is in use with the shell's ".backup" or VACUUM INTO.
//
// # Damage
//
// Each row has a CRC-32C of its key and content (column sum), which every reading of the row
// checks. A damaged row is ErrUnavailable with its name; the others answer. [Store.Changes]
// of a partition returns an error for a damaged record, and for fewer records than the
// partition's row counts. An index without them would pass for the whole. So does
// [Store.Read] where a message is missing. Put a backup in the file's place, or begin a new
// file from the shell's ".recover". A row of an earlier version gets its checksum when it is
// written again. A write of another program looks like damage, unless it sets sum to NULL;
// other programs may read, back up and vacuum the file. Reads notice an index that leads to
// another row, except for the sizes in [Store.ListBlobs]. They miss an index that hides a
// single row: [Store.Check] compares all indexes with their tables, and reads every checksum.
// The "-wal" file has SQLite's own checksums.
//
// Every call checks that the file is where it was when the store was opened. A file that
// was removed, replaced or emptied is ErrUnavailable until the store is opened again.
//
// # Deletion
//
// Deleted bytes are overwritten (secure_delete), but SQLite may leave copies where it moved data.
// Until the next checkpoint old bytes stand in the file and in "-wal". [Store.Reclaim] overwrites
// those copies in place, and empties "-wal". The room is used again; [Store.Compact] makes the
// file smaller. The program itself must erase backups, snapshots and old blocks that the disk
// keeps.
//
// # Tables
//
// All are readable with the sqlite3 shell; states, memories, messages and events are JSON as
// in packages backends and store (the number of a message is in column seq). The number of a
// partition stands first in every key. Tables with content have a column sum.
//
//	partitions  pk, namespace, kind, id, version, records, model, dim   a partition; model and dim name its embedding
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
// Times in columns are microseconds since 1970. For example, the memories of ann:
//
//	SELECT memory ->> 'text' FROM records JOIN partitions ON part = partitions.pk
//	WHERE kind = 'user' AND partitions.id = 'ann' AND memory ->> 'superseded_by' IS NULL;
//
// PRAGMA user_version is the version of the schema, and Open brings older files up to
// date. PRAGMA application_id marks the file as one of this package, so the tables of
// another application stay untouched.
//
// # Costs
//
// One connection writes. Calls that wait for it at the same time share one BEGIN IMMEDIATE
// transaction, each in a savepoint of its own, and so one wait for the disk. So 64 clients
// append about eight times as many turns as one, and each is answered after the commit.
// Four other connections read, and go on during writes. The benchmarks
// measure appends of 1 and of 64 clients, a durable batch, a check that finds no change,
// loading 10,000 vectors, and pages of lists.
//
// The "-wal" file grows to 16 MB before its pages go to the file; each connection caches up
// to 8 MB.
//
// Idempotency keys are kept for 31 days, tombstones and history until the partition is
// dropped. An expired session is gone at once for every call; later writes purge its
// rows, a few at a time. The cost of a page of [Store.List] or [Store.ListBlobs] is
// independent of the number of sessions or blobs.
package sqlitestore
