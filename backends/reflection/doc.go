// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflection tidies memory: it drafts a readable plan, applies it in one atomic write, and
// takes it back.
//
//	r, err := reflection.New(&reflection.Config{Backend: backend, Model: model}) // a nil Model: by rules alone
//	plan, err := r.Draft(ctx, &reflection.Request{Scope: scope})                 // writes nothing
//	fmt.Println(plan)
//	done, err := r.Apply(ctx, plan, false)
//	done, err = r.Undo(ctx, scope, plan.ID, false)
//
// It works on the partition that the scope names: the knowledge about a user or an agent (facts of
// mem0, personal memory of reme, insights), or the lessons of a workspace.
//
// # Rules
//
//	duplicates      equal statements are merged: by rules with the same content words, or a cosine
//	                of 0.97; by a model in other words and languages, too
//	contradictions  the later statement supersedes: by rules of one subject and attribute, such as
//	                where a person lives or works, their age, name, phone; by a model of anything
//	insights        a sentence is added that several memories show and none says (model alone)
//	stale           a memory of use for a past time is retracted (model alone); one that models
//	                saw last 180 days ago expires, if mem0.Config.CountUses counts that
//	lessons         of a workspace: agree, disagree and edit as votes (model); by rules one falls that
//	                lost its votes, or was used five times and helped at most every second time
//	profile         earlier facts fill the fields of Config.Profile (model alone)
//	block           the model writes the core block Config.Block anew
//	promotion       useful facts that Config.Share allows go to the workspace
//
// Two statements that differ in a number, in a denial, in subject or in speaker are never merged,
// whatever a model says.
//
// One question shows the model 50 memories, similar ones together; memories that the rules settled
// are left out. The model answers with operations on the numbers that it sees. Wrong parts of an
// answer are skipped, and stand in [Plan].Refused. Memories are material between tags, and a
// request inside a memory changes nothing.
//
// # Insights
//
// An insight is a [backends.KindInsight]. It names its evidence in Origin.Evidence, and is as
// certain as the least certain of it, times 0.8. It holds as long as all of its evidence does. Once
// a part of it is superseded, retracted or expired, searches leave the insight out, and the next
// plan retracts it. A merged memory counts as its survivor. Forgetting a memory also forgets the
// insights made of it. A note shows insights apart from people's words.
//
// # Votes
//
// A new lesson has two votes. One that agrees is merged into it and adds one, an edit adds one, one
// that disagrees takes one, and at zero it falls. These votes are ExpeL's (Zhao et al., AAAI 2024);
// of a full list ExpeL takes three, but lists here are never full. The rule of uses is from ReMe's
// paper.
//
// # Applying and undoing
//
// Apply writes all of a plan or nothing. If a memory changed since the draft it returns
// ErrConflict, or with partly skips the operations that name such a memory. The version and the
// content of a memory decide, counts of uses aside. A plan may be edited and kept as JSON in
// between. It is applied once.
//
// Everything is kept: a merged or superseded memory names its successor, and History shows it.
// Every memory that a plan changed has its former state in its metadata ([backends.MetaReflect]).
// So Undo needs the plan's id alone. It refuses if a memory was edited since, or by a later plan;
// undo that one first.
//
// # In the background
//
// With middleware.Config.Reflect a [Schedule] does it by itself: after 20 turns about a person or a
// workspace, an hour after the last. It works on the changes since the last time, within a budget
// of calls and tokens a day. It stores the number of turns, the spending, and the working process
// (for 15 minutes at most) with the memories. So many processes do the work of one. Schedule.Review
// sees each plan before Apply. A program that ends within the hour stores its turns, and leaves the
// work to one that stays, or to Draft and Apply by hand.
//
// # Sources and limits
//
// Letta's sleep-time agents, MIRIX's dreams, Generative Agents' reflection, MemoryOS's promotion
// and A-Mem's evolution are these rules under other names. The rule of promotion is MemoryOS's
// heat: visits + length + recency. Some ideas are left out: A-Mem's links and Zep's walks over
// them, which brought 0.0 to 0.4 points of recall on LoCoMo; MIRIX's six managers, whose work one
// call does; parametric and activation memory (MemoryLLM, MemOS), which live inside a model. One
// point of the latter remains: the memory in a prompt stays the same bytes while it does not
// change, so that a provider's cache holds it.
package reflection
