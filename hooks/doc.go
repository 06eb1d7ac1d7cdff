// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks lets memory into agents built on Eino. It has three hooks:
// on_reply recalls before a reply and records after it, on_system_prompt adds
// instructions for its memory tools, list_tools gives the agent those tools. Which of them
// act is a matter of [Config].Mode; package middleware builds what a configuration
// names, puts these hooks around it, and is what programs use.
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
//	a model, alone or in an agent       [Hooks.WrapModel]       fits each context,    -
//	                                                            makes printed calls
//	tools without an agent              [Hooks.ToolMiddleware]  records their calls   -
//
// # Turns
//
// A turn is what a user says and all that answers it. In the input of a run it is
// the user messages behind the last answer; to them comes what the agents say and
// what their tools return. Notes, system messages, transfers between agents and
// what an agent inside a tool says do not belong to it. Where the input
// asks nothing (it ends with an answer or a tool's result) nothing is searched and
// nothing is recorded.
//
// A turn that failed or was interrupted is written to the log as well, not marked
// as done, so that nothing that was said is lost. A resumed run completes the turn
// that was interrupted, under the same id.
//
// A wrapped run carries its turn. Everywhere else it is found again from the messages:
// each has the turn's id and its place in the turn in schema.Message.Extra, as plain
// strings, which survive a checkpoint.
//
// # The note
//
// What the search found is shown to the model in one message named "memory" in
// front of the user's: what day it is, what always applies of the user, and fenced, a
// bullet each, the memories that the question needs, within a budget of tokens. It is marked in schema.Message.Extra; it is never recorded, and the note
// of a former turn is taken out of the input.
//
// # The window
//
// With Config.Window, a turn that begins with nothing but what the user says now
// gets what the session holds in front of it. Before each call of a model what the
// turn has come to is written to the log, and the context is made to fit. The turn
// is in the log when its run ends, so that the next one finds it there. Its id is
// carried by the system message, in case that another middleware summarises all
// else away.
//
// # Whose memory
//
// The scope is looked up at every call, see [Hooks.ResolveScope]. One [Hooks]
// value serves all users. An agent has a memory of its own only with Config.AgentMemory.
//
// # Models that print calls
//
// Small models, and servers that do not know how a model calls tools, print calls into the text
// of an answer. A call of a memory tool becomes one, and its text leaves the log. Where
// [Hooks.WrapModel] or the handler stands around the model, or [Hooks.WrapRunner] around the run,
// nobody sees it; a stream is held back only from where such a call may begin. An agent of
// Eino before 0.9 whose model is not wrapped makes the call of the first such answer in a turn,
// and shows it. A second answer that prints calls shows that the model cannot call tools. It is
// asked again without those of memory, and offered none from then on, in this process: what is
// known is still shown to it, and learnt. Under modes.AgentControl tools are all there is: the
// calls of one answer in each turn are made. Config.OnError is told once. What a model prints of
// other tools is the program's matter. What it thinks aloud, in think tags, is never stored.
//
// # What is not remembered
//
// Messages are private that [Private] marks, that Config.Learn refuses, that a user asks not
// to remember, and all that is said under [backends.Incognito]; and in a turn what an agent
// or a tool says behind one of them. Each carries a mark, by which the log, open turns and
// archives keep a placeholder of it, summaries and learning nothing.
//
// # Failures
//
// Memory never breaks a reply, except that a context which does not fit
// Config.Window is not sent. Failures go to Config.OnError with their stage and
// to slog: a scope that is missing ([StageScope]), a search that failed or took
// longer than Config.SearchTimeout ([StageSearch]), a session that could not be
// loaded ([StageHistory]), a turn or a tool's call that could not be written
// ([StageRecord]) or learnt from ([working.StageConsolidate]).
//
// # Caveats
//
// Concurrent runs of one ChatModelAgent race inside Eino 0.7; build an agent for
// each run, and share the Hooks. In a tree whose agents carry AgentMiddleware
// without a wrapped runner, each agent records its part as a turn of its own, and
// nothing where it runs a second time in the same run: wrap the runner there.
package hooks
