// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Experience shows an agent that learns by trying. It plays a small world without chance, fails,
// keeps task and tool memory of it, and does better in unknown cellars. It works offline:
//
//	go run ./examples/experience [-seeds 5]
//
// The world (cellar.go) has rules that are drawn from a seed: which ground gives way, and how the
// lock wants the colour. They hold in all cellars of a family, and stay unstated. The models
// (player.go, teacher.go) follow fixed rules and forget each call: the player goes by its context,
// the teacher reads attempts.
//
// Each line of the table is one arm, at the same cellars: without memory, with task memory, with
// task and tool memory, with task memory after reflection, with a skill made of it, and, as a
// control, with the memories of another family. Every memory also holds lessons of thirty other
// families, and has to find the ones about the house at hand.
//
// Start with memory.go: it has the memory, and the two lines by which an agent gets it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"
)

func main() {
	seeds := flag.Int("seeds", 5, "how many seeds, each a family of cellars")
	flag.Parse()
	s := &series{seeds: *seeds, train: 10, test: 30}
	if err := s.run(context.Background()); err != nil {
		log.Fatalf("experience: %v", err)
	}
	s.print(os.Stdout)
}

// arm is one way to meet the same cellars. Zero fields turn a feature off.
type arm struct {
	name     string
	request  string // added to the agent's instruction
	memory   bool   // task memory, learnt from the training cellars
	tools    bool   // and tool memory
	forgets  bool   // forgets, after training, memories that rarely helped
	reflects bool   // reflects on it after training
	skilled  bool   // makes a skill of it after training, and gets only that
	foreign  bool   // the training cellars are of another family
	attempts int    // at each test cellar, at most
	than     string // the arm without memory and with as many attempts to compare it with, if any
}

// inspectFirst asks for the best that an agent without memory can do against weak ground.
const inspectFirst = "Inspect ground of a sort that you have not stood on before you step on it."

var arms = []*arm{
	{name: "no memory", attempts: 1},
	{name: "no memory, told to inspect", request: " " + inspectFirst, attempts: 1},
	{name: "task memory", memory: true, attempts: 1, than: "no memory"},
	{name: "task memory, forgetting", memory: true, forgets: true, attempts: 1},
	{name: "reflected", memory: true, reflects: true, attempts: 1, than: "no memory"},
	{name: "skills", memory: true, skilled: true, attempts: 1, than: "no memory"},
	{name: "task and tool memory", memory: true, tools: true, attempts: 1, than: "no memory"},
	{name: "control: another family's memories", memory: true, tools: true, foreign: true, attempts: 1, than: "no memory"},
	{name: "no memory, up to 3 attempts", attempts: 3},
	{name: "task memory, up to 3 attempts", memory: true, attempts: 3, than: "no memory, up to 3 attempts"},
}

// course are the cellars of one seed: the same for all arms, except for the control's training.
// Test cellars and training cellars are distinct.
type course struct {
	seed                 uint64
	train, foreign, test []*cellar
}

// foreignSeed keeps the training of the control apart from all tests.
const foreignSeed = 1 << 32

func newCourse(seed uint64, train, test int) *course {
	c, rules := &course{seed: seed}, drawRules(seed)
	for n := range train {
		c.train = append(c.train, drawCellar(rules, seed, n))
		c.foreign = append(c.foreign, drawCellar(rules.other(seed+1), seed+foreignSeed, n))
	}
	for n := range test {
		c.test = append(c.test, drawCellar(rules, seed, train+n))
	}
	return c
}

// other returns the rules of another family, one of many.
func (c *course) other(n int) rules {
	of := c.test[0].rules.other(c.seed + 1000*uint64(n+1))
	of.house = fmt.Sprint(of.house, n) // each name is unique
	return of
}

// result is the score of an arm at the test cellars of a course.
type result struct{ won, failures, attempts, memory int }

func (r *result) add(v *visit) {
	r.won += int(v.score)
	r.failures += v.failures
	r.attempts++
	r.memory += v.memory
}

// play lets an arm train, if it can learn, and then tests it.
func (a *arm) play(ctx context.Context, c *course) (r result, err error) {
	if !a.memory {
		return (&agent{arm: a}).test(ctx, c)
	}
	err = a.withMemory(ctx, func(remembers *agent) error {
		if err := remembers.train(ctx, c); err != nil {
			return err
		}
		r, err = remembers.test(ctx, c)
		return err
	})
	return r, err
}

// series is all arms on some seeds.
type series struct {
	seeds, train, test int                 // and how many cellars a seed has for training, and for tests
	results            []map[string]result // of each seed, by the names of the arms
}

// run plays independent seeds side by side, from 1 on.
func (s *series) run(ctx context.Context) error {
	if s.seeds < 1 {
		return errors.New("-seeds must be at least 1")
	}
	s.results = make([]map[string]result, s.seeds)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for n := range s.seeds {
		all.Go(func() (err error) {
			c, of := newCourse(uint64(n)+1, s.train, s.test), map[string]result{}
			s.results[n] = of
			for _, a := range arms {
				if of[a.name], err = a.play(ctx, c); err != nil {
					return fmt.Errorf("seed %d, %s: %w", n+1, a.name, err)
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// print writes the method, and the arms as a table in Markdown.
func (s *series) print(out io.Writer) {
	fmt.Fprintf(out, `A scripted player and a scripted teacher: no language model, no network, no chance. %d seeds, each a family of cellars: %d to train on,
%d others to test on, n = %d an arm; mean ± standard deviation over seeds. One attempt at each cellar, in the last two rows up to 3 at each
test cellar: there the arm with memory also learns while it is tested (task.Retry). The cellar says whether an attempt succeeded.

Limits: teacher and player agree on fixed phrases, so that what is found is understood, and what is understood is obeyed; words alone
rank. A memory has to choose among %d others, of %d other houses; the house is named in every task, as a project or a customer would be.
"tokens" is how much of memory an attempt began with, each of four characters.

| arm | got out | failed calls a cellar | tokens | better than no memory |
|---|---|---|---|---|
`, s.seeds, s.train, s.test, s.seeds*s.test, others*len(qualities()), others)
	for _, a := range arms {
		got, sd, failures, tokens := s.means(a.name)
		better := ""
		if a.than != "" {
			better = fmt.Sprintf("on %d of %d seeds", s.better(a.name, a.than), s.seeds)
		}
		fmt.Fprintf(out, "| %s | %.1f ± %.1f %% | %.2f | %.0f | %s |\n", a.name, got, sd, failures, tokens, better)
	}
}

// means returns figures of an arm. They are the share of test cellars that it left, in percent,
// over seeds, with the standard deviation of that sample; failed calls at a cellar; and tokens of
// memory in an attempt.
func (s *series) means(arm string) (got, sd, failures, tokens float64) {
	n := float64(s.seeds)
	share := func(r result) float64 { return 100 * float64(r.won) / float64(s.test) }
	for _, of := range s.results {
		got += share(of[arm]) / n
		failures += float64(of[arm].failures) / (float64(s.test) * n)
		tokens += float64(of[arm].memory) / (float64(max(1, of[arm].attempts)) * n)
	}
	for _, of := range s.results {
		sd += math.Pow(share(of[arm])-got, 2) / max(n-1, 1)
	}
	return got, math.Sqrt(sd), failures, tokens
}

// better counts the seeds on which an arm got out of more cellars than another.
func (s *series) better(arm, than string) (n int) {
	for _, of := range s.results {
		if of[arm].won > of[than].won {
			n++
		}
	}
	return n
}
