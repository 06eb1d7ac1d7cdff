// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Einomem serves memory of agents over HTTP and MCP, and operates the store that holds it: an SQLite
// file, a Redis server, or Postgres. It is one static binary.
//
//	go install github.com/einomem/einomem/examples/einomem@latest
//	einomem serve                     # http://127.0.0.1:8080, on memory.db
//	einomem list -user ann
//
// Settings come from flags, the environment (EINOMEM_STORE, EINOMEM_LISTEN, EINOMEM_CONFIG), and
// the file of -config, in this order: see einomem.yaml. OPENAI_API_KEY (and OPENAI_BASE_URL,
// OPENAI_MODEL, OPENAI_EMBEDDING_MODEL) name a model. Without one messages are stored as they were
// said, and found by words. OTEL_EXPORTER_OTLP_ENDPOINT sends traces there.
//
// # Serving
//
//	serve             REST, MCP and a page for people; -check only reads the settings and the store
//	mcp               MCP on standard input and output, for -user or -workspace
//	chat              the same as serve, and an agent that remembers each of its users
//	key NAME          a new secret, and its key for the file: of the user NAME, or with -admin of all
//
// With no file "serve" serves only this machine, without keys. It answers at
//
//	/                the page
//	/openapi.json    all endpoints: of this project, ReMe, mem0, agent-memory-server
//	/mcp             MCP, streamable HTTP
//	/healthz         the process lives
//	/readyz          the store answers, and the server stays
//	/metrics         for Prometheus; to an admin key for everything alone, if there are keys
//
// On SIGTERM /readyz fails, the server completes running requests, ends jobs, learns from the log,
// and closes the store: 30 seconds at most.
//
// "chat" answers each user, whom the scope of a request alone decides, as a stream of plain text:
//
//	curl localhost:8080/chat -H 'X-User: ann' -d 'I am allergic to peanuts.'
//	curl localhost:8080/chat -H 'X-User: ann' -H 'X-Session: tuesday' -d 'What am I allergic to?'
//	curl localhost:8080/chat -H 'X-User: bob' -d 'What am I allergic to?'
//
// # Operating
//
// The flags -user, -agent or -workspace, in a -namespace, name the owner of the memories.
//
//	stats             counts of each owner's data
//	list              users, agents and workspaces; for one of them the memories, its
//	                  -sessions, or the messages of a -session
//	show ID           a memory with all its fields
//	search QUERY      the memories that answer a query, best first
//	history ID        the events of a memory, and of its predecessors
//	audit             duplicates, empty memories, and facts that lack a source
//	delete ID         deletes a memory; with -erase also its history, and its turn
//	forget            erases a user, agent or workspace; of a user also a -session, a
//	                  -message, or messages between -from and -to; -receipt FILE
//	                  keeps the receipt
//	verify            traces of somebody who was forgotten: in the bytes of the store,
//	                  its "-wal" and every -folder; -receipt FILE, -marker TEXT
//	compact           gives the unused room of an SQLite file or of Postgres back
//	export FILE       writes all data of an owner, a JSON object a line, into a new file
//	import FILE       reads the output of export, into any store
//	reflect           what tidying would do with the memories of one: -yes does it, -plan FILE
//	                  carries out a plan that -json printed, -undo PLAN takes it back. It
//	                  calls a model if OPENAI_API_KEY is set
//	retain            erases memories beyond a rule, such as -older-than 90 days;
//	                  -dry-run lists them
//	check             reads everything, and prints damaged and missing parts
//	reindex           rebuilds the derived data of a Redis server
//	transfer FROM TO  copies a namespace, or one partition of it, to another store
//	library ...       ReMe's libraries: load, dump, copy; forget -workspace erases one
//
// Flags stand before or after the command; "einomem forget -help" lists them.
// Commands that erase ask for -yes. Answers are tables, or one JSON object; with -json all are
// JSON, one object a line. The exit code is 1 for a failure, and 2 for a wrong command line. Lines
// before an error are printed all the same. Progress appears on a terminal alone.
//
//	$ einomem search -user ann peanuts
//	SCORE  ID                                    SINCE                 KIND     TEXT
//	0.57   14ce0718-237b-8163-98f0-84885ef3eebd  2026-03-07T09:05:59Z  episode  I am allergic to peanuts.
//	$ einomem export -user ann ann.jsonl -json
//	{"partitions":1,"records":2,"deleted":0,"sessions":1,"messages":2,"blobs":0}
//	$ einomem -store redis://localhost:6379 import ann.jsonl
//
// Start with commands, the list of all, and call.go, their common part.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/urfave/cli/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
)

