// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// arm is one way to meet the same cellars. What an arm does not have, it leaves at the
// zero value.
type arm struct {
	name     string
	careful  bool // the agent is told to inspect ground that is new to it
	memory   bool // task memory, learnt from the training cellars
	tools    bool // and tool memory
	forgets  bool // forgets by ReMe's rule, after training, what seldom went with success
	foreign  bool // the training cellars are of another family
	attempts int  // at each test cellar, at most; 0: one
}

// The arms. Those that are compared have the same number of attempts.
var (
	without      = arm{name: "no memory"}
	cautious     = arm{name: "no memory, told to inspect", careful: true}
	withTask     = arm{name: "task memory", memory: true}
	forgetting   = arm{name: "task memory, forgetting", memory: true, forgets: true}
	withTools    = arm{name: "task and tool memory", memory: true, tools: true}
	irrelevant   = arm{name: "control: another family's memories", memory: true, tools: true, foreign: true}
	withoutRetry = arm{name: "no memory, up to 3 attempts", attempts: 3}
	withRetry    = arm{name: "task memory, up to 3 attempts", memory: true, attempts: 3}

	arms = []*arm{&without, &cautious, &withTask, &forgetting, &withTools, &irrelevant, &withoutRetry, &withRetry}
)

// course are the cellars of one seed: the same for all arms but for the control's
// training.
type course struct {
	seed            uint64
	rules           rules
	train, test     []*cellar
	foreignRules    rules
	foreignTraining []*cellar
}

// foreignSeed sets what the control trains on apart from all that is tested.
const foreignSeed = 1 << 32

// newCourse draws the cellars. No test cellar is a training cellar.
func newCourse(seed uint64, train, test int) *course {
	c := &course{seed: seed, rules: drawRules(seed)}
	c.foreignRules = c.rules.other(seed + 1)
	for n := range train {
		c.train = append(c.train, drawCellar(c.rules, seed, n))
		c.foreignTraining = append(c.foreignTraining, drawCellar(c.foreignRules, seed+foreignSeed, n))
	}
	for n := range test {
		c.test = append(c.test, drawCellar(c.rules, seed, train+n))
	}
	return c
}

// training are the cellars that an arm trains on: one attempt at each.
func (c *course) training(a *arm) []*cellar {
	if a.foreign {
		return c.foreignTraining
	}
	return c.train
}

// series is all arms on all seeds.
type series struct {
	options *options
	courses []*course
	results map[*arm][]*result // one a seed
}

// newSeries plays seeds side by side: none depends on another.
func newSeries(ctx context.Context, o *options) (*series, error) {
	s := &series{options: o, courses: make([]*course, o.seeds), results: map[*arm][]*result{}}
	for _, a := range arms {
		s.results[a] = make([]*result, o.seeds)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for n := range o.seeds {
		c := newCourse(o.seed+uint64(n), o.train, o.instances)
		s.courses[n] = c
		all.Go(func() (err error) {
			for _, a := range arms {
				if s.results[a][n], err = play(ctx, c, a); err != nil {
					return fmt.Errorf("seed %d, %s: %w", c.seed, a.name, err)
				}
			}
			return nil
		})
	}
	return s, all.Wait()
}
