// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/einomem/einomem/examples/experience/internal/cellar"
)

// forgetful is an agent without memory.
type forgetful struct {
	runner   runner
	attempts int
}

func newForgetful(ctx context.Context, a *arm, m *counted) (*forgetful, error) {
	text := instruction
	if a.careful {
		text = careful
	}
	r, err := newAgent(ctx, m, text)
	return &forgetful{runner: r, attempts: max(a.attempts, 1)}, err
}

func (f *forgetful) train(ctx context.Context, all []*cellar.Cellar) error {
	for _, c := range all {
		if _, _, err := attempt(ctx, f.runner, c, c.Task()); err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetful) test(ctx context.Context, c *cellar.Cellar, r *result) (bool, error) {
	for n := range f.attempts {
		v, _, err := attempt(ctx, f.runner, c, again(c, n+1, f.attempts))
		if err != nil {
			return false, err
		}
		r.add(v)
		if v.Score() == 1 {
			return true, nil
		}
	}
	return false, nil
}

func (*forgetful) tally(context.Context, *result) error { return nil }

func (*forgetful) close(context.Context) error { return nil }
