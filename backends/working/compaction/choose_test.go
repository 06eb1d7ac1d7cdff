// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
)

// The rounds that a program chooses leave, each row of them for one placeholder, and every
// message can be read back in its order.
func TestAProgramChoosesTheRoundsThatLeave(t *testing.T) {
	s := newShelf(t)
	in := append(append([]*schema.Message{schema.SystemMessage("s")}, rounds(0, 6)...), user("now"))
	var seen int
	out, err := compacted(t, 520, in, s, compaction.ChooseRounds{Name: "mine", Choose: func(_ context.Context, rounds [][]*schema.Message, over int) []int {
		seen = len(rounds)
		require.Positive(t, over)
		require.Equal(t, "question 4", rounds[4][0].Content)
		return []int{4, 1, 2, 1}
	}})
	require.NoError(t, err)
	require.Equal(t, 6, seen)
	require.Equal(t, "s u a:c0 t:c0 a u*^ u a:c3 t:c3 a u*^ u a:c5 t:c5 a u", shapeOf(out.Messages))
	require.Equal(t, "mine", out.Steps[0].Step)
	require.Equal(t, 12, out.Steps[0].Replaced)
	var back []*schema.Message
	for _, m := range out.Messages {
		back = append(back, s.held(t, m)...)
	}
	require.Equal(t, in, back)
}

func TestAChoiceThatCannotBeLeavesTheContext(t *testing.T) {
	in := append(rounds(0, 6), user("now"))
	for name, choose := range map[string]func(context.Context, [][]*schema.Message, int) []int{
		"of 6":           func(context.Context, [][]*schema.Message, int) []int { return []int{6} },
		"rounds [-1 0]":  func(context.Context, [][]*schema.Message, int) []int { return []int{0, -1} },
		"panic: who":     func(context.Context, [][]*schema.Message, int) []int { panic("who") },
		"nothing chosen": func(context.Context, [][]*schema.Message, int) []int { return nil },
	} {
		out, err := compacted(t, 300, in, newShelf(t), compaction.ChooseRounds{Choose: choose})
		require.ErrorAs(t, err, new(*compaction.OverError), name)
		require.Equal(t, in, slices.Clone(out.Messages), name)
		if name != "nothing chosen" {
			require.ErrorContains(t, out.Steps[0].Err, name)
		}
	}
	_, err := compaction.New(&compaction.Config{Budget: window(100), Steps: []compaction.Step{compaction.ChooseRounds{}}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
