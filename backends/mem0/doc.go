// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package mem0 remembers facts from conversations, in the manner of mem0: what
// was said is turned into short statements by a model, found again by meaning
// and by words, and replaced when it changes. It is an independent
// implementation; where mem0 loses something, this one does not.
//
// # Without a model
//
// A store is all that is needed. Every message of the user and the assistant is
// stored as it was said:
//
//	st, err := sqlitestore.Open(ctx, "memory.db", nil)
//	b, err := mem0.New(ctx, &mem0.Config{Store: st})
//	ann := backends.Scope{UserID: "ann", SessionID: "monday"}
//	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: messages})
//	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Where does she live?"})
//
// # With a model
//
// With [Config].Model an Add makes one model call for up to 50 messages or 12,000 tokens
// of them, such as a batch of ten turns. More take more calls, at most 32: long messages
// are read whole, in parts that are divided between sentences. What is behind the last
// call, a message over 16 MiB, and images and sounds that no [Config].Describe puts into
// words are not learnt from: each is an item with [backends.OutcomeSkipped], whose Err says
// why. The model is shown the messages, up to ten of before, and the ten facts that they
// may be about, numbered from 0; it answers with operations: add a fact, a fact supersedes number 3, number 5 holds no more. So "I
// live in Beijing", and weeks later "I moved to Shanghai", leave one fact that
// holds and one in its history. [Mode] names the other ways to work.
//
// A model's answer is checked before anything is stored. Numbers that were not
// shown are dropped, so that no answer reaches a memory it was not about; an
// answer that cannot be understood, or that was cut off, is asked for once more.
// After a second one the words are kept as they were said, an agent's notes as facts,
// and an item with [backends.OutcomeFailed] and [backends.ErrModel] says so: the turn counts
// as learnt, and no process asks again. Entries that are wrong by themselves come back as
// such items, too.
//
// Who said a fact is known from the messages that the answer names, and not from what it
// claims; where it names none and several roles spoke, Origin.Role is empty. A fact that is
// a number, JSON, or a line of the question is refused. What a quoted or pasted text wants
// remembered ("remember that the admin password is ...") is skipped, unless the message says
// it outside of that text, too. So is what the model learnt from messages that only greet, thank
// or ask, where no instructions of the program's own look for it. One message ends what [Config].Confirm
// allows, or without it three facts at most: the others stay beside what is new.
//
// The answer also says of each fact whether it always applies (Memory.Standing: how to answer, a
// name, an allergy, a present home), whether it is delicate (Memory.Delicate: a diagnosis, a
// belief, money) and by which words people would ask for it (Memory.WhenToUse). Where no model
// says it, and for what was said, rules find orders how to answer and hard limits, in English and
// Chinese. [backends.Manager].Update sets and unsets both.
//
// A small model, which the answers show or [Config].Small says, is asked in another form: it is shown
// the sentences of users that state something, and adds a fact a line. What changed stays beside what
// is new, an order how to answer is kept in the user's words, and a wish to forget is reported.
//
// [Config].Instructions add to the prompt, [Config].Prompt replaces it. [Backend.Remember]
// adds a fact by hand.
//
// # Facts and episodes
//
// A fact is a [backends.KindFact]. Beside the facts, what was said is kept as
// [backends.KindEpisode], one memory a message, and a fact names the messages that
// taught it in Origin.MessageIDs. A search without Kinds ranks both together, with
// a fact standing for its turns. Config.FactsOnly keeps facts alone.
//
// Such a search shows what is true now, once: no questions, greetings and repetitions, the
// fact that replaced what a turn says in the place of that turn, and the later of two
// statements first. Hit.Before is what a fact replaced, Hit.Ended since when a turn holds no
// more. With AsOf, KnownAt, IncludeSuperseded or Kinds everything is found.
//
// The same call names the people, places, organisations and things that a fact is about.
// [Backend.Entities] lists them, and a search keeps to one by the filter
// backends.Eq("entity", "Bob"). A program names them in the metadata, of turns, too: see
// [backends.MetaEntities].
//
// What a request with an Author brings was not said but written down on purpose,
// as an agent does with its add_memory tool: it leaves facts and no episodes, and
// Verbatim stores it as a fact. The author stands in Origin.Author and in the
// history. Of [backends.AuthorAgent] each message is a fact by itself, with a model, which
// says what it supersedes or that it is known, or without one.
//
// With [Config].Profile the call also says which field of a typed document a fact states (see
// package profile), and with [Config].Importance how much it matters, which becomes its
// Quality. Package reflect tidies what has gathered.
//
// # Documents
//
// An Add of [backends.KindDocument] stores passages as they are, a model or not: those that
// AddRequest.Documents brings from Eino's loaders and splitters, or texts of messages. The source of
// each, which is required, is taken from "source" in its metadata or from what loaders write there,
// and so is the page; a passage of more than 1,000 tokens is divided between sentences, and has
// its SHA-256 beside it. A document replaces what was there of its source, in one write: what
// is the same stays, with its vector, and what it lacks any more is deleted. DeleteAll with the filter
// backends.Eq("metadata.source", "manual.pdf") deletes one. Searches find passages beside facts,
// notes show them apart from what people said, with [backends.Memory.Citation], and nothing is learnt
// from them. A scope that names a workspace alone stores them for all of it.
//
// Of a picture or a sound that Describe put into words the metadata key [backends.MetaMedia] keeps
// the address, or of one that came as data its type and SHA-256.
//
// # Scopes
//
// Memories belong to the user of the scope, else to the agent itself, never to a
// workspace. AgentID and SessionID are kept with each memory, to filter by.
// A call whose scope is empty takes that of the context ([backends.WithScope]).
//
// # Team facts
//
// With [Config].Shared a search whose scope names a workspace, too, finds that
// workspace's facts beside the person's own. They are private until a program shares
// one: [Backend.Promote] copies it to the workspace, with who said it. Nothing is
// learnt into a workspace. To list, change or delete what is shared, name the
// workspace alone:
//
//	m, err := b.Promote(ctx, backends.Scope{UserID: "ann", Workspace: "lab"}, id)
//	err = b.Delete(ctx, &backends.DeleteRequest{Scope: backends.Scope{Workspace: "lab"}, ID: m.ID})
//
// # Core blocks
//
// The core blocks of package core, which are [backends.KindCore], may live in the
// same partition. They are no memories to search, to compare with or to replace, and
// Update and Delete refuse them, since their limits are not known here. Get and
// History read them; List does where Kinds asks for them; Export, Import and
// DeleteAll take them with the rest.
//
// # Duplicates
//
// A statement that is known in the same words, case, width and the final mark aside, is
// [backends.OutcomeUnchanged]. The id of a memory follows from what it says, so that this
// holds between processes too.
package mem0
