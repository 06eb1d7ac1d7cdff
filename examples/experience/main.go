// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Experience shows an agent that learns from what it tried: it plays a small world
// without chance, fails, keeps task and tool memory of it, and does better in cellars
// where it has not been. It needs no network and no key:
//
//	go run ./examples/experience [-seeds 5]
//
// The world (cellar.go, visit.go) has rules that are drawn from a seed: which ground gives
// way, how the lock wants the colour, for which radius the scanner works. They hold in all
// cellars of a family, and nothing states them. The models (player.go, teacher.go) follow
// fixed rules: the player goes by what stands in its context, the teacher reads attempts.
//
// Each line of the table is one arm, at the same cellars: without memory, with task memory,
// with task and tool memory, and, as a control, with the memories of another family.
//
// Where to look: memory.go is all that gives the agent its memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

// How many cellars an arm trains on, and is tested on, a seed.
const (
	trainingCellars = 10
	testCellars     = 30
)

func main() {
	seeds := flag.Int("seeds", 5, "how many seeds, each a family of cellars")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := newSeries(ctx, *seeds, trainingCellars, testCellars)
	if err == nil {
		err = s.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "experience: %v\n", err)
		os.Exit(1)
	}
}
