// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reme is memory in the style of ReMe: agents learn from what they did. It
// keeps three kinds of memory:
//
//	task      experience from attempts at tasks: when it helps, and what to do
//	personal  facts about a user, each statement with its time
//	tool      how tools behave: their calls, statistics, guidelines
//
// and skills, procedures made of task memory that proved themselves ([Backend.Skills]).
//
// Give it a store, and a model that learns:
//
//	backend, err := reme.New(ctx, &reme.Config{Store: db, Model: chatModel})
//	defer backend.Close(ctx)
//
// It is a [backends.Backend], so package middleware gives it to an agent in one line, in every
// mode: it always learns from turns. Each kind also works by itself:
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
// A workspace is a partition. Scope.Workspace names the one with task and tool memory, and all who
// name it share it. Personal memory lives in the partition of the user, else of the agent, and only
// there. A scope that names both reaches both: a search asks each and joins the answers, and a
// look-up by id tries each. A call for a whole partition (DeleteAll) reaches the user's then.
//
// # What a workspace shares
//
// All users of a workspace read it, so the backend redacts what goes there, by default keys and
// personal data: see [Config].Redact. The words of a user stay out of it: see package task. Each
// memory keeps its user and its session, and a memory made of the words of several users keeps all
// of them ([backends.Memory.CameFrom]); calls of tools keep their user, too. Users see only their
// own origins, in answers, dumps and filters. The program's scope, which names the workspace alone,
// sees all. Members add to a workspace. The author of a memory and the program may update and
// delete it; anybody else gets [backends.ErrDenied]. An agent without a user is a member, too.
// [Config].Allow decides otherwise.
//
// # How a turn went
//
// Task memory learns from attempts with a known outcome. There are three sources:
//
//   - Config.Outcome is called for each turn when the log is learnt;
//   - Config.Verdict reads it from a tool's result, as [VerdictOf] does;
//   - RecordOutcome reports it for a turn in the log, at any later time.
//
// A turn of unknown outcome does not count as a failure: task memory ignores it.
//
// # Errors
//
// Learning is all or nothing in each partition: where a model fails, or the store, nothing is
// stored, the error says which part failed, and the caller may repeat the call. (An Add that
// reaches a workspace and a user is two writes; its repeat finds the first one done. Guidelines are
// written one by one, a tool at a time.) A repeat finds duplicates and stores each memory once. The
// flows of each kind return a report with a line a stage and the cost in model calls and tokens,
// which [Config].Limits bound.
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
// with one memory a line. A score of 0 marks an unjudged memory. Metadata["extra_fields"] keeps
// unknown members of a line, and a dump writes them again. The embedder makes the vectors.
// [Backend.Export] and Import have a format of their own, which keeps everything.
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
