// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

func contextThatIsOver(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func attempts() []trajectory.Trajectory {
	return []trajectory.Trajectory{attempt("door", 0, "push"), attempt("door", 1, "key")}
}

// walk is an attempt of six steps.
func walk(task string, score float64, segments ...any) trajectory.Trajectory {
	t := trajectory.Trajectory{TaskID: task, Query: task, Score: score}
	for i := range 6 {
		t.Messages = append(t.Messages, schema.AssistantMessage(fmt.Sprintf("%s move %d", task, i+1), nil))
	}
	if segments != nil {
		t.Metadata = map[string]any{"segments": segments}
	}
	return t
}

func sortedUsers(qs []asked) string {
	var all []string
	for _, q := range qs {
		all = append(all, q.user)
	}
	return strings.Join(all, "\n")
}

// ReMe divides successes alone.
func TestDEF12SegmentsAreHonouredInEveryBranch(t *testing.T) {
	m := &teacher{answers: three(1)}
	m.answers[similar] = says("h", 1)
	e, run := open(t, m, func(c *extract.Config) { c.Similar = &trajectory.Similar{Threshold: 0.01} })
	got, err := e.Extract(t.Context(), run, []trajectory.Trajectory{walk("door", 1, 2.0, 4.0), walk("door", 0, 3.0), walk("hall", 0, 5.0)})
	require.NoError(t, err)
	assert.Len(t, m.of(success), 3)
	assert.Len(t, m.of(failure), 4)
	all := sortedUsers(append(m.of(success), m.of(failure)...))
	for _, part := range []string{"steps 1 to 2 of 6", "steps 3 to 4 of 6", "steps 5 to 6 of 6", "steps 1 to 3 of 6", "steps 4 to 6 of 6", "steps 1 to 5 of 6", "steps 6 to 6 of 6"} {
		assert.Equal(t, 1, strings.Count(all, "shown here: "+part+"\n"), part)
	}
	require.Len(t, m.of(comparative), 1)
	user := m.of(comparative)[0].user
	for _, mark := range []string{"segment 1 of 3\nstep 1 assistant", "segment 2 of 3\nstep 3 assistant", "segment 3 of 3\nstep 5 assistant", "segment 1 of 2\nstep 1 assistant", "segment 2 of 2\nstep 4 assistant"} {
		assert.Contains(t, user, mark)
	}
	require.Len(t, m.of(similar), 3, "the three nearest stretches of door and hall")
	for _, q := range m.of(similar) {
		assert.Regexp(t, `<data-better>[^<]*segment \d of 3\n`, q.user)
		assert.Regexp(t, `<data-worse>[^<]*segment \d of 2\n`, q.user)
		assert.Less(t, strings.Count(q.user, "\nstep "), 12, "stretches, not all of both")
	}
	assert.Len(t, got, 3+4+1+3)
	assert.Equal(t, flow.StageReport{Name: extract.StageSegment, In: 3, Out: 7}, run.Report().Stage(extract.StageSegment))
}

func TestAModelSaysWhereSegmentsEnd(t *testing.T) {
	m := &teacher{answers: three(1)}
	m.answers[segmenting] = answer(`{"segment_points":[2, "4", 9, 0, "x", 2],"reasoning":"turns"}`)
	e, run := open(t, m, func(c *extract.Config) { c.Segment = true })
	short := attempt("short", 1, "x")
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{walk("door", 1), short, walk("hall", 1, 3.0)})
	require.NoError(t, err)
	require.Len(t, m.of(segmenting), 1, "not of those that are short, and not of those that say it themselves")
	assert.Contains(t, m.of(segmenting)[0].user, "step 6 assistant")
	assert.Len(t, m.of(success), 3+1+2)
	assert.Equal(t, flow.StageReport{Name: extract.StageSegment, In: 2, Out: 5, Dropped: 4}, run.Report().Stage(extract.StageSegment))
}

func TestATrajectoryThatCannotBeDividedStaysWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		reply func(asked) (string, error)
		want  error
	}{
		"the model is down":      {down, backends.ErrUnavailable},
		"it says nothing":        {answer(""), backends.ErrModel},
		"it says something else": {answer(`{"reasoning":"hm"}`), backends.ErrModel},
	} {
		t.Run(name, func(t *testing.T) {
			m := &teacher{answers: three(1)}
			m.answers[segmenting] = tc.reply
			e, run := open(t, m, func(c *extract.Config) { c.Segment = true })
			got, err := e.Extract(t.Context(), run, []trajectory.Trajectory{walk("door", 1)})
			require.ErrorIs(t, err, tc.want)
			assert.Len(t, got, 1)
			assert.NotContains(t, m.of(success)[0].user, "shown here")
			assert.Equal(t, 1, run.Report().Stage(extract.StageSegment).Failed)
		})
	}
}

func TestPointsThatAreNoneDivideNothing(t *testing.T) {
	m := &teacher{answers: three(1)}
	m.answers[segmenting] = answer(`[]`)
	e, run := open(t, m, func(c *extract.Config) { c.Segment = true })
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{walk("door", 1)})
	require.NoError(t, err)
	assert.Len(t, m.of(success), 1)
	assert.Equal(t, flow.StageReport{Name: extract.StageSegment, In: 1, Out: 1}, run.Report().Stage(extract.StageSegment))
}
