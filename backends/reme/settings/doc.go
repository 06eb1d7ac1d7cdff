// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings reads what can be set of ReMe's memory from files and from
// overrides on a command line:
//
//	s, err := settings.Load([]string{"memory.yaml"}, "task.top_k=10", "language=zh")
//
// [Default] holds first, then each file in order, then each override; what comes
// later wins, key by key. A file is YAML (.yaml, .yml) or JSON (.json):
//
//	language: zh
//	task:
//	  success_threshold: 0.8
//	limits:
//	  calls: 32
//	  timeout: 90s
//	prompts:
//	  task:
//	    judge: Say whether each experience is worth keeping.
//	    success: {file: prompts/success.txt}
//
// An override is key.path=value. The value is JSON where it is valid JSON, else
// text; where text is wanted it is taken as it stands unless it is a JSON string.
// A whole section may be set: limits={"calls":32,"tokens":100000}. A null says
// nothing: what held before holds.
//
// A key that there is not is an error that names the nearest there is, and so is a
// key that one file sets twice under two names. Values never stand in an error of an
// unknown key.
//
// # Prompts
//
// A prompt is a text, or {file: NAME} with NAME relative to the folder of the file
// that says so (of the working directory in an override). The groups are task,
// personal and tool; the steps of each are the fields of its package's Prompts in
// snake_case: prompts.task.judge is task.Prompts.Judge. Personal memory has one
// prompt, prompts.personal.summarize.
//
// # Use
//
// [Settings.FillTask] and [Settings.FillTools] put what is set into the configurations of
// the packages, Configure of reme.Config all of it, and [Settings.Rule] is which task
// memories are forgotten. Limits is as flow wants it.
// TopK, Rerank, Rewrite and Attempts are for the requests that do not say.
//
// # Secrets
//
// None belong in here, and no key takes one: models, embedders and stores are made in
// code, which gets their keys from the environment.
//
// # The names of ReMe 0.2
//
// These are read, too, bare or behind op.NAME., op.NAME.params., flow.NAME. and
// flow.NAME.params., whatever NAME is:
//
//	ReMe 0.2                        here
//	language                        language
//	success_threshold               task.success_threshold
//	success_score_threshold         task.simple_threshold
//	validation_threshold            task.validation_threshold
//	similarity_threshold            task.duplicate; task.similar_above where NAME holds "compar"
//	enable_similarity_comparison    task.similar
//	top_k                           task.top_k
//	enable_llm_rerank               task.rerank
//	enable_llm_rewrite              task.rewrite
//	freq_threshold                  task.forget_after
//	utility_threshold               task.forget_share
//	contra_repeat_max_count         personal.max_known
//	output_memory_max_count         personal.top_k
//	max_history_tool_call_cnt       tool.history
//	recent_call_count               tool.window
//	recent_frequency                tool.window
//	thread_pool_max_workers         limits.concurrency
//
// The sections backend, http, mcp, llm, embedding_model, vector_store, enabled_flows
// and disabled_flows have no equivalent: models, embedders and stores are values that
// code gives to the backend, and servers stand in front of it.
package settings
