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
//	health            asks the server whether it is ready
//	mcp               MCP on standard input and output, for -user or -workspace
//	chat              talks to an agent that remembers -user; with -listen serves it to many
//	key NAME          a new secret, and its key for the file: of the user NAME, or with -admin of all
//
// With no file "serve" serves only this machine, without keys. It answers at
//
//	/                the page
//	/openapi.json    all endpoints: of this project, ReMe, mem0, agent-memory-server
//	/mcp             MCP, streamable HTTP; /sse for clients with server-sent events
//	/healthz         the process lives
//	/readyz          the store answers, and the server stays
//	/metrics         for Prometheus; to an admin key for everything alone, if there are keys
//
// On SIGTERM /readyz fails, the server completes running requests, ends jobs, learns from the log,
// and closes the store: 30 seconds at most.
//
// "chat -listen localhost:8080" answers each user at /chat, beside all that serve has. The scope of
// a request alone decides whose memory it has. The answer is a stream of plain text:
//
//	curl localhost:8080/chat -H 'X-User: ann' -d 'I am allergic to peanuts.'
//	curl localhost:8080/chat -H 'X-User: ann' -H 'X-Session: tuesday' -d 'What am I allergic to?'
//	curl localhost:8080/chat -H 'X-User: bob' -d 'What am I allergic to?'
//
// In the terminal lines such as /new, /notes and /quit are for the program, and no messages.
//
// # Operating
//
// The flags -user, -agent or -workspace, in a -namespace, name the owner of the memories. An ID may
// be the end of one, as notes show it.
//
//	stats             counts of each owner's data, what waits to be learnt from, and what memory cost a day
//	list              users, agents and workspaces; for one of them the memories, its
//	                  -sessions, or the messages of a -session
//	show ID           a memory with all its fields
//	search QUERY      the memories that answer a query, best first
//	history ID        the events of a memory, and of its predecessors
//	audit             duplicates, empty memories, and facts that lack a source
//	add TEXT          adds a fact by hand
//	edit ID [TEXT]    gives a memory another text, or makes it -standing or -delicate
//	delete ID         deletes a memory; with -erase also its history, and its turn
//	undo ID           takes back a plan of reflect, or the last edit of a memory; without ID what
//	                  a -session, its -message or a -source taught
//	forget            erases a user, agent or workspace; of a user also a -session, a
//	                  -message, or messages between -from and -to; -receipt FILE
//	                  keeps the receipt
//	verify            traces of somebody who was forgotten: in the bytes of the store,
//	                  its "-wal" and every -folder; -receipt FILE, -marker TEXT
//	export FILE       writes all data of an owner, a JSON object a line, into a new file
//	import FILE       reads the output of export, into any store
//	bring FILE        adds what another memory kept: MCP's memory server, ChatGPT, Markdown, mem0
//	reflect           tidies the memories of one by a plan; -plan FILE carries out one that -json
//	                  printed. It calls a model if OPENAI_API_KEY is set
//	retain            erases memories beyond a rule, such as -older-than 90 days
//	retry             learns from what could not be learnt from
//	reembed           gives all memories vectors of the embedder of the environment
//	check             reads everything, and prints damaged and missing parts
//	reindex           rebuilds the derived data of a Redis server
//	compact           gives the unused room of an SQLite file or of Postgres back
//	transfer FROM TO  copies a namespace, or one partition of it, to another store
//	library ...       ReMe's libraries: load, dump, copy; forget -workspace erases one
//	version           the version; also -version
//	completion SHELL  completion for bash, zsh, fish and PowerShell
//
// add and edit change the store at once, and export and library dump write a new file. All other
// commands that change something say what they would do, and do it with -yes. Each of both kinds
// takes -yes. "einomem help -json" describes all commands and flags to programs.
// Flags stand before or after the command; "einomem forget -help" lists them.
//
// Answers are tables, or one JSON object; with -json all are JSON, one object a line, and errors
// too. Lines before an error are printed all the same. Colours and progress appear on a terminal
// alone, colours unless NO_COLOR is set. The exit code is 0 for done, 1 for a failure, 2 for a wrong
// command line, and 3 if check or verify found something.
//
//	$ einomem search -user ann peanuts
//	SCORE  ID                                    SINCE                 KIND     TEXT
//	0.57   14ce0718-237b-8163-98f0-84885ef3eebd  2026-03-07T09:05:59Z  episode  I am allergic to peanuts.
//	$ einomem forget -user ann -json
//	{"dry_run":true,"partition":{"namespace":"default","kind":"user","id":"ann"},"memories":2, ...}
//	nothing was changed: repeat the command with -yes
//	$ einomem export -user ann ann.jsonl -json
//	{"partitions":1,"records":2,"deleted":0,"sessions":1,"messages":2,"blobs":0}
//	$ einomem -store redis://localhost:6379 import ann.jsonl -yes
//
// Start with commands, the list of all, and call.go, their common part.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // an image of the program alone has no zones

	"github.com/redis/go-redis/v9/logging"
	"github.com/urfave/cli/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/build"
)

