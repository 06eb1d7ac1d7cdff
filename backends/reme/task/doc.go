// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package task is task memory: experience that agents draw from what they did, kept
// in workspaces, found again when a task resembles an earlier one, and forgotten when
// it does not help. It is an independent implementation of what ReMe calls task
// memory.
//
//	memory, err := task.New(&task.Config{Keeper: k, Models: models, Extractor: extractor})
//	shop := backends.Scope{Workspace: "shop"}
//
//	// before a task
//	known, err := memory.Retrieve(ctx, &task.RetrieveRequest{Scope: shop, Query: "refund an order"})
//	prompt := known.Answer
//
//	// after it
//	learnt, err := memory.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: done})
//	counted, err := memory.Record(ctx, &task.RecordRequest{Scope: shop, IDs: known.IDs(), AllUseful: succeeded})
//
//	// now and then
//	gone, err := memory.Forget(ctx, &task.ForgetRequest{Scope: shop})
//
// [Memory.Retry] joins them: it tries a task several times, with lessons from its
// failures, and keeps those that led to a success.
//
// # A memory
//
// A task memory is a [backends.Memory] of kind task. WhenToUse is the situation in
// which it helps, and what vectors are made of; Text is the experience. Quality is
// what the judge said when it was learnt, and nothing else ever changes it: the
// similarity of a search is Hit.Score. The keys of its Metadata are the constants
// [MetaTags] and following.
//
// # Once
//
// The same words are stored once, whoever learns them, as often as they are learnt,
// and from however many processes at a time: ids follow from words. What says nearly
// the same as a memory is put before the model, all such pairs of a request in one
// question: the same is counted (MetaCorroborated), what has something to add is
// joined with the memory, which the joined one supersedes with its counts, and what
// is distinct is stored beside it. A wording that was once found to say what a memory
// says is known from then on, and asks nobody.
//
// # Counts
//
// [Memory.Record] adds to freq and utility in the store, so that nothing is lost
// however many record at a time. By them [Memory.Forget] decides; see [Rule].
//
// # When something fails
//
// Learning is all or nothing unless asked otherwise, and each write is one atomic
// batch. So an outage of the model, the embedder or the store is an error that names
// the step, in the report too, and leaves the workspace as it was. Retrieval answers as
// long as the store does, and says in Degraded what it went without.
package task
