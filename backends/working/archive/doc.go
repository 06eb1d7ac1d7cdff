// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive keeps the messages that left the context of a session, so that they can be
// read, searched and put back.
//
//	archives, err := archive.New(&archive.Config{Sessions: sessions})
//	x, err := archives.Of(scope)             // the archive of one session
//	id, err := x.Put(ctx, messages)          // "log-12-40", or "a-" and 20 characters
//	messages, err = x.Restore(ctx, context)  // originals again, wherever a placeholder stood
//	page, err := x.Read(ctx, &archive.ReadRequest{Ref: id, Line: 1})
//	found, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "timeout"})
//
// # Ids
//
// "log-12-40" are the messages 12 to 40 of the session's own log. The log is append-only and
// holds the originals, so that such an archive needs no write. "a-…" is a blob beside the log,
// named by a hash of its content: an id keeps its meaning for ever, and reading detects a
// damaged blob.
//
// An id is looked up only in the session of the scope. The forms above are the only legal ones:
// an id names neither a path, a user nor another session.
//
// # Placeholders
//
// A placeholder is a message that stands for others, and carries their id as a mark
// in its Extra. Placeholders may be archived themselves: [Archive.Restore] goes through all
// levels, and is the inverse of compaction.
//
// # Text
//
// Models read text. A single message with only text is shown as exactly that text. Every other
// archive has a line above each message:
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
// Blobs live as long as their session: they go when it expires or is deleted. The mark of a
// message alone says that it is in the log; the log is not asked. So keep marked messages within
// their session. Archived messages keep these marks and lose the rest of Extra and ResponseMeta,
// as in the log.
package archive
