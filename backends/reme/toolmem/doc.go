// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolmem remembers how tools behave: every call of a tool, statistics of the
// recent ones, and for each tool a guideline on how it is best used. It is ReMe's tool
// memory.
//
// A [Memory] records calls, writes guidelines, and tells what is known:
//
//	memory.Record(ctx, &toolmem.RecordRequest{Scope: scope, Calls: calls})
//	memory.Summarize(ctx, &toolmem.SummaryRequest{Scope: scope})
//	memory.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: scope, ToolNames: "search, fetch"})
//
// A [Recorder] does the first two beside an agent's work, so that no tool waits for
// memory. [Memory.GuideTools] gives a model what is known with the tools' descriptions.
//
// # What is kept
//
// The calls of a tool are a log of their own, a session for each month, in the
// partition of the workspace: two recorders lose no call, and one that is recorded
// twice under its ID is kept once. Calls that are equal (see [Hash]) under different
// IDs are kept and counted, since a tool that fails ten times in the same way failed
// ten times. Logs end [Config.Keep] after their last call.
//
// Secrets are taken out and texts are shortened before anything is stored, hashed, or
// shown to a model. See [RedactSecrets] for what can be told by its form.
//
// A guideline is one memory of kind tool, whose id follows from workspace and tool: its
// Text is the guideline and the statistics of its time, its WhenToUse the tool's name,
// its Metadata the statistics and which calls it knows of. What it said before is in
// its history.
//
// # Models
//
// With a model, guidelines are written by it, from inputs and outputs, errors, repeats,
// and the guideline so far; calls are judged by it if [Config.Judge] is set. Without
// one both follow from rules. Tool results are data of others: they are fenced in
// prompts, and what is made of them is marked as experience, not as instructions, where
// a model sees it.
package toolmem
