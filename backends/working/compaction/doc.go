// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package compaction makes the context of a long task fit a model's window, and keeps the
// originals in an archive.
//
//	compactor, err := compaction.New(&compaction.Config{Budget: compaction.Budget{Window: 128_000}})
//	…
//	result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: archive})
//	… = model.Generate(ctx, result.Messages)
//
// # Steps
//
// A [Compactor] has a list of steps. Each runs only while the context is too large, works from
// the oldest message to the newest, and stops as soon as the context fits. Each may be used
// alone. From free to costly:
//
//   - [DropDerived] drops notes of former searches, and the reasoning of former rounds except
//     the beginning of reasoning that led to calls.
//   - [OffloadTools] moves large results of tools to the archive. A short message stays with
//     the call, the size, and the reference by which the result is read.
//   - [OffloadMessages] offloads long messages of former rounds, and media.
//   - [ShortenInput] shortens a user's message that is larger than the window, such as a pasted
//     log, and can have a model read it in pieces.
//   - [SummarizeRounds] has a model summarise past rounds.
//   - [SummarizeCurrent] has it summarise the older steps of the running round.
//   - [ArchiveRounds] replaces past rounds by one short message that code writes.
//   - [ArchiveCurrent] does the same with the older steps of the running round.
//   - [Rewrite] is the step of a program's own.
//
// A long text that is read page by page leaves a summary of bounded size with each step: see the
// example of [SummarizeCurrent].
//
// [Free] returns the steps that call no model, [Default] all of them, in this order: where the
// model fails, the steps behind it bring the context into its budget. [ReMe] returns a
// configuration that works as ReMe's modes do.
//
// # Guarantees
//
// Providers accept the result: the user begins, every message has content, and every call of a
// tool is followed by its one result. That holds for any list of messages whose parts fit their
// roles, also for one that fits already. Results are moved behind their calls. Interrupted calls
// get a result that says so, and a result that lost its call becomes a message of its own. The
// system's messages, memory's notes for the running round and the newest exchange are kept. So
// are the user's words in that round: the last user message, with others of the same turn. Words
// that no window shows whole keep their two ends, and the way to the rest. Large results are
// offloaded wherever they are.
//
// Messages reach the [Archive] before anything replaces them. If archiving fails the message
// stays, and the [Report] of the step has the error. A placeholder is smaller than its
// originals, says that it is one, and carries the archive's reference as a mark. So
// archive.Restore brings everything back except notes; a search finds those again.
//
// Equal contexts give equal results, and a result that fits is left as it is. Messages are
// copied before any change.
package compaction
