// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/internal/testkit"
)

// What panics in a goroutine of ours is an error, and never approval.
func TestAPanicBesideTheCallerIsAnError(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){success: says("S", 1), judge: approve(1), segmenting: answer(`{"segment_points":[1]}`)}}
	loose := false
	counter := budget.Tokenizer(func(s string) int {
		if loose && strings.HasPrefix(s, "<data-") { // a prompt, as it is put
			panic("wild")
		}
		return len(s) / 4
	})
	models, err := flow.New(&flow.Config{Name: "test", Model: testkit.New(m.reply), Tools: extract.AnswerTools(), Counter: counter})
	require.NoError(t, err)
	e, err := extract.New(&extract.Config{Models: models, Segment: true})
	require.NoError(t, err)
	long := attempt("a", 1, "x")
	long.Messages = append(long.Messages, long.Messages[1:]...)
	found, err := e.Extract(t.Context(), models.Begin(), []trajectory.Trajectory{long})
	require.NoError(t, err)
	require.NotEmpty(t, found)

	loose = true
	run := models.Begin()
	none, err := e.Extract(t.Context(), run, []trajectory.Trajectory{long})
	require.ErrorContains(t, err, "wild")
	require.Empty(t, none)
	require.Equal(t, 1, run.Report().Stage(extract.StageSegment).Failed)
	kept, err := e.Validate(t.Context(), run, found)
	require.ErrorContains(t, err, "wild")
	require.Empty(t, kept)
	require.Equal(t, len(found), run.Report().Stage(extract.StageValidate).Failed)
}
