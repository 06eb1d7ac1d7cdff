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
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
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

// print writes how it was measured, and the arms as a table in Markdown.
func (s *series) print(out io.Writer) error {
	var b strings.Builder
	seeds := len(s.results[arms[0]])
	fmt.Fprintf(&b, `A scripted player and a scripted teacher: no language model, no network, no chance. %d seeds, each a family of cellars: %d to train on,
%d others to test on, n = %d an arm; mean ± standard deviation over seeds. One attempt at each cellar, in the last two rows up to 3 at each
test cellar: there the arm with memory also learns while it is tested (task.Retry). The cellar says whether an attempt succeeded.

| arm | got out | failed calls a cellar | better than no memory |
|---|---|---|---|
`, seeds, s.train, s.test, seeds*s.test)
	for _, a := range arms {
		got, sd := s.rate(a)
		better := ""
		if a.than != nil {
			better = fmt.Sprintf("on %d of %d seeds", s.better(a, a.than), seeds)
		}
		fmt.Fprintf(&b, "| %s | %.1f ± %.1f %% | %.2f | %s |\n", a.name, got, sd, s.failures(a), better)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// rate returns the share of test cellars that an arm got out of, in percent: the mean
// over seeds, and the standard deviation of that sample.
func (s *series) rate(a *arm) (mean, sd float64) {
	n := float64(len(s.results[a]))
	share := func(r result) float64 { return 100 * float64(r.won) / float64(r.tests) }
	for _, r := range s.results[a] {
		mean += share(r) / n
	}
	for _, r := range s.results[a] {
		sd += (share(r) - mean) * (share(r) - mean) / max(n-1, 1)
	}
	return mean, math.Sqrt(sd)
}

// failures returns how many calls failed in all attempts at a test cellar, on average.
func (s *series) failures(a *arm) (mean float64) {
	for _, r := range s.results[a] {
		mean += float64(r.failures) / float64(r.tests*len(s.results[a]))
	}
	return mean
}

// better counts the seeds on which an arm got out of more cellars than another.
func (s *series) better(a, than *arm) (n int) {
	for i, r := range s.results[a] {
		if r.won > s.results[than][i].won {
			n++
		}
	}
	return n
}
