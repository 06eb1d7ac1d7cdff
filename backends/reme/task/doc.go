// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package task is task memory: experience that agents draw from their work, in workspaces. A search
// finds it when a task resembles an earlier one, and useless experience is forgotten. It is an
// independent implementation of ReMe's task memory. A program gets it from the backend of package
// reme:
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
// [Memory.Retry] combines them: it tries a task several times, with the lessons of its failures,
// and keeps these lessons only if they led to a success.
//
// # A memory
//
// A task memory is a [backends.Memory] of kind task. WhenToUse is the situation in which it helps;
// vectors are made of it. Text is the experience. Quality is the judge's score and never changes:
// the similarity of a search is Hit.Score. Filters find the keys of its Metadata:
//
//	tags, tools_used   lists of texts
//	confidence         0 to 1, of the model that extracted it
//	step_type          of the first step that shows it: reasoning, action or observation
//	freq, utility      how often a task used it, and how often such a task succeeded
//	task_query         the task in a general sentence of the model's: see below
//	task_id            the id of the task
//	source             success, failure, comparative or simple
//	outcome            the score of the trajectory that taught it
//	held_back          true until it is confirmed: see Config.HoldBack
//	example            the cited calls of the best attempt: see Config.Examples
//	corroborated       how often it was learnt again in other words, or agreed with
//	refuted            how often a reflection found a lesson that disagrees: package reflection
//
// Absent numbers count as 0.
//
// # Learning
//
// A [Trajectory] is an attempt at a task and its score. The model extracts candidates from
// successes, from failures, and from the best and the worst attempt at the same task. A second
// question judges those of several attempts at once; it shows the outcomes and the steps that
// candidates cite, shortened. Long attempts are divided. Material is redacted before a model sees
// it, and fenced as data.
//
// # Text that others read
//
// Others read a workspace, so its contents are redacted: see reme.Config.Redact. The words of a
// user stay out of it. task_query is the model's name for the task; it is left out if it repeats
// eight words of the user in a row. An experience that repeats sixteen words, or a whole message of
// eight, is dropped. [Config].KeepQuery allows both and keeps the words of the trajectory, as ReMe
// does. Each memory keeps its user and session, and after a merge all users (Origin.Users). Callers
// see their own. The program, a scope that names the workspace alone, sees all.
//
// # Duplicates
//
// The same words are stored once, however often and by however many processes they are learnt: ids
// follow from words. Each other candidate is compared with the five nearest memories and with the
// rest of the request. Similar texts go to the model, all pairs of a request in one question. A
// duplicate is counted (corroborated). A text that adds something is merged with the memory; the
// merged one supersedes it and takes its counts. A distinct text is stored beside it.
//
// An unchanged repeat of a request, in whatever process, stores nothing and needs no model, as long
// as all its results are current.
//
// # Counts
//
// [Memory.Record] adds to freq and utility in the store, so that parallel calls all count.
// [Memory.Forget] decides by them; see [Rule]. A vote counts as a use: corroborated as one that
// helped, and refuted as one that did not.
//
// # Skills
//
// A skill is a procedure for tasks of a sort: a name, when to use it, steps, the tools that they
// need, and the lessons behind it as evidence. An agent reads it as text; it is never run as code.
// [Skills.Draft] lets the model write one down, from successful attempts and from lessons;
// [Skills.Add] and [Skills.ReadDir] take skills that a person wrote. A new skill is a draft, which
// searches leave out. It is proved when DraftRequest.Verify says that it works, or after two
// successful tasks with it ([Skills.Record]). Then it supersedes a skill of its name, and notes
// show it instead of its lessons. A skill that failed in half of three uses or more is withdrawn.
// So Voyager's rule (Wang et al., 2023), that only verified skills join the library, holds here for
// texts. Forgetting a lesson also forgets the skills made of it.
//
// [Skills.WriteDir] writes a folder of SKILL.md files, as Eino's skill middleware reads them:
//
//	n, err := backend.Skills().WriteDir(ctx, scope, "skills")
//
// # When something fails
//
// Learning is all or nothing, and each write is one atomic batch. So an outage of the model, the
// embedder or the store leaves the workspace as it was. The error names the step, and so does the
// report. The embedder is tried before the model, and the first failure ends the other questions.
// The process keeps the answers so far: a repeat asks the rest. Retrieval answers as long as the
// store does, and reports missing parts in Degraded.
package task
