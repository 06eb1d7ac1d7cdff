// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// ChooseRounds is the step of a program's own: Choose decides which past rounds move to the
// archive. A round begins with a message of the user. One placeholder takes the place of rounds
// in a row, and the agent reads them by it. The system's messages and the running round stay.
type ChooseRounds struct {
	Name string // In a [Report]. Optional. Defaults to "choose_rounds".
	// Choose returns the indices of the rounds that leave. Rounds are oldest first; over is by
	// how many tokens the context is too large. It must leave the messages unchanged, and be
	// safe for concurrent use. An index of no round, or a panic, is the step's error: the
	// context stays, and the next step runs. Required.
	Choose func(ctx context.Context, rounds [][]*schema.Message, over int) []int
}

func (s ChooseRounds) build(*Config) (*step, error) {
	if s.Choose == nil {
		return nil, fmt.Errorf("%w: ChooseRounds.Choose is required", backends.ErrInvalid)
	}
	if s.Name == "" {
		s.Name = "choose_rounds"
	}
	return &step{name: s.Name, run: func(ctx context.Context, c *draft) error {
		groups := c.pastGroups()
		chosen, err := s.choose(ctx, c, groups)
		if err != nil {
			return err
		}
		for len(chosen) > 0 { // from the newest on: the indices of older messages stay
			from := len(chosen) - 1
			for from > 0 && chosen[from-1] == chosen[from]-1 {
				from--
			}
			g := &leaving{}
			for _, n := range chosen[from:] {
				c.grow(g, groups[n])
			}
			if err := c.fold(ctx, g, c.shapes(false)[0]); err != nil {
				return err
			}
			chosen = chosen[:from]
		}
		return nil
	}}, nil
}

// choose asks the program, and returns what it chose in ascending order, each once.
func (s ChooseRounds) choose(ctx context.Context, c *draft, groups [][]int) (chosen []int, err error) {
	rounds := make([][]*schema.Message, len(groups))
	for n, indices := range groups {
		for _, i := range indices {
			rounds[n] = append(rounds[n], c.messages[i].Message)
		}
	}
	if err := work.Catch(s.Name, func() error { chosen = s.Choose(ctx, rounds, c.over()); return nil }); err != nil {
		return nil, err
	}
	chosen = slices.Clone(chosen)
	slices.Sort(chosen)
	if chosen = slices.Compact(chosen); len(chosen) > 0 && (chosen[0] < 0 || chosen[len(chosen)-1] >= len(groups)) {
		return nil, fmt.Errorf("%w: %s chose rounds %v of %d", backends.ErrInvalid, s.Name, chosen, len(groups))
	}
	return chosen, nil
}
