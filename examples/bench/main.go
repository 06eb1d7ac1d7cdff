// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures the ranking of memories: how well it finds, and how fast; and
// working memory: what sessions and compaction cost.
//
//	go run ./examples/bench locomo -data FILE [-json] [-k1 1.2] [-b 0.75]
//	go run ./examples/bench search [-json] [-sizes 1000,10000] [-dim 1536]
//	go run ./examples/bench redis -redis URL [-json] [-sizes 1000,10000,100000] [-dim 1536]
//	go run ./examples/bench sessions [-redis URL] [-json] [-sessions 64] [-turns 10,100,1000] [-window 20]
//	go run ./examples/bench compaction [-data FILE] [-json] [-outputs 10] [-tokens 50000] [-limit 20000]
//	go run ./examples/bench transcript [-json] [-turns 200] [-window 32000] [-seed 1]
//	go run ./examples/bench reme [-data FOLDER] [-redis URL] [-json] [-load 100000]
//
// The first reads conversations and questions in the format of LoCoMo (Maharana
// et al., ACL 2024), stores one memory for each turn, one partition for each
// conversation, asks every question as it stands, and reports how many of the
// turns that answer it were found. The data is not part of this project: its
// licence forbids commercial use. The second times searches over made-up memories beside a bare scan of the
// same vectors. Both go through a store, SQLite in memory, and package recall.
//
// The third measures memory in Redis beside memory in a SQLite file: searches of
// one partition and of a thousand, warm and cold; writes by many at once; bytes. It writes under prefixes of
// its own and deletes them; still, give it a server that nobody else uses, without
// persistence and with 3 GB free for the default sizes:
//
//	redis-server --port 7777 --save '' &
//	go run ./examples/bench redis -redis redis://localhost:7777
//
// The default takes some minutes.
//
// The folder peers, a module of its own, gives other projects the same to do.
//
// The fourth lets sessions grow, in a SQLite file and on a server, and measures at
// some lengths what it costs to save a turn and to load the newest turns: times, and
// bytes on the wire. The fifth times the steps of compaction that call no model on
// a long conversation with huge results of tools: one of the file, or a made-up one of
// the size of LoCoMo's. The sixth plays a made-up conversation of an agent through
// with and without compaction and counts the tokens that its model is sent, in a table
// in Markdown. Its summaries are made up, too, of the size that models write.
//
// The seventh reads pools of task memories in the format of ReMe 0.2, each with the
// query of the task that taught it, and measures how many of a task's memories its
// query finds: with WhenToUse alone and with the content, in SQLite and on a server,
// whose rankings must be the same, beside plain BM25. -data, or EINOMEM_REME, names
// the folder with paper/appworld_qwen3_8b.jsonl and paper/bfcl_qwen3_8b.jsonl. They
// are no part of this project. Then it times how long it takes to load bfcl_v3.jsonl of
// that folder, and a library of -load memories that it makes up, and how much memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // go-redis tells of connections that fail, and the error does, too
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `usage: bench locomo -data FILE [-json] [-k1 1.2] [-b 0.75]
       bench search [-json] [-sizes 1000,10000] [-dim 1536] [-searches 200]
       bench redis [-redis URL] [-json] [-sizes 1000,10000,100000] [-dim 1536] [-queries 200] [-users 1000]
       bench sessions [-redis URL] [-json] [-sessions 64] [-turns 10,100,1000] [-window 20]
       bench compaction [-data FILE] [-json] [-outputs 10] [-tokens 50000] [-limit 20000] [-runs 20]
       bench transcript [-json] [-turns 200] [-window 32000] [-seed 1]
       bench reme [-data FOLDER] [-redis URL] [-json] [-load 100000]`

// run returns the exit code: 0, 1 for a failure, 2 for a wrong command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(errs, usage)
		return 2
	}
	command := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"locomo":     locomoCommand,
		"search":     searchCommand,
		"redis":      redisCommand,
		"sessions":   sessionsCommand,
		"compaction": compactionCommand,
		"transcript": transcriptCommand,
		"reme":       remeCommand,
	}[args[0]]
	if command == nil {
		fmt.Fprintf(errs, "unknown command %q\n%s\n", args[0], usage)
		return 2
	}
	switch err := command(ctx, args[1:], out, errs); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintln(errs, err)
		return 2
	default:
		fmt.Fprintln(errs, err)
		return 1
	}
}

var errUsage = errors.New("wrong command line")
