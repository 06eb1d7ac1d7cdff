// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Server serves memory over HTTP and MCP, with a page for people: one static binary.
//
//	cd examples/server
//	go run . -new-key ann                   # prints a secret, and the lines for the file: a key of the user ann
//	go run . -new-key ops -admin            # the same for a key that does everything
//	go run . -config server.yaml -check     # reads the file, opens the store, prints a summary
//	go run . -config server.yaml
//	go run . -mcp -user ann                 # MCP on standard input and output, for one person
//	go run . -mcp -workspace team           # the same for a workspace, as its owner
//	go run . -mcp -user ann -tools memory,reme -workspace any  # with ReMe's flows, on any workspace
//
// With no file it serves only this machine at http://127.0.0.1:8080, without keys, on memory.db.
// Flags override the environment (EINOMEM_LISTEN, EINOMEM_STORE, EINOMEM_CONFIG), which overrides
// the file: see server.yaml. OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL,
// OPENAI_EMBEDDING_MODEL) name a model; otherwise messages are stored as they were said, and found
// by words. OTEL_EXPORTER_OTLP_ENDPOINT sends traces there.
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
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/redis/go-redis/v9/logging"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

func main() {
	logging.Disable() // go-redis logs connections that fail, and errors report them, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "server: %v\n", err)
		os.Exit(1)
	}
}

// The lines that -new-key prints for a key, by its name.
const (
	personal = `    as: %q  # the user that it is: it opens their memories
    # workspaces: [team]  # in which it acts as that user
    write: true  # false: it only reads
`
	everything = `    # %q is an admin: it reads, changes and erases whatever is stored
    namespaces: ["*"]
    users: ["*"]
    agents: ["*"]
    workspaces: ["*"]
    write: true
    admin: true
`
)

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("config", os.Getenv("EINOMEM_CONFIG"), "the YAML `file` of the configuration")
	listen := flags.String("listen", os.Getenv("EINOMEM_LISTEN"), "the `address` to listen on (default 127.0.0.1:8080)")
	at := flags.String("store", os.Getenv("EINOMEM_STORE"), "the SQLite `file`, or the URL of Redis or Postgres, that keeps the memory (default memory.db)")
	check := flags.Bool("check", false, "check the configuration and the store, and end")
	newKey := flags.String("new-key", "", "print a new secret, and the entry of the file for the key of that `name`")
	admin := flags.Bool("admin", false, "with -new-key: a key that does everything, instead of that of the user called `name`")
	allowForget := flags.Bool("allow-forget", false, "let MCP clients that cannot ask their user erase all of a person")
	tools := flags.String("tools", "", "the `groups` of MCP tools: memory, session, files, reme, separated by commas (default memory)")
	stdio := flags.Bool("mcp", false, "serve MCP on standard input and output, for -user or -workspace")
	var s backends.Scope
	flags.StringVar(&s.UserID, "user", "", "with -mcp: whose memory, by `id`")
	flags.StringVar(&s.Workspace, "workspace", "", "with -mcp: the `id` of the workspace; any: ReMe's flows may name all, as -user")
	flags.StringVar(&s.SessionID, "session", "", "with -mcp: the `id` of the session")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || flags.NArg() > 0 {
		return errors.Join(err, errors.New("server -h lists the flags"))
	}
	if *newKey != "" {
		secret, opens := access.NewSecret(), personal
		if *admin {
			opens = everything
		}
		_, err := fmt.Fprintf(stdout, "secret: %s\n\nkeys:\n  - name: %q\n    hash: %s\n"+opens, secret, *newKey, access.Hash(secret), *newKey)
		return err
	}
	cfg, err := load(*file, *listen, *at)
	if err != nil {
		return err
	}
	cfg.AllowForget = cfg.AllowForget || *allowForget
	if *tools != "" {
		cfg.Tools = strings.Split(*tools, ",")
	}
	log := slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level})
	svc, err := open(ctx, cfg, s, slog.New(requestIDs{log}))
	if err != nil {
		return err
	}
	switch {
	case *check:
		_, err = fmt.Fprintln(stdout, svc.summary())
	case *stdio:
		err = svc.mcp.Run(ctx, &sdk.StdioTransport{})
	default:
		err = svc.serve(ctx, stdout)
	}
	return errors.Join(err, svc.close(ctx))
}
