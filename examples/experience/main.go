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
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

func main() {
	seeds := flag.Int("seeds", 5, "how many seeds, each a family of cellars")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &series{seeds: *seeds, train: 10, test: 30}
	err := s.run(ctx)
	if err == nil {
		err = s.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "experience: %v\n", err)
		os.Exit(1)
	}
}

// series is all arms on some seeds.
type series struct {
	seeds, train, test int                 // and how many cellars a seed an arm trains on, and is tested on
	results            map[string][]result // of an arm, by its name: one a seed
}

// run plays seeds side by side, from 1 on: none depends on another.
func (s *series) run(ctx context.Context) error {
	if s.seeds < 1 {
		return errors.New("-seeds must be at least 1")
	}
	s.results = map[string][]result{}
	for _, a := range arms {
		s.results[a.name] = make([]result, s.seeds)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for n := range s.seeds {
		all.Go(func() (err error) {
			c := newCourse(uint64(n)+1, s.train, s.test)
			for _, a := range arms {
				if s.results[a.name][n], err = a.play(ctx, c); err != nil {
					return fmt.Errorf("seed %d, %s: %w", n+1, a.name, err)
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// print writes how it was measured, and the arms as a table in Markdown.
func (s *series) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `A scripted player and a scripted teacher: no language model, no network, no chance. %d seeds, each a family of cellars: %d to train on,
%d others to test on, n = %d an arm; mean ± standard deviation over seeds. One attempt at each cellar, in the last two rows up to 3 at each
test cellar: there the arm with memory also learns while it is tested (task.Retry). The cellar says whether an attempt succeeded.

| arm | got out | failed calls a cellar | better than no memory |
|---|---|---|---|
`, s.seeds, s.train, s.test, s.seeds*s.test)
	for _, a := range arms {
		got, sd, failures := s.means(a.name)
		better := ""
		if a.than != "" {
			better = fmt.Sprintf("on %d of %d seeds", s.better(a.name, a.than), s.seeds)
		}
		fmt.Fprintf(&b, "| %s | %.1f ± %.1f %% | %.2f | %s |\n", a.name, got, sd, failures, better)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// means returns the share of test cellars that an arm got out of, in percent, over seeds,
// with the standard deviation of that sample, and how many calls failed at a cellar.
func (s *series) means(arm string) (got, sd, failures float64) {
	n := float64(s.seeds)
	share := func(r result) float64 { return 100 * float64(r.won) / float64(s.test) }
	for _, r := range s.results[arm] {
		got += share(r) / n
		failures += float64(r.failures) / (float64(s.test) * n)
	}
	for _, r := range s.results[arm] {
		sd += (share(r) - got) * (share(r) - got) / max(n-1, 1)
	}
	return got, math.Sqrt(sd), failures
}

// better counts the seeds on which an arm got out of more cellars than another.
func (s *series) better(arm, than string) (n int) {
	for i, r := range s.results[arm] {
		if r.won > s.results[than][i].won {
			n++
		}
	}
	return n
}
