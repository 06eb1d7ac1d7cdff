// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures the ranking of memories, how well it finds and how fast, and what
// sessions and compaction cost:
//
//	go run ./examples/bench MEASUREMENT [flags]
//
// Without arguments it lists the measurements; -h after one lists its flags, and -json
// has it print JSON instead of Markdown. README.md has figures of each.
//
// Some read data that are not part of this project: conversations and questions in the
// format of LoCoMo (Maharana et al., ACL 2024; its licence forbids commercial use), and
// the folder of ReMe 0.2 with its published libraries. Everything else is made up, the
// same in each run.
//
// A measurement writes to Redis under a prefix of its own and deletes it in the end; still,
// give it a server without other users and without persistence, with 3 GB free for the
// default sizes of redis:
//
//	redis-server --port 7777 --save '' &
//	go run ./examples/bench redis -redis redis://localhost:7777
//
// The folder peers, a module of its own, has other projects do the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9/logging"

	"github.com/einomem/einomem/examples/internal/trial"
)

// measurement is one thing that the program measures.
type measurement interface {
	// flags defines the flags, and sets their defaults.
	flags(*flag.FlagSet)
	// measure takes the measures, and writes lines about its progress. It returns
	// errUsage for flags that make no sense.
	measure(ctx context.Context, progress io.Writer) (*trial.Report, error)
}

var measurements = []struct {
	name, about string
	new         func() measurement
}{
	{"locomo", "how many of the turns that answer a question are found, in LoCoMo's conversations", func() measurement { return &locomo{} }},
	{"reme", "how many of a task's memories its query finds, in ReMe's libraries, and how long it takes to load them", func() measurement { return &remePools{} }},
	{"search", "how long a search takes, beside a bare scan of the same vectors", func() measurement { return &searchTimes{} }},
	{"redis", "searches and writes in Redis, beside a SQLite file", func() measurement { return &redisTimes{} }},
	{"sessions", "saving a turn and loading the newest turns, as sessions grow", func() measurement { return &sessions{} }},
	{"compaction", "the steps of compaction that call no model, on a long conversation with huge results of tools", func() measurement { return &compactionTimes{} }},
	{"transcript", "the tokens that an agent's model is sent, with and without compaction", func() measurement { return &transcripts{} }},
}

var errUsage = errors.New("invalid command line")

func main() {
	logging.Disable() // go-redis logs connections that fail, and the error reports them, too
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0, 1 for a failure, 2 for an invalid command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	for _, m := range measurements {
		if len(args) == 0 || args[0] != m.name {
			continue
		}
		switch err := take(ctx, m.new(), args, out, errs); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			fmt.Fprintln(errs, err)
			return 2
		default:
			fmt.Fprintf(errs, "%s: %v\n", m.name, err)
			return 1
		}
	}
	fmt.Fprintln(errs, "usage: bench MEASUREMENT [flags], where MEASUREMENT is one of")
	for _, m := range measurements {
		fmt.Fprintf(errs, "  %-10s  %s\n", m.name, m.about)
	}
	return 2
}

func take(ctx context.Context, m measurement, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(errs)
	asJSON := flags.Bool("json", false, "print JSON instead of Markdown")
	m.flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q is no flag", errUsage, flags.Arg(0))
	}
	r, err := m.measure(ctx, errs)
	if err != nil {
		return err
	}
	return r.Print(out, *asJSON)
}

// positive returns errUsage if one of the numbers, which flags gave, is not above 0.
func positive(flags string, numbers ...int) error {
	for _, n := range numbers {
		if n <= 0 {
			return fmt.Errorf("%w: %s must be above 0", errUsage, flags)
		}
	}
	return nil
}
