// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package window decides which part of a session a model sees: the earlier messages, as many as
// fit, in front of the new ones.
//
//	w, err := window.New(&window.Config{Sessions: db, Budget: compaction.Budget{Window: 128_000}, Model: chatModel})
//	…
//	history, err := w.History(ctx, scope)
//	fitted, err := w.Fit(ctx, scope, append(history, schema.UserMessage(question)))
//
// Package working writes the session's log. [Window.History] loads the end of it, and
// [Window.Fit] makes a context fit the model's window. [Window.Prompt] does both for a program
// without an agent, and adds memories. [Window.Sessions] lists, reads, renames, forks and
// expires conversations.
//
// Package compaction makes contexts smaller, package archive keeps the messages that left them,
// and package core has the blocks that stay in every context. Each works by itself, too.
//
// # Everything stays readable
//
// Messages are stored before they leave a context: most are in the session's log already, the
// rest goes to the session's archives. [Window.Restore] undoes a compaction. An agent reads and
// searches the archived messages with the tools of package toolkit.
//
// # Summaries
//
// A summary that covers the beginning of the log is kept with the session by compare-and-swap,
// so that the next run starts from it. A turn that is appended while the model summarises stays:
// it is behind the end of the summary.
//
// # Errors
//
// A missing session is backends.ErrNotFound; for [Window.History] and [Sessions.Load] it is an
// empty history. Arguments that can never succeed are ErrInvalid. A scope that names neither a
// user nor an agent is ErrNoScope. A store that is down is ErrUnavailable: a failed read always
// returns an error, never an empty session.
package window
