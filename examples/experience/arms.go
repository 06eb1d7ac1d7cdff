// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// arm is one way to meet the same cellars. What an arm does not have, it leaves at the
// zero value.
type arm struct {
	name     string
	careful  bool   // the agent is asked to inspect ground that is new to it
	memory   bool   // task memory, learnt from the training cellars
	tools    bool   // and tool memory
	forgets  bool   // forgets, after training, what seldom went with success
	foreign  bool   // the training cellars are of another family
	attempts int    // at each test cellar, at most
	than     string // the arm without memory that it is compared with, if any, which has as many attempts
}

var arms = []arm{
	{name: "no memory", attempts: 1},
	{name: "no memory, told to inspect", careful: true, attempts: 1},
	{name: "task memory", memory: true, attempts: 1, than: "no memory"},
	{name: "task memory, forgetting", memory: true, forgets: true, attempts: 1},
	{name: "task and tool memory", memory: true, tools: true, attempts: 1, than: "no memory"},
	{name: "control: another family's memories", memory: true, tools: true, foreign: true, attempts: 1, than: "no memory"},
	{name: "no memory, up to 3 attempts", attempts: 3},
	{name: "task memory, up to 3 attempts", memory: true, attempts: 3, than: "no memory, up to 3 attempts"},
}

// course are the cellars of one seed: the same for all arms but for what the control
// trains on. No test cellar is a training cellar.
type course struct{ train, foreign, test []*cellar }

// foreignSeed sets what the control trains on apart from all that is tested.
const foreignSeed = 1 << 32

func newCourse(seed uint64, train, test int) *course {
	c, rules := &course{}, drawRules(seed)
	for n := range train {
		c.train = append(c.train, drawCellar(rules, seed, n))
		c.foreign = append(c.foreign, drawCellar(rules.other(seed+1), seed+foreignSeed, n))
	}
	for n := range test {
		c.test = append(c.test, drawCellar(rules, seed, train+n))
	}
	return c
}

// result is how an arm did at the test cellars of a course.
type result struct{ won, failures int }

func (r *result) add(v *visit) {
	r.won += int(v.score)
	r.failures += v.failures
}

// play has an arm train, if it can learn, and then be tested.
func (a *arm) play(ctx context.Context, c *course) (r result, err error) {
	if !a.memory {
		bare := &agent{careful: a.careful}
		return c.tested(func(at *cellar) ([]*visit, error) { return bare.attempts(ctx, at, a.attempts) })
	}
	err = withMemory(ctx, func(m *memory) (err error) {
		if err = m.train(ctx, a, c); err != nil {
			return err
		}
		r, err = c.tested(func(at *cellar) ([]*visit, error) { return m.test(ctx, at, a.attempts) })
		return err
	})
	return r, err
}

// tested adds up the attempts at all test cellars.
func (c *course) tested(try func(*cellar) ([]*visit, error)) (r result, err error) {
	for _, at := range c.test {
		visits, err := try(at)
		if err != nil {
			return r, err
		}
		for _, v := range visits {
			r.add(v)
		}
	}
	return r, nil
}

// again is the task of an attempt: of several, it says which one this is.
func (c *cellar) again(n, of int) string {
	if of <= 1 {
		return c.task()
	}
	return fmt.Sprintf("%s This is attempt %d of %d.", c.task(), n, of)
}
