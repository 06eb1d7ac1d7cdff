// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package session loads conversations for models, and manages them for people.
//
//	sessions, err := session.New(&session.Config{Sessions: db})
//	…
//	history, err := sessions.Load(ctx, &session.LoadRequest{Scope: scope, Tokens: 8000})
//	reply, err := model.Generate(ctx, append(history.Messages, schema.UserMessage(question)))
//
// # What is loaded
//
// Package working keeps all that was said in the log of its session. [Service.Load]
// returns the end of it: whole turns, as many as fit. In front of them stands the
// summary, if somebody made one ([Service.CommitSummary]), and a short notice of
// what lies between the two, so that nothing is out of reach: "log-12-40" names
// messages 12 to 40 for the tools that read archives. It costs as much as what it
// returns, however long the session is.
//
// The list is one that providers accept: each call of a tool is followed by its
// result. Every message says, in marks that no provider sees, which entry of the
// log it is.
//
// # One log, several writers
//
// A log only grows, so that reading needs no lock. Its state changes by
// compare-and-swap: a summary replaces the one that it was made from or none, and
// what was appended while a model wrote it is outside of it.
//
// # Errors
//
// A session that does not exist is backends.ErrNotFound, and for Load an empty
// history; one that is in the way is ErrConflict; arguments that can never
// succeed are ErrInvalid; a store that does not answer is ErrUnavailable. A
// failed read is never an empty session.
package session