func main() {
	logging.Disable() // go-redis logs connections that fail, and errors report them, too
	cli.HelpPrinter = printHelp
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
	text, name := redact.Text(err.Error()), "einomem:" // providers quote the key that they refuse
	switch {
	case slices.Contains(args, "-json"), slices.Contains(args, "--json"):
		object, _ := json.Marshal(map[string]string{"error": text}) // a text is JSON
		name, text = string(object), ""
	case coloured(errout):
		name = "\x1b[31m" + name + "\x1b[0m"
	}
	fmt.Fprintln(errout, strings.TrimSpace(name+" "+text))
	if found := (negative{}); errors.As(err, &found) {
		return 3
	} else if wrong := cli.ExitCoder(nil); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return cli.Exit(fmt.Sprintf(format, args...), 2) }

// negative is the answer of a check that found something.
type negative struct{ error }

// servingCommands are the commands that serve memory to others.
func servingCommands() []command {
	listen := &cli.StringFlag{Name: "listen", Sources: cli.EnvVars("EINOMEM_LISTEN"), DefaultText: "127.0.0.1:8080", Usage: "the `ADDRESS` to listen on"}
	keyFile := &cli.StringFlag{Name: "key-file", Sources: cli.EnvVars("EINOMEM_KEY_FILE"), Usage: "the `FILE` with the secret of a key that opens everything; it is made if it is missing"}
	tools := &cli.StringFlag{Name: "tools", DefaultText: "memory", Usage: "the `GROUPS` of MCP tools: memory, session, files, reme, separated by commas"}
	forget := &cli.BoolFlag{Name: "allow-forget", Usage: "let MCP clients that cannot ask their user erase all of a person"}
	learn := slices.Clip([]cli.Flag{
		&cli.IntFlag{Name: "learn-tokens", Usage: "learning takes at most `N` tokens a person and day; further turns wait for the next day"},
		&cli.IntFlag{Name: "learn-calls", Usage: "and at most `N` calls of the model"}})
	return []command{
		{"serve", "[KEY=VALUE…]", "serve memory over HTTP and MCP, with a page for people; ReMe's start line is understood, such as http.port=8002", apart, reads, serve, append(learn,
			listen, keyFile, tools, forget, &cli.BoolFlag{Name: "check", Usage: "check the settings and the store, and end"})},
		{"health", "", "ask the server at -listen whether it is ready", apart, reads, health, []cli.Flag{listen}},
		{"mcp", "[KEY=VALUE…]", "serve MCP on standard input and output, for -user or -workspace; with -user, -workspace any lets ReMe's flows name all", apart, reads, serveMCP, append(learn,
			tools, forget, &cli.StringFlag{Name: "session", Usage: "the `ID` of the session"})},
		{"chat", "", "talk to an agent that remembers -user; with -listen serve it to many", apart, reads, chat, append(learn,
			listen, keyFile, &cli.StringFlag{Name: "say", Usage: "say this `TEXT`, print the answer, and end"},
			&cli.BoolFlag{Name: "notes", Usage: "print the note of memory that the model gets with each message"})},
		{"key", "NAME", "print a new secret, and its key for the file of settings", apart, reads, newKey, []cli.Flag{
			&cli.BoolFlag{Name: "admin", Usage: "a key that does everything, instead of that of the user called NAME"}}},
		{"help", "[COMMAND…]", "what a command does, with its flags", apart, reads, help, nil},
		{"version", "", "the version of this program, and of Go", apart, reads, version, nil},
	}
}

