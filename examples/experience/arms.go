// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
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
	attempts int  // at each test cellar, at most
	than     *arm // the arm without memory that it is compared with; nil: with none
}

// The arms. Those that are compared have the same number of attempts.
var (
	without      = arm{name: "no memory", attempts: 1}
	cautious     = arm{name: "no memory, told to inspect", careful: true, attempts: 1}
	withTask     = arm{name: "task memory", memory: true, attempts: 1, than: &without}
	forgetting   = arm{name: "task memory, forgetting", memory: true, forgets: true, attempts: 1}
	withTools    = arm{name: "task and tool memory", memory: true, tools: true, attempts: 1, than: &without}
	irrelevant   = arm{name: "control: another family's memories", memory: true, tools: true, foreign: true, attempts: 1, than: &without}
	withoutRetry = arm{name: "no memory, up to 3 attempts", attempts: 3}
	withRetry    = arm{name: "task memory, up to 3 attempts", memory: true, attempts: 3, than: &withoutRetry}

	arms = []*arm{&without, &cautious, &withTask, &forgetting, &withTools, &irrelevant, &withoutRetry, &withRetry}
)

// course are the cellars of one seed: the same for all arms but for the control's
// training. No test cellar is a training cellar.
type course struct {
	rules, foreignRules          rules
	train, foreignTraining, test []*cellar
}

// foreignSeed sets what the control trains on apart from all that is tested.
const foreignSeed = 1 << 32

func newCourse(seed uint64, train, test int) *course {
	c := &course{rules: drawRules(seed)}
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

// result is how an arm did at the test cellars of a course.
type result struct{ tests, won, failures int }

func (r *result) add(visits []*visit) {
	r.tests++
	for _, v := range visits {
		r.won += int(v.score())
		r.failures += v.failures
	}
}

// play has one arm train, if it can learn, and then be tested.
func play(ctx context.Context, c *course, a *arm) (r result, err error) {
	try := func(ctx context.Context, at *cellar) ([]*visit, error) { return forgetful(ctx, at, a) }
	if a.memory {
		m, err := newMemory(ctx)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, m.close(ctx)) }()
		if err := m.train(ctx, c.training(a), a); err != nil {
			return r, err
		}
		try = func(ctx context.Context, at *cellar) ([]*visit, error) { return m.test(ctx, at, a.attempts) }
	}
	for _, at := range c.test {
		visits, err := try(ctx, at)
		if err != nil {
			return r, err
		}
		r.add(visits)
	}
	return r, nil
}

// forgetful has attempts without memory at a cellar until one succeeds.
func forgetful(ctx context.Context, at *cellar, a *arm) (visits []*visit, err error) {
	text := instruction
	if a.careful {
		text = careful
	}
	agent, err := newAgent(ctx, player(), text)
	if err != nil {
		return nil, err
	}
	for n := range a.attempts {
		v, _, err := attempt(ctx, agent, at, again(at, n+1, a.attempts))
		if err != nil {
			return nil, err
		}
		if visits = append(visits, v); v.out {
			break
		}
	}
	return visits, nil
}

// again is the task of an attempt: of several, it says which one this is.
func again(c *cellar, n, of int) string {
	if of <= 1 {
		return c.task()
	}
	return fmt.Sprintf("%s This is attempt %d of %d.", c.task(), n, of)
}

// series is all arms on all seeds.
type series struct {
	train, test int
	results     map[*arm][]result // one a seed
}

// newSeries plays seeds side by side, from 1 on: none depends on another.
func newSeries(ctx context.Context, seeds, train, test int) (*series, error) {
	if seeds < 1 {
		return nil, errors.New("-seeds must be at least 1")
	}
	s := &series{train: train, test: test, results: map[*arm][]result{}}
	for _, a := range arms {
		s.results[a] = make([]result, seeds)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for n := range seeds {
		all.Go(func() (err error) {
			c := newCourse(uint64(n)+1, train, test)
			for _, a := range arms {
				if s.results[a][n], err = play(ctx, c, a); err != nil {
					return fmt.Errorf("seed %d, %s: %w", n+1, a.name, err)
				}
			}
			return nil
		})
	}
	return s, all.Wait()
}
