// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Experience shows an agent that learns from what it tried: it plays a small world
// without chance, fails, keeps task and tool memory of it, and does better in cellars
// where it has not been. It needs no network and no key:
//
//	go run ./examples/experience
//
// The world (cellar.go) has rules that are drawn from a seed: which ground gives way, how
// the lock wants the colour, for which radius the scanner works. They hold in all cellars
// of a family, and nothing states them. The models (package scripted) follow fixed rules:
// the one that plays goes by what stands in its context, the one that learns reads attempts.
//
// All arms have the same attempts at the same cellars. Each line is one arm: without
// memory, with task memory, with task and tool memory, and, as a control, with the
// memories of another family.
//
// Where to look: memory.go is all that gives the agent its memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	seed             uint64
	seeds            int
	train, instances int
	verbose          bool
}

// run is the program: 0 is success, 1 a failure, 2 a command line that makes no
// sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "experience: %v\nexperience -h lists the flags\n", err)
		return 2
	}
	s, err := newSeries(ctx, o)
	if err == nil {
		err = s.print(stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "experience: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("experience", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flags.IntVar(&o.seeds, "seeds", 5, "how many seeds")
	flags.IntVar(&o.instances, "instances", 30, "how many test cellars a seed")
	flags.IntVar(&o.train, "train", 10, "how many training cellars a seed")
	flags.BoolVar(&o.verbose, "v", false, "print the rules, and what was learnt")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.seeds < 1 || o.instances < 1 || o.train < 0:
		return nil, errors.New("-seeds and -instances need at least 1, -train at least 0")
	case o.seed >= foreignSeed-uint64(o.seeds):
		return nil, errors.New("-seed is too large")
	}
	return o, nil
}
