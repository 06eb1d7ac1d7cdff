// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reme is memory in the style of ReMe: agents learn from what they did. It
// keeps three kinds of memory:
//
//	task      experience from attempts at tasks: when it helps, and what to do
//	personal  what is known about a user, each statement with its time
//	tool      how tools behave: their calls, statistics, guidelines
//
// and skills, procedures made of task memory that proved themselves ([Backend.Skills]).
//
// Give it a store, and a model that learns:
//
//	backend, err := reme.New(ctx, &reme.Config{Store: db, Model: chatModel})
//	defer backend.Close(ctx)
//
// It is a [backends.Backend], so package middleware gives it to an agent in one line,
// in every mode: turns are always learnt from. Each kind is also there by itself:
//
//	scope := backends.Scope{Workspace: "support", UserID: "ann"}
//	backend.Task().Summarize(ctx, &task.SummaryRequest{Scope: scope, Trajectories: attempts})
//	backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: scope, Query: "refund an order"})
//	backend.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: scope, Query: "where does she live"}})
//	backend.Tools().Retrieve(ctx, &tool.RetrieveRequest{Scope: scope, Tools: []string{"search", "fetch"}})
//	backend.Library().Load(ctx, &reme.LoadRequest{Scope: scope}, file) // JSONL of ReMe
//
// # Where memories live
//
// A workspace is a partition: task and tool memory is in the one that Scope.Workspace
// names, and shared by all who name it. Personal memory is in the partition of the
// user, else of the agent, and in no other. A scope that names both reaches both: a search
// asks each and joins the answers, and an id is looked for in each. What
// reaches a partition as a whole (DeleteAll) reaches the user's then.
//
// # What a workspace shares
//
// A workspace is read by all its users, so what goes to it is redacted, by default of keys and
// of personal data: see [Config].Redact. What a user said is not stored there: package task.
// Each memory keeps the user and the session that it came from, and what was made of the
// words of several keeps all ([backends.Memory.CameFrom]); calls of tools keep their user, too.
// Users see their own alone, in answers, dumps and filters; a scope that names the workspace
// and nobody, the program's, sees all. Members add to a workspace; who wrote a memory, and the
// program, may update and delete it, anybody else gets [backends.ErrDenied]. An agent without a
// user is a member, too. [Config].Allow
// decides otherwise.
//
// # How a turn went
//
// Task memory learns from attempts whose outcome is known. It comes from one of three:
//
//   - Config.Outcome is asked of each turn when the log is learnt from;
//   - Config.Verdict reads it from a tool's result, as [VerdictOf] does;
//   - RecordOutcome reports it for a turn that is in the log, whenever it is known.
//
// A turn whose outcome is unknown is no failure: task memory learns nothing from it.
//
// # Errors
//
// Learning is all or nothing in each partition: where a model fails, or the store,
// nothing is stored, the error says what failed, and the call may be repeated. (An Add
// that reaches a workspace and a user is two writes, of which the repeat finds the first
// done. Guidelines are written one by one, a tool at a time.) Duplicates are recognised, so
// that a repeat stores nothing twice. The flows of each kind return a report with a line a
// stage and what it cost in model calls and tokens, which [Config].Limits bound.
//
// # Settings
//
// [Config.LoadSettings] reads YAML files and overrides, under our names or ReMe's:
//
//	err := cfg.LoadSettings([]string{"memory.yaml"}, "task.success_threshold=0.8", "language=zh")
//
// # Libraries
//
// [Library] loads ReMe's files of experience, the dumps of 0.2 and of before, and writes such:
//
//	{"workspace_id":"w","memory_id":"…","memory_type":"task","when_to_use":"…","content":"…",
//	 "score":0.8,"time_created":"2025-07-24 21:15:17","time_modified":"…","author":"…","metadata":{}}
//
// one memory a line. A score of 0 means that the memory was not judged. Unknown members of a
// line are kept in Metadata["extra_fields"], and written again. Vectors are made by the
// embedder. [Backend.Export] and Import have a format of their own, which keeps everything.
//
// # ReMe's flows
//
//	summary_task_memory, _simple    Task().Summarize, with Simple
//	retrieve_task_memory, _simple   Task().Retrieve, with Rerank and Rewrite or without
//	record_task_memory              Task().Record
//	delete_task_memory              Task().Forget
//	summary_personal_memory         Personal().Summarize
//	retrieve_personal_memory        Personal().Retrieve
//	add_tool_call_result            Tools().Record
//	summary_tool_memory             Tools().Summarize
//	retrieve_tool_memory            Tools().Retrieve
//	vector_store                    Library()
//	summary_working_memory          package compaction, its ReMe presets
//	grep_, read_working_memory      package toolkit
package reme