func main() {
	logging.Disable() // go-redis logs connections that fail, and errors report them, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, out, errout io.Writer) int {
	err := root(out, errout).Run(ctx, append([]string{"einomem"}, args...))
	if err == nil {
		return 0
	}
	fmt.Fprintf(errout, "einomem: %s\n", redact.Text(err.Error()))
	if wrong := cli.ExitCoder(nil); errors.As(err, &wrong) {
		return wrong.ExitCode()
	}
	return 1
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return cli.Exit(fmt.Sprintf(format, args...), 2) }

// command is a command of the program.
type command struct {
	name, args, usage string
	whose             whom
	run               func(context.Context, *call) error
	flags             []cli.Flag
}

// whom says whether a command takes one user, agent or workspace.
type whom int

const (
	all     whom = iota // the namespace alone
	anyone              // the namespace, or a named one
	someone             // a named one
	apart               // the command opens by itself what it needs
)

// commands are the commands of the program, in the order of its help.
func commands() []command {
	yes := &cli.BoolFlag{Name: "yes", Usage: "erase it"}
	ended := &cli.BoolFlag{Name: "all", Usage: "also what was superseded, retracted or expired"}
	session := &cli.StringFlag{Name: "session", Usage: "of the session with this `ID`"}
	kinds := &cli.StringSliceFlag{Name: "kind", Usage: "of this `KIND`, such as fact, episode or task; may be repeated"}
	count := func(name, usage string) cli.Flag { return &cli.IntFlag{Name: name, Usage: usage} }
	moment := func(name, usage string) cli.Flag {
		layouts := cli.TimestampConfig{Layouts: []string{time.RFC3339, time.DateOnly}}
		return &cli.TimestampFlag{Name: name, Usage: usage + ", such as 2026-03-07 or 2026-03-07T12:00:00Z", Config: layouts}
	}
	return []command{
		{"stats", "", "how much is held of whom", anyone, stats, nil},
		{"list", "", "users, agents and workspaces, or the memories of one", anyone, list, []cli.Flag{
			ended, kinds, session, &cli.BoolFlag{Name: "sessions", Usage: "sessions instead of memories"}}},
		{"show", "ID", "a memory with all its fields", someone, show, nil},
		{"search", "QUERY", "the memories that answer a query, best first", someone, search, []cli.Flag{
			ended, kinds, &cli.IntFlag{Name: "limit", Value: 10, Usage: "at most `N`"}}},
		{"history", "ID", "what became of a memory", someone, history, nil},
		{"audit", "", "duplicates, memories without words, and facts without a source", anyone, audit, nil},
		{"delete", "ID", "delete a memory, which no search finds any more, nor the turn that taught it", someone, remove, []cli.Flag{
			yes, &cli.BoolFlag{Name: "erase", Usage: "also its history, and what was said in that turn"}}},
		{"forget", "", "erase a person, or a part of what was said", someone, forget, []cli.Flag{
			yes, session, &cli.StringSliceFlag{Name: "message", Usage: "of the session, the message with this `ID`; may be repeated"},
			moment("from", "what was said from this `TIME` on"), moment("to", "what was said before this `TIME`"),
			&cli.StringFlag{Name: "receipt", Usage: "write the receipt into this `FILE`, too"}}},
		{"rollback", "", "take back what a session, messages or a source taught", someone, rollBack, []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "do it; without it the command lists what it would take back"}, session,
			&cli.StringSliceFlag{Name: "message", Usage: "of the session, what the message with this `ID` taught; may be repeated"},
			&cli.StringFlag{Name: "source", Usage: "what this `SOURCE` taught: tool, document, own, other, or one by its name, such as \"tool search_web\""},
			moment("since", "what was learnt from this `TIME` on")}},
		{"verify", "", "whether anything is left of somebody who was forgotten", someone, verify, verifyFlags()},
		{"compact", "", "give the unused room of a file or a database back; others wait meanwhile", all, compact, nil},
		{"export", "FILE", "write all that is held of a person into a new file", someone, export, nil},
		{"import", "FILE", "read what export wrote", all, importFile,
			[]cli.Flag{&cli.BoolFlag{Name: "learn", Usage: "leave to be learnt from what was not learnt from where it comes from"}}},
		{"reflect", "", "tidy the memories of a person or a workspace", someone, tidy, []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing: the default"}, &cli.BoolFlag{Name: "yes", Usage: "do it"},
			&cli.StringSliceFlag{Name: "rule", Usage: "by this `RULE` alone, such as duplicates; may be repeated"},
			&cli.StringFlag{Name: "plan", Usage: "do what the plan in this `FILE` says"}, &cli.StringFlag{Name: "undo", Usage: "take back the plan with this `ID`"}}},
		{"retain", "", "erase what a rule does not keep", all, retain, []cli.Flag{
			yes, kinds, &cli.BoolFlag{Name: "dry-run", Usage: "say what would go, and erase nothing"},
			count("older-than", "what was stored so many `DAYS` ago"), count("ended-for", "what holds no more since so many `DAYS`"),
			count("unused-for", "what no model was shown for so many `DAYS`"), count("at-most", "of each kind, the least used beyond `N`")}},
		{"check", "", "whether the store is whole", anyone, check, nil},
		{"reindex", "", "rebuild what a Redis server derives", anyone, reindex, nil},
		{"transfer", "FROM TO", "copy to another store", anyone, transfer, nil},
	}
}

