// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Quickstart shows an agent that remembers. Without arguments it holds a short
// conversation in two sessions, with the store closed in between, and shows what
// was remembered and what memory put in front of the second question:
//
//	go run ./examples/quickstart
//
// With -say it takes one turn and prints the answer, so that each turn may be
// another process:
//
//	go run ./examples/quickstart -db memory.db -user ann -say "I am allergic to peanuts."
//	go run ./examples/quickstart -db memory.db -user ann -say "What am I allergic to?"
//
// OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_EMBEDDING_MODEL) has
// it talk to that model; without a key a small built-in one answers.
//
// Where to look: assistant.go is all that an agent needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// request is what the command line asks for.
type request struct {
	db, say string
	mode    modes.Mode
	scope   middleware.Scope
}

// run is the program: 0 is success, 1 a failure, 2 a command line that makes no
// sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\nquickstart -h lists the flags\n", err)
		return 2
	}
	if r.say == "" {
		err = tour(ctx, r.mode, stdout, stderr)
	} else {
		err = say(ctx, r, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*request, error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	db := flags.String("db", "", "the `file` that keeps the memory; needed by -say")
	user := flags.String("user", "me", "whose memory")
	session := flags.String("session", "default", "which conversation of the user")
	mode := flags.String("mode", string(modes.Both), "who is in charge of memory: static_control, agent_control or both")
	text := flags.String("say", "", "take one turn: say `text`, print the answer")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: say it with -say", flags.Arg(0))
	case given["say"] && strings.TrimSpace(*text) == "":
		return nil, errors.New("-say is blank: nothing is said")
	case given["say"] && (*db == "" || *db == ":memory:"):
		return nil, errors.New("-say needs -db FILE: without a file nothing is remembered")
	case !given["say"] && (given["db"] || given["user"] || given["session"]):
		return nil, errors.New("-db, -user and -session need -say TEXT")
	case *user == "" || *session == "":
		return nil, errors.New("-user and -session cannot be empty")
	}
	m, err := modes.Parse(*mode)
	if err != nil {
		return nil, fmt.Errorf("-mode: %w", err)
	}
	scope, err := middleware.Scope{UserID: *user, SessionID: *session}.Normalize()
	if err != nil {
		return nil, fmt.Errorf("-user, -session: %w", err)
	}
	return &request{db: *db, say: *text, mode: m, scope: scope}, nil
}

// say takes one turn. The answer is printed as soon as it is there; the program
// ends when what was said is learnt and the file is closed.
func say(ctx context.Context, r *request, stdout, stderr io.Writer) (err error) {
	a, err := open(ctx, r.db, r.mode, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	answer, err := a.say(ctx, r.scope, r.say)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, answer)
	return err
}
