// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package einox holds the workarounds of Eino's traps, each with a test that
// reproduces the trap. It imports no agent code, so that the core may use it;
// what needs the agent development kit is in package adkx below it.
//
// The traps of Eino v0.7.36, and where each is dealt with. A test is named by its
// trap, TestT01 to TestT20; most fail when the trap is gone, so that the
// workaround may go as well. Eino 0.8 has T3, T4, T12 and T18 no more: see
// testkit.OldTrap.
//
//	T1  braces of an instruction become templates        hooks: constant texts, checked by New
//	T2  BeforeChatModel runs at every call and persists  MarkSearch, hooks
//	T3  a model call in a hook speaks as the agent       Detach
//	T4  hooks hold the lock of the state                 hooks: never touch it
//	T5  checkpoints encode Extra with gob                marks are strings; Portable
//	T6  session values switch templates on               hooks: never write any
//	T7  contexts do not survive a resume                 hooks.Hooks.ResolveScope
//	T8  concurrent runs of one agent race                hooks: nothing of a run in the value
//	T9  edits after the model do not reach the event     hooks: only read
//	T10 a message behind a tool call ends the run        hooks: only read
//	T11 an error of a tool ends the run                  toolkit: errors become text
//	T12 tools are appended to the caller's slice         hooks: slices of their own, no user in a tool
//	T13 messages are shared with the caller              marks are set on copies
//	T14 some turns end without a last answer             hooks.Runner
//	T15 in an agent tool a model writes the request      hooks: recall, never record
//	T16 transfers speak in the user's role               IsRetold
//	T17 some agents take no middlewares                  hooks.Runner
//	T18 an empty instruction makes a blank message       hooks: dropped
//	T19 errors of hooks fail the run                     hooks: never return any
//	T20 writing holds up the end of the iterator         hooks: events first, then a queue
package einox

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
)

// Detach returns a context for a model or embedder call that memory makes on its
// own behalf. Handlers that the surrounding agent put in place are dropped,
// because they would turn the call's output into an event of the agent, or panic
// once the agent's run is over (trap T3); global handlers stay. typ names the
// implementation ("OpenAI"), comp the component.
func Detach(ctx context.Context, typ string, comp components.Component) context.Context {
	return callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: "memory", Type: typ, Component: comp})
}
