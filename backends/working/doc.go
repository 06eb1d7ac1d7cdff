// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package working is the working memory of a session: the log of its messages, and
// consolidation, which makes lasting memories of them.
//
//	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: backend})
//	…
//	err = mem.Append(ctx, &working.Turn{Scope: scope, ID: "t1", Messages: turn, Done: true})
//	…
//	err = mem.Close(ctx)
//
// # The log is the outbox
//
// A reply must not wait for a model that learns, and messages must outlive a failure of that
// model. So a [Turn] is first appended to its session's log, in one atomic write. Once enough
// turns are pending, or the session was idle for a second, a worker takes the session's lease.
// It reads the log after the watermark, and passes it to the backend together with a few
// messages before it. The watermark moves in the same write that stores the memories. A backend
// that keeps its memories in another partition stores them first; then the idempotency key of
// the batch makes a repeat harmless. The range is stored before each try.
//
// A process may die between any two of these steps. Another process finds the session
// (see Config.Sweep), waits for the lease to expire, and continues at the watermark. A
// process that was only slow has its fencing token refused.
//
// # Turns
//
// The backend learns from complete turns only, in order. A turn is complete when it is Done, or
// Config.OpenTurn after its last message. A message is identified by the turn's id and its index
// in the turn, so that appending a part of a turn twice is harmless. The log leaves out system
// messages, memory notes and empty messages, and every text is redacted before it enters.
//
// # When learning fails
//
// The pause after a failure is stored with the session, so that all processes respect it. A
// failure whose cause is outside the messages is retried for as long as it takes, with pauses
// that grow to five minutes. The cause may be a model, an embedder or a store that is down, or a
// time-out. It may be a refused key (401, 403), an account out of money, or an unknown model
// (404). [Memory.Health] shows it.
//
// A range refused for its content (backends.ErrInvalid: 400, 413, 422) is divided at once, and a
// range with senseless answers of the model (backends.ErrModel) after five attempts. A part
// that fails is divided again, until the turn at fault is alone. It joins the session's
// failures, and the other turns are learnt. Package mem0, and package reme about people, keep
// ranges whole in the second case: after two senseless answers they keep the words, and report
// it. [store.Session] has the failures, and [Memory.RetryFailures] retries the failures of all
// sessions. The log keeps all messages.
//
// STATES.md in this folder draws the states of a turn on its way to a fact.
//
// Each part has its own idempotency key. So a range that may have been learnt from already stays
// whole: if a process died during the try, or the backend's answer was lost, the whole range
// joins the failures.
package working
