// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/scripted"
)

// result is how an arm did on one seed.
type result struct {
	tests    int // cellars
	won      int
	attempts int
	steps    int // calls of tools, of all attempts
	failures int // calls of tools that failed, of all attempts

	played int // calls of the model that plays, training included
	taught int // calls of the model that learns

	stored     int // memories that hold after the tests
	superseded int // memories that a merged one took the place of
	deleted    int // memories that were forgotten

	memories []backends.Memory // what it knows in the end
}

// play has one arm train and then be tested on one course.
func play(ctx context.Context, c *course, a *arm) (r *result, err error) {
	player := scripted.Player()
	r = &result{tests: len(c.test)}
	defer func() { r.played = player.Calls() }()
	if !a.memory {
		return r, r.playPlain(ctx, c, a, player)
	}
	m, err := newMemory(ctx, player)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	if err := m.train(ctx, c.training(a), a); err != nil {
		return r, err
	}
	for _, at := range c.test {
		var visits []*visit
		if a.attempts > 1 {
			visits, err = m.retry(ctx, at, a.attempts)
		} else {
			visits = make([]*visit, 1)
			visits[0], err = m.attempt(ctx, at)
		}
		if err != nil {
			return r, err
		}
		r.add(visits)
	}
	r.taught, r.deleted = m.teacher.Calls(), m.deleted
	all, err := m.list(ctx)
	for _, known := range all {
		if known.Active() {
			r.memories = append(r.memories, known)
		}
	}
	r.stored, r.superseded = len(r.memories), len(all)-len(r.memories)
	return r, err
}

// playPlain is play without memory. It trains as well: all arms have the same attempts.
func (r *result) playPlain(ctx context.Context, c *course, a *arm, player *scripted.Model) error {
	text := instruction
	if a.careful {
		text = careful
	}
	agent, err := newAgent(ctx, player, text)
	if err != nil {
		return err
	}
	for _, at := range c.training(a) {
		if _, _, err := attempt(ctx, agent, at, at.task()); err != nil {
			return err
		}
	}
	for _, at := range c.test {
		var visits []*visit
		for n := range max(a.attempts, 1) {
			v, _, err := attempt(ctx, agent, at, again(at, n+1, a.attempts))
			if err != nil {
				return err
			}
			visits = append(visits, v)
			if v.out {
				break
			}
		}
		r.add(visits)
	}
	return nil
}

// add counts the attempts at a test cellar.
func (r *result) add(visits []*visit) {
	for _, v := range visits {
		r.attempts++
		r.steps += v.steps
		r.failures += v.failures
		r.won += int(v.score())
	}
}

// rate is the share of test cellars that the agent got out of.
func (r *result) rate() float64 { return float64(r.won) / float64(max(r.tests, 1)) }

// spread is a mean and the standard deviation of the sample.
type spread struct{ mean, sd float64 }

func spreadOf(values []float64) spread {
	n := float64(len(values))
	var s spread
	for _, v := range values {
		s.mean += v / n
	}
	if n < 2 {
		return s
	}
	for _, v := range values {
		s.sd += (v - s.mean) * (v - s.mean) / (n - 1)
	}
	s.sd = math.Sqrt(s.sd)
	return s
}
