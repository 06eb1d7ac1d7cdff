// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a batch or a session's update does: the same on every
// store. It reads through a function and writes nothing, so that a store is left
// with storage alone: it reads records, lets [Batch] plan, and writes the [Plan]
// wholly or not at all.
//
// A store that plans under a lock writes what it is told. One that plans first
// and commits later compares every [Check] of the plan when it commits, and plans
// anew on fresh records when one of them fails: a plan holds for the records that
// it was made from, changed or not.
//
// Sessions are the same on a smaller scale: [Session] gives the state after an
// update, for a store that knows that the state before is still current.
//
// What is left to stores: validating the batch, replaying idempotency keys,
// raising versions, and looking up sessions.
package plan
