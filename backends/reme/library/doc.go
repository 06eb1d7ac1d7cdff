// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package library keeps workspaces, the task and tool memories that agents share, as
// files of one memory a line: it loads the libraries of ReMe, writes dumps that ReMe
// loads, and copies, lists and empties workspaces.
//
//	dir, err := library.OpenDir("libraries")
//	l, err := library.New(&library.Config{Keeper: k, Dir: dir, Progress: library.Bar(os.Stderr)})
//	_, err = l.LoadFile(ctx, &library.LoadRequest{Scope: backends.Scope{Workspace: "appworld"}}) // libraries/appworld.jsonl
//
// A workspace is a partition of its own: no call crosses from one to another but
// Copy, which names both.
//
// # What a load reads
//
// A load tells the formats apart line by line:
//
//   - ReMe 0.2: workspace_id, memory_id, memory_type, when_to_use, content, score,
//     time_created, time_modified, author, metadata as an object or as a text that
//     holds one; target and reflection_subject of personal memories and
//     tool_call_results of tools, which go into the memory's metadata. A line
//     without memory_type is a task's.
//   - the experiences of ReMe before 0.2: experience_id, experience_type, a score of null.
//   - the files of ReMe's local vector store: unique_id, content, metadata. Vectors
//     are left out: nobody tells of which model they are.
//   - the Einomem format, and memories of package backends one a line.
//
// Ids stay; a line without one gets an id that follows from what it says. Of a tool
// a workspace has one memory, and its id is made of both; where ReMe came to have more
// of one tool, the first is that one, and the others keep theirs. The workspace is that
// of the request, whatever a line says. Times without a zone are of Config.Location.
// Members that a memory has no field for stand in its metadata under "extra_fields",
// and a dump in ReMe's format puts them back. Tags, confidence, step_type and
// tools_used are lifted out of extra_info, and category becomes source, so that
// filters find them; a dump lowers them again. Numbers are float64, as everywhere in
// metadata.
//
// A score of 0 is what ReMe writes where nobody judged, and all its libraries have
// it: Quality is nil then. A judged 0 is told apart in the line's metadata. A score
// that is not from 0 to 1 is on another scale and stays in extra_fields.
//
// # What a dump writes
//
// The Einomem format begins with a header, {"einomem_library":1,…}: the version of
// the format, how many memories follow, and the model of their vectors where they are
// written. In ReMe's format stands under "einomem" in a line's metadata what ReMe has
// no field for, and nothing if there is nothing. Either way, reading what was
// written gives the same memories. Vectors in a dump are taken as they are: load only
// dumps that you trust.
//
// # All or nothing
//
// A load that fails leaves the workspace as it was, whether a line cannot be read,
// the embedder or the store is away, the context ends, or the process dies. An input
// that is missing or empty never empties a workspace.
//
// Up to Config.OneBatch memories and 16 MiB are stored in one write: a search finds
// all that was there before, or all that is there then. What is longer is read in
// parts, which are put aside as blobs where no search sees them; it takes memory for
// the part, and some 50 bytes a memory to know ids. Once all of it is there, one write
// decides, and the memories are moved in batches of 500, the new ones first, so that
// a search in between finds some too many, and never too few. From the decision on
// nothing undoes it: cancelling has no effect, and if the process dies, the next
// load, or Resume, finishes it. Until then Dump and Copy of the workspace are
// ErrConflict.
//
// Loads of one workspace come one after the other, those of other processes too; the
// one that comes too late is ErrConflict. What agents learn meanwhile is replaced if
// it came before the decision, and stays if it came after.
package library
