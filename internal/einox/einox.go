// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package einox holds the workarounds of Eino's traps, each with a test that reproduces the trap.
// It imports no agent code, so that the core may use it. Package adkx below it has the workarounds
// that need the agent development kit.
//
// The list has the traps of Eino v0.7.36, and the place that deals with each. A test is named by
// its trap, TestT01 to TestT20. Most fail when the trap is gone, so that the workaround may go as
// well. Eino 0.8 is free of T3, T4, T12 and T18: see testkit.OldTrap.
//
//	T1  braces of an instruction become templates        hooks: constant texts, checked by New
//	T2  BeforeChatModel runs at every call and persists  Mark.Found, hooks
//	T3  a model call in a hook speaks as the agent       work.Detach
//	T4  hooks hold the lock of the state                 hooks: never touch it
//	T5  checkpoints encode Extra with gob                a Mark is one string; Portable
//	T6  session values switch templates on               hooks: only read them
//	T7  a resume loses the context                       hooks.Hooks.ResolveScope
//	T8  concurrent runs of one agent race                hooks: a run's state is in its context
//	T9  edits after the model miss the event             hooks: only read
//	T10 a message behind a tool call ends the run        hooks: only read
//	T11 an error of a tool ends the run                  toolkit: errors become text
//	T12 tools are appended to the caller's slice         hooks: own slices, the user from the context
//	T13 messages are shared with the caller              marks are put on copies
//	T14 some turns end without a last answer             hooks.Runner
//	T15 in an agent tool a model writes the request      hooks: recall, never record
//	T16 transfers speak in the user's role               IsRetold
//	T17 some agents lack middlewares                     hooks.Runner
//	T18 an empty instruction makes a blank message       hooks: dropped
//	T19 errors of hooks fail the run                     hooks: only for the window and double entries
//	T20 writing holds up the end of the iterator         hooks: events first, then a queue
package einox
