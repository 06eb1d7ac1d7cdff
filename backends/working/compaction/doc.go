// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package compaction makes the context of a long task fit what a model takes,
// without losing a word of it.
//
//	compactor, err := compaction.New(&compaction.Config{Budget: compaction.Budget{Window: 128_000}})
//	…
//	result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: archive})
//	… = model.Generate(ctx, result.Messages)
//
// # Steps
//
// A [Compactor] has a list of steps. Each runs only while the context is too
// large, works from the oldest message to the newest, and stops as soon as the
// context fits. Each may be used alone. From free to costly:
//
//   - [DropDerived] drops notes of former searches, and the reasoning of former
//     rounds, but the beginning of what led to calls.
//   - [OffloadTools] moves large results of tools to the archive. What stays names
//     the call, the size, and the reference by which the result is read.
//   - [OffloadMessages] does so with long messages of former rounds, and media.
//   - [SummarizeRounds] has a model summarise past rounds.
//   - [SummarizeCurrent] has it summarise the older steps of the running round.
//   - [ArchiveRounds] puts one short message in the place of past rounds, without
//     a model.
//   - [ArchiveCurrent] does so with the older steps of the running round.
//
// What is read piece by piece, such as the pages of a long text, leaves with each step a summary
// of bounded size: see the example of [SummarizeCurrent].
//
// [Free] returns those that call no model, [Default] all of them, in this order: where
// the model fails, the steps behind it bring the context into its budget. [ReMe] returns
// a configuration that does what ReMe's modes do.
//
// # What is always so
//
// Providers take the result: every call of a tool is followed by its one result,
// nothing is empty, the user begins. That holds for any list of messages whose parts
// fit their roles, also when nothing had to leave: results are moved behind their
// calls, calls that were interrupted get a result that says so, and a result without
// its call becomes a message of its own. What the system says, the user's words in
// the running round (the last user message, with others of the same turn), memory's
// notes for that round, and the newest exchange are kept; large results are offloaded
// wherever they are.
//
// What leaves is in the [Archive] before anything is replaced; where that fails the
// message stays, and the [Report] of the step says why. The placeholder that takes its
// place is smaller, says that it is one, and carries the archive's reference as a mark,
// so that archive.Restore brings everything back but notes, which a search finds again.
//
// The same context gives the same result, and a result that fits is left as it is.
// Messages are never changed in place.
package compaction
