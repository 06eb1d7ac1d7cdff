// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package working is the working memory of a session: the log of what was said, and
// consolidation, which makes lasting memories of it.
//
//	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: backend})
//	…
//	err = mem.Append(ctx, &working.Turn{Scope: scope, ID: "t1", Messages: turn, Done: true})
//	…
//	err = mem.Close(ctx)
//
// # The log is the outbox
//
// A reply must not wait for a model that decides what is worth remembering, and what was
// said must not be lost when that model fails. So a [Turn] is first appended to its
// session's log, in one atomic write. Once enough turns are pending, or the session was
// idle for a second, a worker takes the session's lease, reads the log after the
// watermark, and passes it to the backend together with a few messages before it. The
// watermark moves in the same write that stores the memories. A backend that keeps its
// memories in another partition stores them first; then the idempotency key of the batch
// makes a repeat harmless. Which range is being tried is stored before the try.
//
// A process may die between any two of these steps. Another process finds the session
// (see Config.Sweep), waits for the lease to expire, and continues at the watermark. A
// process that was only slow has its fencing token refused.
//
// # Turns
//
// The backend learns from complete turns only, in order. A turn is complete when it is
// Done, or Config.OpenTurn after its last message. A message is identified by the turn's
// id and its index in the turn, so that appending a part of a turn twice is harmless.
// System messages, memory notes and empty messages never enter the log; every text is
// redacted before it does.
//
// # When learning fails
//
// The pause after a failure is stored with the session, so that all processes respect it.
// A failure that is no fault of the messages is retried for as long as it takes, with
// pauses that grow to five minutes: a model, an embedder or a store that is away, time-outs,
// a key that is refused (401, 403), an account without money, a model that does not exist
// (404). [Memory.Health] shows it.
//
// What is refused for its content (backends.ErrInvalid: 400, 413, 422) is divided at
// once, and what a model answers without sense (backends.ErrModel) after
// Config.MaxAttempts: a part that fails is divided again, until the turn that cannot be
// learnt from is alone. It joins the session's failures, and the other turns are learnt.
// Package mem0, and package reme about people, divide nothing for the latter: after two answers
// without sense they keep the words, and report it. [store.Session] has the failures,
// [Memory.RetryFailures] retries those of all sessions. Nothing is removed from the log.
//
// STATES.md in this folder draws the states of a turn on its way to a fact.
//
// Each part has its own idempotency key. So a range that may have been learnt from
// already is never divided: where a process died during the try, or the backend's answer
// was lost, the whole range joins the failures.
package working
