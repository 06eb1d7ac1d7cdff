// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package working is the working memory of a session: the log of what was said,
// and consolidation, which makes lasting memories of it.
//
//	mem, err := working.New(ctx, &working.Config{Sessions: db, Backend: backend})
//	…
//	err = mem.Append(ctx, &working.Turn{Scope: scope, ID: "t1", Messages: turn, Done: true})
//	…
//	err = mem.Close(ctx)
//
// # The log is the outbox
//
// A reply must not wait for a model to think about what is worth remembering, and
// what was said must not be lost when that model fails. So a [Turn] is first
// appended to its session's log, in one atomic write. Once enough turns wait, or
// the session was idle for a second, a worker takes the session's lease, reads
// what lies after the watermark, shows it to the backend together with a few
// messages before it, and the watermark moves in the same write that stores the
// memories. Where a backend keeps its memories in another partition, the
// watermark moves after them, and the idempotency key of the batch makes a repeat
// harmless: which stretch is tried is written down before it is.
//
// A process may die between any two of these steps. Another one finds the
// session (see Config.Sweep), waits for the lease to expire, and goes on at the
// watermark. A process that was only slow finds its fencing token refused.
//
// # Turns
//
// Only complete turns are learnt from, in order. A turn is complete when it is
// Done, or was not heard of for Config.OpenTurn. Messages are known by the turn's
// id and their index in it, so that telling a piece of a turn twice is harmless.
// System messages, injected memory notes and empty messages never enter the log;
// every text is redacted before it does.
//
// # What a model is shown of it
//
// The log is also what a conversation goes on from. Package window below shows a
// model as much of it as fits: session loads it, compaction makes it smaller,
// archive keeps what leaves, budget counts, core has the blocks that stay, and
// prompt puts a prompt together without an agent.
//
// # When learning fails
//
// The pause after a failure is kept in the session, so that all processes respect
// it. After Config.MaxAttempts the stretch is divided, and a part that fails again
// is divided further, until the turn that cannot be learnt from is alone. It is
// put among the session's failures and the others are learnt; [Memory.Failures]
// lists them, and [Memory.RetryFailures] tries them again. Nothing is removed from
// the log.
//
// Parts have idempotency keys of their own, so that a stretch which may have been
// learnt from already is never divided: where a process died over it, or the
// backend's answer was lost, all of it is put aside.
package working
