// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/examples/experience/internal/cellar"
	"github.com/einomem/einomem/examples/experience/internal/player"
)

// series is all arms on all seeds.
type series struct {
	options *options
	courses []*course
	rows    []*row
}

// run plays seeds side by side: none knows of another.
func (s *series) run(ctx context.Context) error {
	for _, arms := range [][]arm{once, thrice} {
		for i := range arms {
			s.rows = append(s.rows, &row{arm: &arms[i], results: make([]*result, s.options.seeds)})
		}
	}
	s.courses = make([]*course, s.options.seeds)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for n := range s.options.seeds {
		all.Go(func() error { return s.seed(ctx, n) })
	}
	return all.Wait()
}

// seed plays all arms on one seed.
func (s *series) seed(ctx context.Context, n int) error {
	c := newCourse(s.options.seed+uint64(n), s.options.train, s.options.instances)
	s.courses[n] = c
	for _, r := range s.rows {
		var err error
		if r.results[n], err = s.play(ctx, c, r.arm); err != nil {
			return fmt.Errorf("seed %d, %s: %w", c.seed, r.arm.name, err)
		}
	}
	return nil
}

// play has one arm train and then be tested on one course.
func (s *series) play(ctx context.Context, c *course, a *arm) (r *result, err error) {
	model := newCounted(&player.Model{})
	r = &result{tests: len(c.test)}
	var v visitor
	if a.memory {
		v, err = newRemembering(ctx, s.options, c, a, model)
	} else {
		v, err = newForgetful(ctx, a, model)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close(ctx)) }()
	if err := v.train(ctx, c.training(a)); err != nil {
		return nil, err
	}
	for _, at := range c.test {
		out, err := v.test(ctx, at, r)
		if err != nil {
			return nil, err
		}
		if out {
			r.won++
		}
	}
	r.played = int(model.calls.Load())
	return r, v.tally(ctx, r)
}

// visitor is an agent in an arm.
type visitor interface {
	// train has one attempt at each cellar, and learns from it what it can.
	train(ctx context.Context, all []*cellar.Cellar) error
	// test has as many attempts at a cellar as the arm has, counts them, and reports
	// whether one succeeded.
	test(ctx context.Context, c *cellar.Cellar, r *result) (bool, error)
	// tally counts what is remembered.
	tally(ctx context.Context, r *result) error
	close(ctx context.Context) error
}

// again is the task of an attempt: of several, it says which one this is.
func again(c *cellar.Cellar, n, of int) string {
	if of <= 1 {
		return c.Task()
	}
	return fmt.Sprintf("%s This is attempt %d of %d.", c.Task(), n, of)
}
