// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

func TestR10SimpleAsksOnceATrajectory(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){simple: says("m", 3)}}
	e, run := open(t, m)
	got, err := e.Simple(t.Context(), run, []trajectory.Trajectory{attempt("a", 0.9, "x"), attempt("b", 0.89, "y")})
	require.NoError(t, err)
	assert.Equal(t, []string{"m text 1", "m text 2", "m text 1", "m text 2"}, texts(got))
	assert.Equal(t, []any{extract.SourceSimple, "a"}, []any{got[0].Source, got[0].TaskID})
	assert.Nil(t, got[0].Quality, "nobody judged")
	require.Len(t, m.of(simple), 2)
	users := sortedUsers(m.of(simple))
	assert.Contains(t, users, "outcome: success, score 0.9\n")
	assert.Contains(t, users, "outcome: failure, score 0.89\n")
	assert.Contains(t, m.of(simple)[0].system, "1 to 2 entries")
	assert.Equal(t, "extract_memories", m.of(simple)[0].tool)
	assert.Equal(t, flow.StageReport{Name: extract.StageSimple, In: 2, Out: 4, Dropped: 2}, run.Report().Stage(extract.StageSimple))
}

func TestR10SimpleFailsWhereTheModelDoes(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){simple: func(q asked) (string, error) {
		if strings.Contains(q.user, "do a") {
			return "nothing to say", nil
		}
		return says("m", 1)(q)
	}}}
	e, run := open(t, m)
	got, err := e.Simple(t.Context(), run, []trajectory.Trajectory{attempt("a", 1, "x"), attempt("b", 1, "y"), {}})
	require.ErrorIs(t, err, backends.ErrModel)
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Len(t, got, 1)
	assert.Equal(t, 1, run.Report().Stage(extract.StageSimple).Failed)
}

func TestR10ALongTrajectoryIsOneQuestionAllTheSame(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){simple: says("m", 1)}}
	e, run := open(t, m, limits(t, m, flow.Limits{Prompt: 600}))
	_, err := e.Simple(t.Context(), run, []trajectory.Trajectory{attempt("a", 1, strings.Repeat("on and on ", 2000))})
	require.NoError(t, err)
	require.Len(t, m.of(simple), 1)
	assert.Contains(t, m.of(simple)[0].user, "characters left out")
	assert.LessOrEqual(t, run.Models().Counter().Text(m.of(simple)[0].user), 600+20)
}

func TestR10SimpleComparativeComparesAttemptsAtOneTask(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){simpleComparative: says("m", 3)}}
	e, run := open(t, m)
	got, err := e.SimpleComparative(t.Context(), run, []trajectory.Trajectory{
		attempt("a", 0, "push"), attempt("b", 1, "x"), attempt("a", 0.5, "key"), attempt("b", 1, "y"), attempt("c", 0, "z"),
	})
	require.NoError(t, err)
	require.Len(t, m.of(simpleComparative), 1)
	assert.Contains(t, m.of(simpleComparative)[0].user, "found by key")
	assert.Len(t, got, 2)
	assert.Equal(t, []any{extract.SourceComparative, "a", 0.5}, []any{got[0].Source, got[0].TaskID, got[0].Score})
	assert.Equal(t, flow.StageReport{Name: extract.StageSimpleComparative, In: 1, Out: 2, Dropped: 1}, run.Report().Stage(extract.StageSimpleComparative))
}
