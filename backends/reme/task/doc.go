// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package task is task memory: experience that agents draw from what they did, kept in
// workspaces, found again when a task resembles an earlier one, and forgotten when it
// does not help. It is an independent implementation of what ReMe calls task memory. A
// program gets it from the backend of package reme:
//
//	memory := backend.Task()
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
// [Memory.Retry] combines them: it tries a task several times, with what its failures
// taught, and keeps that only if it led to a success.
//
// # A memory
//
// A task memory is a [backends.Memory] of kind task. WhenToUse is the situation in which
// it helps, and what vectors are made of; Text is the experience. Quality is the judge's
// score, and nothing else ever changes it: the similarity of a search is Hit.Score. The
// keys of its Metadata, by which filters find it, are
//
//	tags, tools_used   lists of texts
//	confidence         0 to 1, of the model that extracted it
//	step_type          reasoning, action, observation or decision
//	freq, utility      how often it was used in a task, and how often such a task succeeded
//	task_query         what the task was, in a general sentence of the model's: see below
//	task_id            which task it was
//	source             success, failure, comparative or simple
//	outcome            the score of the trajectory that taught it
//	held_back          true until it is confirmed: see Config.HoldBack
//	corroborated       how often it was learnt again in other words, or agreed with
//	refuted            how often a reflection found that another lesson disagrees: package reflect
//
// Numbers that are absent count as 0.
//
// # Learning
//
// A [Trajectory] is an attempt at a task and its score. The model extracts candidates
// from successes, from failures, and from the best and the worst attempt at the same
// task; a second question, which shows how it went and the steps that they rest on, in at
// most 512 tokens, judges them. Long attempts are divided. What is shown to a model is
// redacted, and fenced as data.
//
// # What others read
//
// A workspace is read by others. What goes to it is redacted: see reme.Config.Redact. Of what
// a user said nothing is stored: task_query is how the model names the task, and absent where
// it does not, or repeats eight words of the user in a row; an experience that repeats sixteen,
// or a whole message of eight, is dropped. [Config].KeepQuery allows both and keeps the words
// of the trajectory, as ReMe does. Each memory keeps the user and the session that it came
// from, and after a merge all users (Origin.Users); callers see their own, and the program, a
// scope that names the workspace alone, sees all.
//
// # Duplicates
//
// The same words are stored once, however often they are learnt, and from however many
// processes at a time: ids follow from words. Each other candidate is
// compared with the five memories nearest to it and with the rest of the request. What is
// similar goes to the model, all pairs of a request in one question: the same is counted
// (corroborated), what has something to add is merged with the memory, which the
// merged one supersedes with its counts, and what is distinct is stored beside it.
//
// A request that is repeated unchanged, in whatever process, stores nothing and asks no
// model, as long as all holds that it came to.
//
// # Counts
//
// [Memory.Record] adds to freq and utility in the store, so that nothing is lost however
// many record at a time. By them [Memory.Forget] decides; see [Rule].
//
// # Skills
//
// A skill is a procedure for tasks of a sort: a name, when to use it, steps, the tools that they
// need, and as evidence the lessons that it was made from. It is text for an agent to follow, and
// never code to be run. [Skills.Draft] has the model write one down, from attempts that succeeded
// and from lessons; [Skills.Add] and [Skills.ReadDir] take what a person wrote. It is a draft, which no
// search finds, until DraftRequest.Verify says that it works, or two tasks with it succeeded
// ([Skills.Record]); then it takes the place of a skill of its name, and notes show it in the place
// of the lessons that it was made from. One that failed in half of three uses or more is withdrawn. So
// Voyager's rule (Wang et al., 2023), that only what was verified joins the library, holds without
// its code. When a lesson is forgotten, what was made of it is, too.
//
// [Skills.WriteDir] writes a folder of SKILL.md files, as Eino's skill middleware reads them:
//
//	n, err := backend.Skills().WriteDir(ctx, scope, "skills")
//
// # When something fails
//
// Learning is all or nothing, and each write is one atomic batch.
// So an outage of the model, the embedder or the store is an error that names the step,
// in the report too, and leaves the workspace as it was. The embedder is tried before the
// model is asked, and the first failure ends the other questions. What was answered until
// then is kept in the process: a repeat asks the rest. Retrieval answers as long as the
// store does, and reports in Degraded what it went without.
package task
