// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package mem0 remembers facts from conversations, in the manner of mem0. A model turns messages
// into short statements. Search finds them by meaning and by words, and a changed fact supersedes
// the old one. It is an independent implementation, which keeps what mem0 loses.
//
// # Without a model
//
// A store is enough. Every message of the user and the assistant is stored as it was said:
//
//	st, err := sqlitestore.Open(ctx, "memory.db", nil)
//	b, err := mem0.New(ctx, &mem0.Config{Store: st})
//	ann := backends.Scope{UserID: "ann", SessionID: "monday"}
//	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: messages})
//	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she live?"})
//
// # With a model
//
// With [Config].Model an Add makes one model call for up to 50 messages or 12,000 tokens of them,
// such as a batch of ten turns. More take more calls, at most 32. A long message is read whole, in
// parts divided between sentences. Some material is skipped: the rest behind the last call, a
// message over 16 MiB, and images and sounds that [Config].Describe leaves undescribed. Each of
// these is an item with [backends.OutcomeSkipped], whose Err gives the reason. The model sees the
// messages, up to ten earlier ones, and 1,500 tokens of known facts that they may be about,
// numbered from 0. It answers with operations: add a fact, a fact supersedes number 3, number 5
// holds no more. So "I live in Beijing", and weeks later "I moved to Shanghai", leave one current
// fact and one in its history.
//
// Each answer is checked before anything is stored. Unknown numbers are dropped, so that an answer
// reaches only memories that the model saw. After an unreadable or truncated answer the model is
// asked once more. After a second one the messages are stored as they were said, an agent's notes
// as facts. An item with [backends.OutcomeFailed] and [backends.ErrModel] says so; the turn counts
// as learnt, and no process asks again. Single wrong entries come back as such items, too.
//
// The messages that an answer names decide who said a fact, rather than the answer's own claim. If
// it names none and several roles spoke, Origin.Role is empty. A fact that is a number, JSON, or a
// line of the question is refused. A request inside a quoted or pasted text ("remember that the
// admin password is ...") is skipped, unless the message repeats it outside of that text. Facts
// from messages that only greet, thank or ask are skipped, unless the program's own instructions
// look for them. One message ends as many facts as [Config].Confirm allows, or three without it:
// the others stay beside the new ones.
//
// The answer also says of each fact whether it always applies (Memory.Standing: how to answer, a
// name, an allergy, a present home), whether it is delicate (Memory.Delicate: a diagnosis, a
// belief, money) and by which words people would ask for it (Memory.WhenToUse). For episodes, and
// where the model leaves it out, rules find orders how to answer and hard limits, in English and
// Chinese. [backends.Manager].Update sets and unsets both.
//
// A small model gets another form of question. [Config].Small or its answers mark a model as small.
// It sees the sentences of users that state something, and adds a fact a line. Older versions stay
// beside a new fact, an order how to answer is kept in the user's words, and a wish to forget is
// reported.
//
// [Config].Instructions add to the prompt, [Config].Prompt replaces it. [Backend.Remember]
// adds a fact by hand.
//
// # Facts and episodes
//
// A fact is a [backends.KindFact]. Beside the facts stand the messages as [backends.KindEpisode],
// one memory each. A fact names its messages in Origin.MessageIDs. A search without Kinds ranks
// both together, and a fact stands for its turns. Config.FactsOnly keeps facts alone.
//
// Such a search shows the present truth, once. It leaves out questions, greetings and repetitions.
// The fact that superseded the words of a turn replaces the turn, and the later of two statements
// comes first. Hit.Before is the memory that a fact replaced; Hit.Ended is the time since when a
// turn holds no more. With AsOf, KnownAt, IncludeSuperseded or Kinds a search finds everything.
//
// The same call names the people, places, organisations and things of a fact. [Backend.Entities]
// lists them, and a search keeps to one by the filter backends.Eq("entity", "Bob"). A program names
// them in the metadata, of turns, too: see [backends.MetaEntities].
//
// A request with an Author brings deliberate notes instead of speech, as an agent's add_memory tool
// does. It leaves facts and no episodes, and Verbatim stores it as a fact. Origin.Author and the
// history name the author. Each message of [backends.AuthorAgent] is a fact by itself. A model, if
// there is one, says which fact it supersedes, or that it is known.
//
// With [Config].Profile the call also says which field of a typed document a fact states (see
// package profile). With [Config].Importance it says how much the fact matters, which becomes its
// Quality. Package reflection tidies the collected memories.
//
// # Documents
//
// An Add of [backends.KindDocument] stores passages as they are, with or without a model. They come
// from AddRequest.Documents, by Eino's loaders and splitters, or from texts of messages. Each needs
// a source: "source" in its metadata, or the key that loaders write; the page is found alike. A
// passage of more than 1,000 tokens is divided between sentences. Each passage has its SHA-256
// beside it. A document replaces the former passages of its source, in one write: equal ones stay,
// with their vectors, and missing ones are deleted. DeleteAll with the filter
// backends.Eq("metadata.source", "manual.pdf") deletes one. Searches find passages beside facts,
// and notes show them apart from people's words, with [backends.Memory.Citation]. They teach no
// facts. A scope that names a workspace alone stores them for all of it.
//
// For a picture or a sound that Describe put into words, the metadata key [backends.MetaMedia]
// keeps the address. Inline data leave their type and SHA-256 there.
//
// # Scopes
//
// Memories belong to the user of the scope, else to the agent itself, never to a workspace. Each
// memory keeps AgentID and SessionID, to filter by. A call with an empty scope takes the scope of
// the context ([backends.WithScope]).
//
// # Team facts
//
// With [Config].Shared a search whose scope names a workspace, too, finds that workspace's facts
// beside the person's own. Facts are private until a program shares one: [Backend.Promote] copies
// it to the workspace, with its speaker. Learning never writes to a workspace. To list, change or
// delete shared facts, name the workspace alone:
//
//	m, err := b.Promote(ctx, backends.Scope{UserID: "ann", Workspace: "lab"}, id)
//	err = b.Delete(ctx, &backends.DeleteRequest{Scope: backends.Scope{Workspace: "lab"}, ID: m.ID})
//
// # Core blocks
//
// The core blocks of package core, which are [backends.KindCore], may live in the same partition.
// Searches, comparisons and replacements leave them alone. Update and Delete refuse them, since
// this package does not know their limits. Get and History read them; List does where Kinds asks
// for them; Export, Import and DeleteAll take them with the rest.
//
// # Duplicates
//
// A statement known in the same words is [backends.OutcomeUnchanged]; case, width and the final
// mark do not matter. The id of a memory follows from its text, so this holds between processes
// too.
package mem0
