// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package middleware gives an Eino agent a memory that outlives the conversation,
// the process and the machine. One value, one line in the agent:
//
//	file, err := sqlitestore.Open(ctx, "memory.db", nil)
//	backend, err := mem0.New(ctx, &mem0.Config{Store: file, Model: chatModel})
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend})
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Name: "assistant", Description: "helps", Model: chatModel,
//		Middlewares: []adk.AgentMiddleware{mem.AgentMiddleware()},
//	})
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
//	ctx = middleware.WithScope(ctx, middleware.Scope{UserID: "ann", SessionID: "chat-1"})
//	events := runner.Query(ctx, "Where did I want to travel?")
//
// Before the agent answers, the memories of Ann that fit her question stand in front of it. After
// the answer the turn is in a durable log, and the backend learns from it in the background.
//
// # Modes
//
// [Config].Mode puts memory in the hands of the program (modes.StaticControl: search before, record
// after), of the agent (modes.AgentControl: it gets search_memory and add_memory, and a section of
// the system prompt that says when to use them), or of both, which is the default. See package
// modes for the table.
//
// # Two memories
//
// An agent has one memory middleware. Facts and experience come into one by
// [backends.Join]:
//
//	middleware.Config{Backend: backends.Join(facts, experience)} // of mem0.New and reme.New
//
// Two middlewares on one agent need names of their own, Config.NoteName and Config.ToolNames, else
// its first run fails with an error that names them.
//
// # The note
//
// The memories found stand inside the last message of the user, before the user's own words;
// Config.Note makes them a message of their own. The note is fenced and calls itself data, not
// instructions; memories are cleared of the brackets that could close the fence. Its count (TopK)
// and size (NoteTokens) are bounded. It is injected once a reply, and stays out of the store and of
// learning: log, history and searches have the user's words alone.
//
// # Scope
//
// A [Scope] says whose memory a run has. Its parts come from the context ([WithScope]), else from
// the session values of the run ("user_id" and so on, see adk.WithSessionValues), else from
// Config.Scope. A user's words belong to that user alone. A run that names no user has no memory,
// rather than a shared one. Texts and tool arguments of a model have no say in it. With a workspace
// the run finds the experience shared there. Config.AgentMemory gives an agent a memory of its own.
//
// # Private messages
//
// Memory obeys a user who says "Don't remember this: …" or "别记住…": it neither logs nor learns that
// turn, since the answer may repeat it, and the memory tools write nothing down. A request that
// stands alone covers the messages before it, too, as far as they wait to be learnt from. The log
// has placeholders, free of the words. Programs have the same by [Private] for a message, by
// Config.Learn for the messages that it names, such as the results of a tool, and by [Incognito]
// for a whole run, which leaves not even placeholders.
//
// Config.Confirm is asked before the agent's tools change or delete a memory, and before learning
// retracts anything. In a tool it may interrupt the run: see [backends.Confirm].
//
// Middlewares serve any number of agents, users and goroutines. In Eino 0.7 one
// agent must not be run by two goroutines at once: build one for each, with the
// same middleware.
//
// # Tidying up
//
// With [Config].Reflect memory is tidied in the background: it merges duplicates, ends contradicted
// memories, and draws insights. See package reflection, and [MemoryMiddleware.Reflection] for its
// plans, which can be taken back.
//
//	middleware.Config{Backend: backend, Reflect: &reflection.Schedule{Config: reflection.Config{Model: chatModel}}}
//
// # Working memory
//
// With [Config].Window set and a session in its scope, a run needs the new message alone: the
// session's messages are loaded in front of it, and the whole turn is in the log when the run ends.
// A caller who passes the earlier messages gets them once. Every context fits the model's window,
// also after a person pasted a book: its beginning and end are shown, the rest is read by tools, or
// piece by piece by a model (compaction.ShortenInput). Where system prompts and media alone exceed
// the window, the run fails with a compaction.OverError. Messages are in the store before they
// leave a context. The agent finds them again with grep_working_memory and read_working_memory,
// whatever the mode. See package window, and package compaction for its steps
// and their order. [Config].Core adds blocks that are always in the prompt.
//
//	middleware.Config{
//		Backend: backend,
//		Window:  &window.Config{Budget: compaction.Budget{Window: 128_000}, Model: chatModel},
//	}
//
// Other middlewares may shrink the context, too. Give memory the first place in the chain, or wrap
// the runner, so that it sees the messages that they remove.
//
// # Other ways in
//
// [hooks.Hooks.WrapRunner] serves trees of agents and runs that are interrupted and resumed;
// [hooks.Hooks.MessageModifier] flow/agent/react; [hooks.Hooks.Prepare] and [hooks.Hooks.Finish]
// graphs; the module middleware/handler agents with handlers, as Eino 0.9 has them;
// [hooks.Hooks.AsIndexer] an indexer node and [hooks.Hooks.AsRetriever] a retriever node; [MemoryMiddleware.Tools] agents that take no
// middleware, and [hooks.Hooks.Instruction] their prompts.
//
// With a window, [hooks.Hooks.MessageRewriter] serves flow/agent/react, and
// [MemoryMiddleware.WrapModel] fits every context of a model, anywhere; beside AgentMiddleware it
// also hides from people the calls that a weak model prints. Used together for one run they do the
// work once.
//
// # Failure
//
// Memory never breaks a reply. If a search fails, or takes longer than SearchTimeout, the reply
// goes on and the note is missing. A turn that learning fails on stays in the log and is tried
// again. Each failure is logged and given to Config.OnError with its stage. Errors of the tools
// become text that the model can act on.
//
// # Shutdown
//
// [MemoryMiddleware.Close] writes the recorded turns to the log and stops. The next process on the
// same store learns from turns that still wait. [MemoryMiddleware.Flush] before it waits for that.
// Then close the backend, then the store:
//
//	defer file.Close()
//	defer backend.Close(ctx)
//	defer mem.Close(ctx)
package middleware
