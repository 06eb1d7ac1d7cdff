// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows offers ReMe 0.2's flows, with their names, requests and answers, as plain
// functions over a backend of package reme. Packages rest and mcp beside this one serve them.
//
//	f, err := flows.New(&flows.Config{Backend: backend, Model: chatModel})
//	r, err := f.Call(ctx, "retrieve_task_memory", open, "", []byte(`{"workspace_id": "shop", "query": "refund an order"}`))
//	fmt.Println(r.Answer, r.Metadata["memory_list"])
//
// # Whose memory it is
//
// A request names a workspace, or a user by user_id. For personal memory the workspace_id is
// that of a user, too, as ReMe's clients have a workspace for each user. Every flow asks Open before
// it reads or writes anything, and goes by the scope that Open returns. So a server decides
// what its caller may reach, and may put the scope of the connection in the place of what the
// request names.
//
// # The flows
//
//	retrieve_task_memory, _simple       what was learnt from earlier tasks
//	summary_task_memory, _simple        learns from attempts with a score
//	record_task_memory                  counts uses and successes
//	delete_task_memory                  deletes what did not help
//	retrieve_, summary_personal_memory  what is known about a user
//	add_tool_call_result                records calls of tools
//	summary_, retrieve_tool_memory      guidelines and statistics of tools
//	vector_store                        list, delete (workspaces), delete_ids, copy, dump, load
//	summary_working_memory, _for_as     makes a context smaller
//	grep_, read_working_memory          the files of what left it
//
// ReMe's demonstrations are left out: agentic_retrieve, react and use_mock_search.
//
// # What differs from ReMe
//
// Success tells the truth, and what fails is an error with the sentinels of package backends,
// where ReMe answers success and nothing. Deleting deletes; what changes is changed in place,
// so that deleted_count counts only what is gone. Counters are those of the store, and not of
// the client's copy. Dump leaves an earlier file alone when there is nothing to dump, and load
// of a file that is not there changes nothing. Calls of tools count as of now, whatever their
// create_time is, and the 20 newest are in an answer. The test of the recorded answers has
// the whole list, with reasons.
//
// # Files
//
// Dump, load and working memory use files only below Config.Folder, and no path of a request
// leaves it. A dump of the workspace shop of the default namespace is the file shop.jsonl in
// the folder that path names. Working memory has a hidden folder of its own for each scope:
// paths in requests are relative to that; store_dir is a folder in it, and chat_id one in
// store_dir. The names of its files follow from their contents, so that none takes the place
// of another. [Flows.Place] is where they are forgotten with their person.
package flows
