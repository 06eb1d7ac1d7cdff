// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package prompt builds the messages for one call of a model: what was said, what
// is remembered, and the question, within one budget. It needs no agent.
//
//	b, err := prompt.New(&prompt.Config{
//		Budget:   compaction.Budget{Window: 32_000},
//		Backend:  memory,   // what is searched
//		Sessions: sessions, // what was said before
//	})
//	…
//	p, err := b.Build(ctx, &prompt.Request{Scope: scope, System: "You are a travel agent.", Question: "Where do I like to sit?"})
//	answer, err := chatModel.Generate(ctx, p.Messages)
//
// Each part but the budget may be missing from a [Config]; what is there is used.
// To keep what was said is not the work of this package: see packages working and
// hooks.
//
// # Order
//
// The system prompt; the core blocks; the context that the caller gives; the
// history, roles as they were; the memories that a search for the question found,
// as one message of the role user, a line each, with ids and dates; the question.
// Texts are plain strings. A question that is the last message of the log already
// is there once, and a memory whose text the prompt shows word for word is left
// out.
//
// # Budget
//
// The memories have the room that [compaction.Budget.Memories] keeps for them, less
// what the core blocks take. The rest has the budget's limit: a history that is
// too large is compacted by Config.Compactor, and what is too large even then
// loses its oldest turns, which stay in the log. System prompt, core blocks,
// context and question are never cut: if these alone do not fit, the error is a
// [*compaction.OverError].
//
// # Failures
//
// A part that could not be read is missing from the prompt, and named in
// [Prompt.Failed]: a search that failed is not a search that found nothing.
package prompt