// commands are the commands that operate a store, in the order of its help.
func commands() []command {
	ended := &cli.BoolFlag{Name: "all", Usage: "also what was superseded, retracted or expired"}
	session := &cli.StringFlag{Name: "session", Usage: "of the session with this `ID`"}
	message := &cli.StringSliceFlag{Name: "message", Usage: "of the session, the message with this `ID`; may be repeated"}
	kinds := &cli.StringSliceFlag{Name: "kind", Usage: "of this `KIND`, such as fact, episode or task; may be repeated"}
	standing := &cli.BoolFlag{Name: "standing", Usage: "it applies to every question"}
	delicate := &cli.BoolFlag{Name: "delicate", Usage: "it is shown only where a question is about it"}
	expires := moment("expires", "it ends at this `TIME`")
	count := func(name, usage string) cli.Flag { return &cli.IntFlag{Name: name, Usage: usage} }
	return []command{
		{"stats", "", "how much is held of whom, what waits, and what memory cost a day", anyone, reads, stats, nil},
		{"list", "", "users, agents and workspaces, or the memories of one", anyone, reads, list, []cli.Flag{
			ended, kinds, session, &cli.BoolFlag{Name: "sessions", Usage: "sessions instead of memories"}}},
		{"show", "ID", "a memory with all its fields", someone, reads, show, nil},
		{"search", "QUERY", "the memories that answer a query, best first", someone, reads, search, []cli.Flag{
			ended, kinds, &cli.IntFlag{Name: "limit", Value: 10, Usage: "at most `N`"}}},
		{"history", "ID", "what became of a memory", someone, reads, history, nil},
		{"audit", "", "duplicates, memories without words, and facts without a source", anyone, reads, audit, nil},
		{"add", "TEXT", "add a fact by hand", someone, acts, add, []cli.Flag{standing, delicate, expires}},
		{"edit", "ID [TEXT]", "give a memory another text, or other fields", someone, acts, edit, []cli.Flag{standing, delicate, expires}},
		{"delete", "ID", "delete a memory, which no search finds any more, nor the turn that taught it", someone, copies, remove, []cli.Flag{
			&cli.BoolFlag{Name: "erase", Usage: "also its history, and what was said in that turn"}}},
		{"undo", "[ID]", "take back a plan or an edit, or what a session, messages or a source taught", someone, copies, undo, []cli.Flag{
			session, message, &cli.StringFlag{Name: "source", Usage: "what this `SOURCE` taught: tool, document, own, other, or one by its name, such as \"tool search_web\""},
			moment("since", "what was learnt from this `TIME` on")}},
		{"forget", "", "erase a person, or a part of what was said", someone, copies, forget, []cli.Flag{
			session, message, moment("from", "what was said from this `TIME` on"), moment("to", "what was said before this `TIME`"),
			&cli.StringFlag{Name: "receipt", Usage: "write the receipt into this `FILE`, too"}}},
		{"verify", "", "whether anything is left of somebody who was forgotten", someone, reads, verify, verifyFlags()},
		{"export", "FILE", "write all that is held of a person into a new file", someone, acts, export, nil},
		{"import", "FILE", "read what export wrote", all, copies, importFile,
			[]cli.Flag{&cli.BoolFlag{Name: "learn", Usage: "leave to be learnt from what was not learnt from where it comes from"}}},
		{"bring", "FILE", "add what another memory kept", someone, copies, bring, []cli.Flag{&cli.StringFlag{Name: "from", Required: true,
			Usage: "the `KIND` of the file: mcp (memory.jsonl of MCP's memory server), chatgpt (conversations.json of an export), markdown (notes such as MEMORY.md), mem0 (its memories as JSON)"}}},
		{"reflect", "", "tidy the memories of a person or a workspace", someone, asks, tidy, []cli.Flag{
			&cli.StringSliceFlag{Name: "rule", Usage: "by this `RULE` alone, such as duplicates; may be repeated"},
			&cli.StringFlag{Name: "plan", Usage: "do what the plan in this `FILE` says, which -json printed"}}},
		{"retain", "", "erase what a rule does not keep", all, asks, retain, []cli.Flag{
			kinds, count("older-than", "what was stored so many `DAYS` ago"), count("ended-for", "what holds no more since so many `DAYS`"),
			count("unused-for", "what no model was shown for so many `DAYS`"), count("at-most", "of each kind, the least used beyond `N`")}},
		{"retry", "", "learn from what could not be learnt from", anyone, asks, retry, nil},
		{"reembed", "", "give all memories vectors of the embedder that the environment names", anyone, asks, reembed, nil},
		{"check", "", "whether the store is whole", anyone, reads, check, nil},
		{"reindex", "", "rebuild what a Redis server derives", anyone, asks, reindex, nil},
		{"compact", "", "give the unused room of a file or a database back; others wait meanwhile", all, asks, compact, nil},
		{"transfer", "FROM TO", "copy to another store", anyone, asks, transfer, nil},
	}
}

// moment is a flag with a time.
func moment(name, usage string) cli.Flag {
	layouts := cli.TimestampConfig{Layouts: []string{time.RFC3339, time.DateOnly}}
	return &cli.TimestampFlag{Name: name, Usage: usage + ", such as 2026-03-07 or 2026-03-07T12:00:00Z", Config: layouts}
}

