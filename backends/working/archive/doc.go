// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive keeps what left the context of a session, so that it can be
// read, searched and put back.
//
//	archives, err := archive.New(&archive.Config{Sessions: sessions})
//	x, err := archives.Of(scope)             // the archive of one session
//	id, err := x.Put(ctx, messages)          // "log-12-40", or "a-" and 20 characters
//	messages, err = x.Restore(ctx, context)  // the originals in the place of what stands for them
//	page, err := x.Read(ctx, &archive.ReadRequest{Ref: id, Line: 1})
//	found, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "timeout"})
//
// # Ids
//
// "log-12-40" are the messages 12 to 40 of the session's own log: it is
// append-only and holds the originals, so that nothing is written. "a-…" is a
// blob beside the log, named by a hash of what is in it: an id never comes to mean
// something else, and a blob that was damaged is found out.
//
// An id is looked up in the session that the scope names and nowhere else, and
// can be nothing but these: no path, no user, no other session.
//
// # Placeholders
//
// A message that takes the place of others carries their id as a mark
// (einox.MarkRef). Such a message may be archived itself: [Archive.Restore] goes
// through all levels, and is the inverse of compaction.
//
// # Text
//
// Models read text. A single message that is nothing but text is exactly that.
// Everything else is shown with a line above each message:
//
//	[12] assistant 2026-11-21 10:00
//	reasoning: the file should say it
//	I'll look.
//	call read_file({"path":"notes.txt"})
//	[13] tool read_file 2026-11-21 10:00
//	…
//
// [Archive.Read] pages through it by line or by byte, so that a line of any length
// can be read. [Archive.Grep] finds lines, says where Read shows them, and truncates
// long ones around the match.
//
// # Caveats
//
// Blobs end with their session: they go when it expires or is deleted. Whether a
// message is in the log goes by its mark alone, which is not checked against the
// log: do not carry marked messages from one session to another. Messages beyond
// those marks lose Extra and ResponseMeta, as they do in the log.
package archive
