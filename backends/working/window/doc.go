// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package window decides what a model is shown of a session: what was said
// before, as much of it as fits, in front of what is said now.
//
//	w, err := window.New(&window.Config{Sessions: db, Budget: compaction.Budget{Window: 128_000}, Model: chatModel})
//	…
//	history, err := w.History(ctx, scope)
//	fitted, err := w.Fit(ctx, scope, append(history, schema.UserMessage(question)))
//
// Package working writes the session's log. [Window.History] loads the end of it, and
// [Window.Fit] makes a context fit what the model takes. [Window.Prompt] does both for a
// program without an agent, with memories. [Window.Sessions] lists, reads, renames, forks and
// expires conversations.
//
// Package compaction makes contexts smaller, package archive keeps what left them, and
// package core has the blocks that never leave; each can be used without this package.
//
// # Nothing is lost
//
// What leaves a context is in the store before it does: most of it is in the session's log
// already, the rest goes to the session's archives. [Window.Restore] undoes a compaction, and
// an agent reads and searches what left with the tools of package toolkit.
//
// # Summaries
//
// A summary that covers the beginning of the log is kept with the session by
// compare-and-swap, so that the next run starts from it. A turn that is appended while the
// model summarises is behind what the summary covers, and stays.
//
// # Errors
//
// A session that does not exist is backends.ErrNotFound, and for [Window.History] and
// [Sessions.Load] an empty history; arguments that can never succeed are ErrInvalid; a scope
// that names neither a user nor an agent is ErrNoScope; a store that does not answer is
// ErrUnavailable. A failed read is never an empty session.
package window