// libraryCommands are the commands of ReMe's libraries.
func libraryCommands() []command {
	merge := []cli.Flag{&cli.BoolFlag{Name: "merge", Usage: "keep what is there"}}
	return []command{
		{"load", "WORKSPACE FILE", "replace the memories of a workspace by a file's", all, copies, loadLibrary, merge},
		{"dump", "WORKSPACE FILE", "write the memories that hold into a new file", all, acts, dumpLibrary, nil},
		{"copy", "FROM TO", "copy a workspace", all, copies, copyLibrary, merge},
	}
}

// root returns the command line.
func root(out, errout io.Writer) *cli.Command {
	r := group("einomem", "serve and operate what agents remember", append(servingCommands(), commands()...))
	r.Commands = append(r.Commands, group("library", "ReMe's libraries of experience", libraryCommands()))
	r.Description = `Commands that change more than the memory that they add or edit say what they would do, and
do it with -yes. -json prints JSON, also of this help. Exit codes: 0 done, 1 failed, 2 a wrong command line, 3 check or verify found something.`
	r.Version, r.EnableShellCompletion = built().Version, true
	r.ConfigureShellCompletionCommand = func(c *cli.Command) { c.Hidden = false }
	r.Writer, r.ErrWriter, r.DisableSliceFlagSeparator = out, errout, true
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
		if line.NArg() == 0 {
			return usage("%s alone is no command: see %[1]s -help", line.FullName())
		}
		return usage("%q is no command: see %s -help", line.Args().First(), line.FullName())
	}
	for _, c := range below {
		action := func(ctx context.Context, line *cli.Command) error {
			want := len(strings.Fields(c.args))
			if n := line.NArg(); n > want && !strings.Contains(c.args, "…") || n < want-strings.Count(c.args, "[") {
				return usage("%d arguments: use %s, and see %s -help", n, strings.TrimSpace(line.FullName()+" "+c.args), line.FullName())
			}
			return c.carryOut(ctx, &call{Command: line})
		}
		flags, yes := c.flags, "do it; without it the command says what it would do, and changes nothing"
		if c.effect == acts {
			yes = "do it, which this command does without it, too"
		}
		if c.effect != reads {
			flags = append([]cli.Flag{&cli.BoolFlag{Name: "yes", Usage: yes}}, flags...)
		}
		g.Commands = append(g.Commands, &cli.Command{
			Name: c.name, Usage: c.usage, ArgsUsage: c.args, Flags: flags, Action: action, HideHelpCommand: true, OnUsageError: wrong,
		})
	}
	return g
}

// help prints what -help prints.
func help(ctx context.Context, c *call) error {
	within, at := (*cli.Command)(nil), c.Root()
	for _, name := range c.Args().Slice() {
		if within, at = at, at.Command(name); at == nil {
			return usage("%q is no command: see %s -help", name, within.FullName())
		}
	}
	if within == nil {
		return cli.ShowRootCommandHelp(at)
	}
	return cli.ShowCommandHelp(ctx, within, at.Name)
}

// printHelp prints the help of a command: with -json as a line for it, and one for each below it.
func printHelp(w io.Writer, template string, data any) {
	if of, ok := data.(*cli.Command); ok && of.Bool("json") {
		describe(json.NewEncoder(w), of)
	} else {
		cli.DefaultPrintHelp(w, template, data)
	}
}

func describe(to *json.Encoder, of *cli.Command) {
	flags := []map[string]any{}
	for _, f := range of.VisibleFlags() {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			typed, _ := f.(cli.SchemaTyper)
			flags = append(flags, map[string]any{"name": f.Names()[0], "type": typed.SchemaType(), "about": strings.ReplaceAll(d.GetUsage(), "`", ""), "environment": d.GetEnvVars()})
		}
	}
	_ = to.Encode(map[string]any{"command": strings.TrimSpace(of.FullName()), "arguments": of.ArgsUsage, "about": of.Usage, "flags": flags}) // to the standard output
	for _, below := range of.Commands {
		if !below.Hidden {
			describe(to, below)
		}
	}
}

// built is what is known of this build.
func built() (b struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}) {
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version, b.Go = build.Version(), info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	return b
}

// version prints it.
func version(_ context.Context, c *call) error {
	b := built()
	if c.json {
		return c.print(b, nil)
	}
	_, err := fmt.Fprintf(c.out, "einomem %s (%s)\n", b.Version, b.Go)
	return err
}
