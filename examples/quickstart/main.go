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
// Where to look: examples/internal/assistant is all that an agent needs; this
// program gives it a file to remember in, and examples/redis a server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/assistant"
	"github.com/einomem/einomem/modes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: 0 is success, 1 a failure, 2 a command line that makes no
// sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	db, turn, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\nquickstart -h lists the flags\n", err)
		return 2
	}
	if turn.Text == "" {
		err = tour(ctx, turn.Mode, stdout, stderr)
	} else {
		err = say(ctx, db, turn, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (db string, turn *assistant.Turn, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.StringVar(&db, "db", "", "the `file` that keeps the memory; needed by -say")
	turn, err = assistant.ParseTurn(flags, args, stderr)
	switch {
	case err != nil:
		return "", nil, err
	case turn.Given["say"] && (db == "" || db == ":memory:"):
		return "", nil, errors.New("-say needs -db FILE: without a file nothing is remembered")
	case !turn.Given["say"] && (turn.Given["db"] || turn.Given["user"] || turn.Given["session"]):
		return "", nil, errors.New("-db, -user and -session need -say TEXT")
	}
	return db, turn, nil
}

// say takes one turn. The program ends when what was said is learnt and the file is
// closed.
func say(ctx context.Context, db string, turn *assistant.Turn, stdout, stderr io.Writer) error {
	a, err := open(ctx, db, turn.Mode, stderr)
	if err != nil {
		return err
	}
	return turn.Take(ctx, a, stdout)
}

// open returns an assistant whose memory is in a file.
func open(ctx context.Context, db string, mode modes.Mode, stderr io.Writer) (*assistant.Assistant, error) {
	file, err := sqlitestore.Open(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	return assistant.Open(ctx, file, mode, stderr)
}