// servingCommands are the commands that serve memory to others.
func servingCommands() []command {
	listen := &cli.StringFlag{Name: "listen", Sources: cli.EnvVars("EINOMEM_LISTEN"), DefaultText: "127.0.0.1:8080", Usage: "the `ADDRESS` to listen on"}
	tools := &cli.StringFlag{Name: "tools", DefaultText: "memory", Usage: "the `GROUPS` of MCP tools: memory, session, files, reme, separated by commas"}
	forget := &cli.BoolFlag{Name: "allow-forget", Usage: "let MCP clients that cannot ask their user erase all of a person"}
	return []command{
		{"serve", "", "serve memory over HTTP and MCP, with a page for people", apart, serve, []cli.Flag{
			listen, tools, forget, &cli.BoolFlag{Name: "check", Usage: "check the settings and the store, and end"}}},
		{"mcp", "", "serve MCP on standard input and output, for -user or -workspace; with -user, -workspace any lets ReMe's flows name all", apart, serveMCP, []cli.Flag{
			tools, forget, &cli.StringFlag{Name: "session", Usage: "the `ID` of the session"}}},
		{"chat", "", "serve an agent that remembers each of its users", apart, chat, []cli.Flag{listen}},
		{"key", "NAME", "print a new secret, and its key for the file of settings", apart, newKey, []cli.Flag{
			&cli.BoolFlag{Name: "admin", Usage: "a key that does everything, instead of that of the user called NAME"}}},
	}
}

// libraryCommands are the commands of ReMe's libraries.
func libraryCommands() []command {
	merge := []cli.Flag{&cli.BoolFlag{Name: "merge", Usage: "keep what is there"}}
	return []command{
		{"load", "WORKSPACE FILE", "replace the memories of a workspace by a file's", all, loadLibrary, merge},
		{"dump", "WORKSPACE FILE", "write the memories that hold into a new file", all, dumpLibrary, nil},
		{"copy", "FROM TO", "copy a workspace", all, copyLibrary, merge},
	}
}

// root returns the command line.
func root(out, errout io.Writer) *cli.Command {
	r := group("einomem", "serve and operate what agents remember", append(servingCommands(), commands()...))
	r.Commands = append(r.Commands, group("library", "ReMe's libraries of experience", libraryCommands()))
	r.Writer, r.ErrWriter, r.HideVersion, r.DisableSliceFlagSeparator = out, errout, true, true
	r.ExitErrHandler = func(context.Context, *cli.Command, error) {} // run does it
	r.Flags = []cli.Flag{
		&cli.StringFlag{Name: "store", DefaultText: "memory.db", Sources: cli.EnvVars("EINOMEM_STORE"),
			Usage: "the `FILE` of SQLite, or the URL of Redis or Postgres, that keeps the memories"},
		&cli.StringFlag{Name: "config", Sources: cli.EnvVars("EINOMEM_CONFIG"), Usage: "the YAML `FILE` of the settings"},
		&cli.BoolFlag{Name: "json", Usage: "print JSON: one object, or one a line"},
		&cli.StringFlag{Name: "namespace", Value: backends.DefaultNamespace, Usage: "the `NAME` of the application or tenant"},
		&cli.StringFlag{Name: "user", Usage: "whose memories: the user's `ID`"},
		&cli.StringFlag{Name: "agent", Usage: "or the agent's own, by its `ID`"},
		&cli.StringFlag{Name: "workspace", Usage: "or those of the workspace of this `NAME`"},
	}
	return r
}

// group returns a command with others below it.
func group(name, about string, below []command) *cli.Command {
	wrong := func(_ context.Context, line *cli.Command, err error, _ bool) error {
		return usage("%v: see %s -help", err, line.FullName())
	}
	g := &cli.Command{Name: name, Usage: about, HideHelpCommand: true, OnUsageError: wrong}
	g.Action = func(_ context.Context, line *cli.Command) error {
		return usage("%q is no command: see %s -help", line.Args().First(), line.FullName())
	}
	for _, c := range below {
		action := func(ctx context.Context, line *cli.Command) error {
			if want := strings.Fields(c.args); line.NArg() != len(want) {
				return usage("%d arguments: use %s %s, and see %[2]s -help", line.NArg(), line.FullName(), c.args)
			}
			return c.carryOut(ctx, &call{Command: line})
		}
		g.Commands = append(g.Commands, &cli.Command{
			Name: c.name, Usage: c.usage, ArgsUsage: c.args, Flags: c.flags, Action: action, HideHelpCommand: true, OnUsageError: wrong,
		})
	}
	return g
}
