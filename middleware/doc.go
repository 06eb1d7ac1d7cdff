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
// Before the agent answers, what is known of Ann and fits her question stands in
// front of it. After the answer the turn is in a durable log, and the backend
// learns from it in the background.
//
// # Modes
//
// [Config].Mode says who is in charge: the program (modes.StaticControl: search
// before, record after), the agent (modes.AgentControl: it gets search_memory and
// add_memory, and a section of the system prompt that says when to use them), or
// both, which is the default. See package modes for the table.
//
// # Two memories
//
// An agent has one memory middleware. Facts and experience come into one by
// [backends.Join]:
//
//	middleware.Config{Backend: backends.Join(facts, experience)} // of mem0.New and reme.New
//
// Two middlewares on one agent need names of their own, Config.NoteName and
// Config.ToolNames, else its first run fails with an error that says so.
//
// # The note
//
// What was found is shown inside the last message of the user, before the user's own
// words; Config.Note makes it a message of its own. It is fenced and says that it is
// data, not instructions; nothing in a memory can close the fence. It is bounded by
// count (TopK) and size (NoteTokens), is injected once a reply, and is never stored or
// learnt from: log, history and searches have the user's words alone.
//
// # Scope
//
// A [Scope] says whose memory a run has. Its parts come from the context
// ([WithScope]), else from the session values of the run ("user_id" and so on,
// see adk.WithSessionValues), else from Config.Scope. What a user says belongs to
// that user alone. A run that names no user has no memory; it never gets a shared
// one, and no text or tool argument of a model chooses one. With a workspace it finds
// the experience shared there; an agent's own memory is asked for by Config.AgentMemory.
//
// # What is not remembered
//
// A user who says "Don't remember this: …" or "别记住…" is obeyed: nothing of that turn is
// logged or learnt, since the answer may repeat it, and the memory tools write nothing down.
// Where that is all that they say, it is about what was said before, too, as far as it is not
// learnt yet. The log has placeholders, which say nothing. Programs have the same by
// [Private] for a message, Config.Learn for those that it names, such as the results of a
// tool, and [Incognito] for a whole run, of which not even placeholders are kept.
//
// Config.Confirm is asked before the agent's tools change or delete what is known, and
// before learning retracts anything. By a tool it may interrupt the run: see
// [backends.Confirm].
//
// Middlewares serve any number of agents, users and goroutines. In Eino 0.7 one
// agent must not be run by two goroutines at once: build one for each, with the
// same middleware.
//
// # Tidying up
//
// With [Config].Reflect memory is tidied in the background: duplicates are merged, what was
// contradicted ends, insights are drawn. See package reflection, and [MemoryMiddleware.Reflection]
// for its plans, which can be taken back.
//
//	middleware.Config{Backend: backend, Reflect: &reflection.Schedule{Config: reflection.Config{Model: chatModel}}}
//
// # Working memory
//
// With [Config].Window set and a session in its scope, a run needs the new message
// alone: what was said before is loaded in front of it, and the whole turn is in
// the log when the run ends. A caller who passes what was said before gets no
// second copy. Every context fits the model's window, or the run fails with a
// compaction.OverError that says by how much it does not. What leaves a context is in
// the store before it does, and the agent finds it again with grep_working_memory
// and read_working_memory, whatever the mode. See package window, and package
// compaction for what is done in which order. [Config].Core adds blocks that are
// always in the prompt.
//
//	middleware.Config{
//		Backend: backend,
//		Window:  &window.Config{Budget: compaction.Budget{Window: 128_000}, Model: chatModel},
//	}
//
// Other middlewares may shrink the context, too. Give memory the first place in
// the chain, or wrap the runner, so that it sees what they take away.
//
// # Other ways in
//
// [hooks.Hooks.WrapRunner] is for trees of agents and for runs that are
// interrupted and resumed; [hooks.Hooks.MessageModifier] for flow/agent/react;
// [hooks.Hooks.Prepare] and [hooks.Hooks.Finish] for graphs; the module
// middleware/handler for agents with handlers, as Eino 0.9 has them; [hooks.Hooks.AsRetriever]
// for a retriever node; [MemoryMiddleware.Tools] for agents that take no middleware, and
// [hooks.Hooks.Instruction] for their prompts. With a window,
// [hooks.Hooks.MessageRewriter] is for flow/agent/react, and
// [MemoryMiddleware.WrapModel] fits whatever a model gets, anywhere; beside AgentMiddleware it
// also keeps calls that a weak model prints from people. Used together for one run they do
// the work once.
//
// # Failure
//
// Memory never breaks a reply. A search that fails, or takes longer than
// SearchTimeout, leaves the reply without a note; a turn that cannot be learnt
// from stays in the log and is tried again. Each failure is logged and given to
// Config.OnError with its stage. Errors of the tools become text that the model
// can act on.
//
// # Shutdown
//
// [MemoryMiddleware.Close] writes what was recorded to the log and stops. Turns that
// were not learnt from yet are learnt from by the next process on the same store.
// [MemoryMiddleware.Flush] before it waits for that. Then close the backend, then
// the store:
//
//	defer file.Close()
//	defer backend.Close(ctx)
//	defer mem.Close(ctx)
package middleware
