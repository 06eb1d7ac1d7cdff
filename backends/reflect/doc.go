// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflect tidies what memory holds: it drafts a plan that can be read, applies it in one
// atomic write, and takes it back.
//
//	r, err := reflect.New(&reflect.Config{Backend: backend, Model: model}) // without Model: by rules alone
//	plan, err := r.Draft(ctx, &reflect.Request{Scope: scope})              // writes nothing
//	fmt.Println(plan)
//	done, err := r.Apply(ctx, plan, false)
//	done, err = r.Undo(ctx, scope, plan.ID, false)
//
// It works on the partition that the scope names: what is known of a user or an agent (facts of
// mem0, personal memory of reme, insights), or the lessons of a workspace.
//
// # Rules
//
//	duplicates      what says the same is merged: by rules the same content words, or a cosine of
//	                Config.Duplicate; with a model in other words and languages, too
//	contradictions  the later statement supersedes: by rules of one subject and attribute, such as
//	                where a person lives or works, their age, name, phone; with a model of anything
//	insights        a sentence that several memories show and none says (model alone)
//	stale           what was of use for a time that is over is retracted (model alone); what no model
//	                was shown for Config.Unused expires, where mem0.Config.CountUses counts that
//	lessons         of a workspace: agree, disagree and edit as votes (model); by rules one falls that
//	                has no votes left, or was used five times and helped at most every second time
//	profile         facts that were learnt before fill the fields of Config.Profile (model alone)
//	block           the model writes the core block Config.Block anew
//	promotion       facts that Config.Share allows and that proved useful go to the workspace
//
// Two statements that differ in a number, in a denial, in whom they are about or in who said them
// are never merged, whatever a model says.
//
// A model is asked once for 50 memories, those that resemble each other together, and what rules
// settled is not shown to it. It answers with operations on the numbers it was shown; what is wrong
// in an answer is left out, and stands in [Plan].Refused. Memories are shown as material between
// tags, and a memory that asks for something changes nothing.
//
// # Insights
//
// An insight is a [backends.KindInsight]. It names its evidence in Origin.Evidence, and is
// as sure as the least sure of it, times 0.8. It holds as long as all of its evidence does: once a
// memory that it rests on was superseded, retracted or has expired, no search finds it, and the next
// plan retracts it. What was merged counts as what it was merged into. When a memory is forgotten,
// what was made of it is, too. A note shows insights apart from what people said.
//
// # Votes
//
// A lesson has two votes when it is learnt. What agrees with it is merged into it and adds one, an
// edit adds one, what disagrees takes one, and at none it falls. These are ExpeL's (Zhao et al.,
// AAAI 2024); of a full list ExpeL takes three, and no list is full here. The rule of uses is that of
// ReMe's paper.
//
// # Applying and undoing
//
// Apply writes all of a plan or nothing. Where a memory changed since the draft, by its version
// and by what it says (counts of uses aside), it returns ErrConflict, or with partly leaves out the
// operations that name such a memory. A plan may be edited and kept as JSON in between; a plan that
// was applied is not applied again.
//
// Nothing is lost: what was merged or superseded names what took its place, History shows it, and
// every memory that a plan changed has in its metadata ([backends.MetaReflect]) what it was. So
// Undo needs the plan's id alone. It refuses where a memory was edited since, or by a later plan,
// which is to be undone first.
//
// # In the background
//
// With middleware.Config.Reflect a [Schedule] does it by itself: after 20 turns about a person or a
// workspace, an hour after the last, on what changed since the last time, within a budget of
// calls and tokens a day. How many turns there were, what was spent, and which process is at it
// (for 15 minutes at most) stands with the memories, so that many processes do the work of one.
// Schedule.Review sees each plan before it is applied. A program that ends before the hour is over
// has its turns counted, and leaves the work to one that stays, or to Draft and Apply by hand.
//
// # Where it comes from, and what is not here
//
// Letta's sleep-time agents, MIRIX's dreams, Generative Agents' reflection, MemoryOS's promotion (its
// heat, visits + length + recency, is the rule of promotion) and A-Mem's evolution are these rules
// under other names. Not here: A-Mem's links and Zep's walks over them, which brought 0.0 to 0.4
// points of recall on LoCoMo; MIRIX's six managers, whose work one call does; parametric and
// activation memory (MemoryLLM, MemOS), which live inside a model. Of those there remains that a
// prompt's memory is the same bytes while nothing changes, so that a provider's cache holds it.
package reflect
