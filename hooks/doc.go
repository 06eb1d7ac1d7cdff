// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks lets memory into agents built on Eino. It has three hooks: on_reply recalls before
// a reply and records after it, on_system_prompt adds instructions for its memory tools, list_tools
// gives the agent those tools. [Config].Mode decides which of them act. Programs use package
// middleware, which builds the parts that a configuration names and puts these hooks around it.
//
// # Where each hook attaches
//
//	what you have                       use                     on_reply              on_system_prompt, list_tools
//	one ChatModelAgent                  [Hooks.AgentMiddleware] before and after each AdditionalInstruction,
//	                                                            call of the model     AdditionalTools
//	one of Eino 0.9, with handlers      middleware/handler      the same              the same
//	any agent tree: workflow,           [Hooks.WrapRunner]      around the whole run  -
//	supervisor, deep, plan-execute,
//	interrupts and resume
//	both                                both                    done once             AgentMiddleware
//	flow/agent/react                    [Hooks.MessageRewriter] before each call, kept -
//	                                    [Hooks.MessageModifier] the note, at each call -
//	a graph, a handler of your own      [Hooks.Prepare],        where you call them   -
//	                                    [Hooks.Finish]
//	a graph with a retriever node       [Hooks.AsRetriever]     documents             -
//	a graph with an indexer node        [Hooks.AsIndexer]       keeps documents       -
//	a model, alone or in an agent       [Hooks.WrapModel]       fits each context,    -
//	                                                            makes printed calls
//	tools without an agent              [Hooks.ToolMiddleware]  records their calls   -
//
// # Turns
//
// A turn is a user's words and everything that answers them. In the input of a run it is the user
// messages behind the last answer. The words of the agents and the results of their tools join it.
// Notes, system messages, transfers between agents and the words of an agent inside a tool stay
// outside. An input that ends with an answer or a tool's result holds no question: its run skips
// the search and the record.
//
// A turn that failed or was interrupted goes to the log as well, still open, so that its words are
// kept. A resumed run completes the interrupted turn, under the same id.
//
// A wrapped run carries its turn. Everywhere else the messages lead back to it: a mark in
// schema.Message.Extra has the turn's id and the message's number in the turn. It is one plain
// string, which survives a checkpoint.
//
// # The note
//
// The model reads the result of the search in one message named "memory" in front of the user's:
// the day, the standing memories of the user, and the memories that the question needs. Those are
// fenced, a bullet each, within a budget of tokens. A mark in schema.Message.Extra keeps the note
// out of the log, and takes the note of a former turn out of the input.
//
// # The window
//
// Config.Window serves a turn that begins with the user's new words alone: it puts the session's
// messages in front of them. Before each call of a model the log gets the turn so far, and the
// context is made to fit. The turn is in the log when its run ends, so that the next one finds it
// there. The system message carries the turn's id, in case another middleware summarises everything
// else away.
//
// # Whose memory
//
// The scope is looked up at every call, see [Hooks.ResolveScope]. One [Hooks]
// value serves all users. An agent has a memory of its own only with Config.AgentMemory.
//
// # Models that print calls
//
// Small models, and servers that lack a parser for a model's tool calls, print calls into the text
// of an answer. A printed call of a memory tool becomes a real one, and its text leaves the log.
// [Hooks.WrapModel] or the handler around the model, or [Hooks.WrapRunner] around the run, hides it
// from people: a stream waits only from the place where such a call may begin. An agent of Eino
// before 0.9 whose model is unwrapped makes the call of the first such answer in a turn, and shows
// it.
//
// A second answer that prints calls shows that the model cannot call tools. The model is
// asked again without memory's tools, and offered none from then on, in this process. Notes and
// learning go on.
// Under modes.AgentControl the tools are the only way to memory: the calls of one answer in each
// turn are made. Config.OnError is told once. Printed calls of other tools are the program's
// matter. Text in think tags stays out of the store.
//
// # Private messages
//
// A message is private if middleware.Private marks it, if Config.Learn refuses it, if a user asks
// to leave it out, or if it is said under [backends.Incognito]. So are the answers of agents and
// tools behind it in the same turn. Each carries a mark. The log, open turns and archives keep a
// placeholder for it; summaries and learning skip it.
//
// # Failures
//
// Memory breaks a reply in one case alone: a context that exceeds Config.Window stays unsent.
// Failures go to Config.OnError with their stage and to slog: a missing scope ([StageScope]), a
// search that failed or took longer than Config.SearchTimeout ([StageSearch]), a session that
// failed to load ([StageHistory]), a turn or a tool's call that failed to reach the log
// ([StageRecord]), a turn that could not be learnt from ([working.StageConsolidate]).
//
// # Caveats
//
// Concurrent runs of one ChatModelAgent race inside Eino 0.7: build an agent for each run, and
// share the Hooks. Wrap the runner of a tree whose agents carry AgentMiddleware: else each agent
// records its part as a turn of its own, and skips its second part in the same run. Config.OnError is
// told so once, with ErrInvalid.
package hooks
