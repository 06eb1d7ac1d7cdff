// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/einomem/einomem/examples/experience/internal/cellar"

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
	without    = arm{name: "no memory"}
	cautious   = arm{name: "no memory, told to inspect", careful: true}
	withTask   = arm{name: "task memory", memory: true}
	withTools  = arm{name: "task and tool memory", memory: true, tools: true}
	forgetting = arm{name: "task memory, forgetting", memory: true, forgets: true}
	irrelevant = arm{name: "control: another family's memories", memory: true, tools: true, foreign: true}

	withoutRetry = arm{name: "no memory, up to 3 attempts", attempts: 3}
	withRetry    = arm{name: "task memory, up to 3 attempts", memory: true, attempts: 3}
)

var (
	once   = []arm{without, cautious, withTask, forgetting, withTools, irrelevant}
	thrice = []arm{withoutRetry, withRetry}
)

// course are the cellars of one seed: the same for all arms but for the control's
// training.
type course struct {
	seed            uint64
	rules           cellar.Rules
	train, test     []*cellar.Cellar
	foreignRules    cellar.Rules
	foreignTraining []*cellar.Cellar
}

// foreignSeed sets what the control trains on apart from all that is tested.
const foreignSeed = 1 << 32

// newCourse draws the cellars. No test cellar is a training cellar.
func newCourse(seed uint64, train, test int) *course {
	c := &course{seed: seed, rules: cellar.DrawRules(seed)}
	c.foreignRules = c.rules.Other(seed + 1)
	for n := range train {
		c.train = append(c.train, cellar.Draw(c.rules, seed, n))
		c.foreignTraining = append(c.foreignTraining, cellar.Draw(c.foreignRules, seed+foreignSeed, n))
	}
	for n := range test {
		c.test = append(c.test, cellar.Draw(c.rules, seed, train+n))
	}
	return c
}

// training are the cellars that an arm trains on: one attempt at each.
func (c *course) training(a *arm) []*cellar.Cellar {
	if a.foreign {
		return c.foreignTraining
	}
	return c.train
}
