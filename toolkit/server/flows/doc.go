// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows offers ReMe 0.2's flows, with their names, requests and answers, as plain
// functions over a backend of package reme. Packages rest and mcp beside this one serve them.
//
//	f, err := flows.New(&flows.Config{Backend: backend, Model: chatModel})
//	r, err := f.Call(ctx, "retrieve_task_memory", open, "", []byte(`{"workspace_id": "shop", "query": "refund an order"}`))
//	fmt.Println(r.Answer, r.Metadata["memory_list"])
//
// # Scopes
//
// A request names a workspace, or a user by user_id. For personal memory the workspace_id is a
// user's, too, as ReMe's clients have a workspace for each user. If the caller opens no user of that
// name but the workspace, it is the person as whom the caller acts there. Every flow calls Open before it
// reads or writes anything, and uses the scope that Open returns. So a server decides which scopes
// its caller may reach, and may replace the request's scope by the connection's.
//
// # The flows
//
//	retrieve_task_memory, _simple       lessons of earlier tasks
//	summary_task_memory, _simple        learns from attempts with a score
//	record_task_memory                  counts uses and successes
//	delete_task_memory                  deletes memories that rarely helped
//	retrieve_, summary_personal_memory  knowledge about a user
//	add_tool_call_result                records calls of tools
//	summary_, retrieve_tool_memory      guidelines and statistics of tools
//	vector_store                        list, delete (workspaces), delete_ids, copy, dump, load
//	summary_working_memory, _for_as     makes a context smaller
//	grep_, read_working_memory          the files of what left it
//
// ReMe's demonstrations are left out: agentic_retrieve, react and use_mock_search.
//
// # Differences from ReMe
//
// Success tells the truth, and a failure is an error with the sentinels of package backends, where
// ReMe answers success and nothing. Deleting deletes. Changes happen in place, so that
// deleted_count counts only erased memories. Counters are the store's, rather than the client's
// copy. Dump leaves an earlier file alone when there is nothing to dump, and load of a missing file
// changes nothing. Calls of tools are dated now, whatever their create_time is, and an answer has
// the 20 newest. The test of the recorded answers has the whole list, with reasons.
//
// # Files
//
// Dump, load and working memory use files only below Config.Folder, and no path of a request leaves
// it. A dump of the workspace shop of the default namespace is the file shop.jsonl in the folder
// that path names. Working memory has a hidden folder of its own for each scope. Paths in requests
// are relative to it; store_dir is a folder in it, and chat_id one in store_dir. The names of its
// files follow from their contents, so that each file keeps its place. [Flows.Place] forgets them
// with their person.
package flows
