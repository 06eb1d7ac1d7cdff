// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolkit is memory in the hands of an agent: tools that a model calls
// to look things up and to note them down.
//
//	tools, err := toolkit.New(ctx, &toolkit.Config{
//		Backend: backend,
//		Scope:   func(ctx context.Context) (backends.Scope, error) { return currentUser(ctx) },
//	})
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		…
//		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: slices.Clip(tools)}},
//	})
//
// Whoever uses package middleware need not call this one: there the mode decides
// whether an agent gets tools.
//
// # The tools
//
// search_memory(keywords, limit) runs one search for each keyword, several at a
// time, and shows what they found once each, in the order of the keywords, as
// "- [id] date: text". Where one keyword fails, what the others found is shown
// all the same, with the failure below it.
//
// add_memory(thinking, content) notes something down. The thinking is never
// stored: it is there because models choose better what to note when they say
// why, and it is echoed in the result alone. The content goes to the backend as
// one message to learn from; if nothing at all comes of that, it is stored word
// for word. What the backend knows already is not stored twice. A call that an
// interrupted run repeats after its resumption adds nothing.
//
// update_memory(id, content) and delete_memory(id) are off unless asked for, and
// need a backend that is a [backends.Manager].
//
// # Working memory, and core blocks
//
// [WorkingMemory] returns grep_working_memory(pattern, regex, archives, …) and
// read_working_memory(archive, line, …, byte, …): an agent finds again what left
// its context, in its own session alone. [CoreMemory] returns
// core_memory_append(block, text) and core_memory_replace(block, old_text,
// new_text): an agent edits what is always in its prompt, within the limits.
//
// # Whose memory
//
// A tool knows no user. The scope is looked up with Config.Scope at each call and
// nowhere else: arguments that name a user, an agent or a partition are ignored,
// and an id that belongs to somebody else is not found. One set of tools serves
// any number of agents, users and goroutines.
//
// # Failure
//
// In Eino an error of a tool ends the agent's run. So every error, also that of
// arguments which are no JSON, becomes text that says what the model can do about
// it, and goes to Config.OnError. A cancelled context alone stays an error.
package toolkit
