// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/einox"
)

func note(text string) *schema.Message {
	m := schema.UserMessage(text)
	einox.MarkNote(m)
	return m
}

func TestValidate(t *testing.T) {
	said := []*schema.Message{schema.UserMessage("q")}
	for name, tc := range map[string]struct {
		in   trajectory.Trajectory
		want error
	}{
		"fine":               {trajectory.Trajectory{Messages: said, Score: -3}, nil},
		"NaN":                {trajectory.Trajectory{Messages: said, Score: math.NaN()}, backends.ErrInvalid},
		"infinite":           {trajectory.Trajectory{Messages: said, Score: math.Inf(1)}, backends.ErrInvalid},
		"nothing":            {trajectory.Trajectory{}, backends.ErrInvalid},
		"a nil message":      {trajectory.Trajectory{Messages: append([]*schema.Message{nil}, said...)}, backends.ErrInvalid},
		"no such role":       {trajectory.Trajectory{Messages: []*schema.Message{{Role: "judge"}}}, backends.ErrInvalid},
		"only system prompt": {trajectory.Trajectory{Messages: []*schema.Message{schema.SystemMessage("x"), note("y")}}, backends.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.in.Validate()
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestTheTaskIsTheQueryElseTheUsersFirstWords(t *testing.T) {
	messages := []*schema.Message{nil, schema.SystemMessage("s"), note("n"), schema.UserMessage("For context: [a] said: x."), schema.UserMessage(" "), schema.UserMessage("first"), schema.UserMessage("second")}
	assert.Equal(t, "first", (&trajectory.Trajectory{Messages: messages}).Task())
	assert.Equal(t, "q", (&trajectory.Trajectory{Messages: messages, Query: " q "}).Task())
	assert.Empty(t, (&trajectory.Trajectory{Messages: messages[:3]}).Task())
}

func TestR4SuccessesAreThoseOfTheThresholdAndAbove(t *testing.T) {
	ts := []trajectory.Trajectory{{Score: 0.99}, {Score: 1}, {Score: 1.5}, {Score: -1}}
	success, failure := trajectory.Split(ts, trajectory.DefaultThreshold)
	assert.Equal(t, []*trajectory.Trajectory{&ts[1], &ts[2]}, success)
	assert.Equal(t, []*trajectory.Trajectory{&ts[0], &ts[3]}, failure)
	assert.Same(t, &ts[1], success[0])
	success, failure = trajectory.Split(ts, 0.5)
	assert.Len(t, success, 3)
	assert.Len(t, failure, 1)
	success, failure = trajectory.Split(nil, 0.5)
	assert.Empty(t, append(success, failure...))
}

func TestRedactedIsACopyOfTheSameTask(t *testing.T) {
	in := []trajectory.Trajectory{
		{TaskID: "a1", Score: 1, Messages: []*schema.Message{schema.UserMessage("x1")}},
		{TaskID: "a2", Messages: []*schema.Message{schema.UserMessage("x2"), nil}},
		{TaskID: "a1", Messages: []*schema.Message{schema.UserMessage("x3")}},
	}
	var out []trajectory.Trajectory
	for i := range in {
		out = append(out, in[i].Redacted(func(s string) string { return strings.Trim(s, "0123456789") }))
	}
	assert.Equal(t, []string{"a", "a", "a"}, []string{out[0].TaskID, out[1].TaskID, out[2].TaskID})
	assert.Equal(t, "x", out[0].Task())
	assert.Equal(t, "x1", in[0].Messages[0].Content, "the messages that were given stay")
	pairs := trajectory.Pairs(out)
	require.Len(t, pairs, 1)
	assert.Same(t, &out[0], pairs[0].Better)
	assert.Same(t, &out[2], pairs[0].Worse)
}
