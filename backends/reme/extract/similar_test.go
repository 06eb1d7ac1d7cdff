// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

func similarTeacher() *teacher {
	m := &teacher{answers: three(1)}
	m.answers[similar] = says("h", 3)
	return m
}

func alike(c *extract.Config) { c.Similar = &trajectory.Similar{} }

func TestR6SimilarAttemptsAreComparedOnDemand(t *testing.T) {
	ts := []trajectory.Trajectory{attempt("open the door", 1, "look for the key and turn it"), attempt("open the gate", 0, "look for the lever and turn it"), attempt("sing", 0, "la")}
	m := similarTeacher()
	e, run := open(t, m)
	_, err := e.Extract(t.Context(), run, ts)
	require.NoError(t, err)
	assert.Empty(t, m.of(similar), "not unless it is asked for")

	m = similarTeacher()
	e, run = open(t, m, alike, func(c *extract.Config) { c.Similar.Threshold = 0.6 })
	got, err := e.Extract(t.Context(), run, ts)
	require.NoError(t, err)
	require.Len(t, m.of(similar), 1)
	assert.Contains(t, m.of(similar)[0].user, "turn it")
	assert.Contains(t, m.of(similar)[0].user, "lever")
	assert.Equal(t, []string{"h text 1", "h text 2"}, texts(got)[len(got)-2:])
	assert.Equal(t, 1, run.Report().Stage(extract.StageComparative).Dropped)
}

type countingEmbedder struct {
	testkit.Embedder
	calls atomic.Int64
	cut   bool
}

func (c *countingEmbedder) EmbedStrings(ctx context.Context, texts []string, opts ...embedding.Option) ([][]float64, error) {
	c.calls.Add(1)
	out, err := c.Embedder.EmbedStrings(ctx, texts, opts...)
	if c.cut && err == nil {
		out = out[1:]
	}
	return out, err
}

// ReMe embeds both texts of every pair anew.
func TestDEF17AllAttemptsAreEmbeddedWithOneCall(t *testing.T) {
	em := &countingEmbedder{Embedder: testkit.Embedder{Vector: func(text string) []float64 {
		if strings.Contains(text, "door") || strings.Contains(text, "gate") {
			return []float64{1, 0}
		}
		return []float64{0, 1}
	}}}
	m := similarTeacher()
	e, run := open(t, m, alike, func(c *extract.Config) { c.Embedder = em })
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("door", 1, "x"), attempt("gate", 0, "y"), attempt("hall", 0, "z")})
	require.NoError(t, err)
	assert.EqualValues(t, 1, em.calls.Load())
	assert.EqualValues(t, 3, em.Texts.Load())
	assert.Equal(t, 3, run.Usage().EmbeddedTexts)
	require.Len(t, m.of(similar), 1)
	assert.Contains(t, m.of(similar)[0].user, "gate")
}

func TestAnEmbedderThatIsAwayFailsTheComparisonAlone(t *testing.T) {
	for name, em := range map[string]*countingEmbedder{
		"an error": {Embedder: testkit.Embedder{Dim: 4, Err: errDown}},
		"too few":  {Embedder: testkit.Embedder{Dim: 4}, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := similarTeacher()
			e, run := open(t, m, alike, func(c *extract.Config) { c.Embedder = em })
			got, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("door", 1, "x"), attempt("gate", 0, "y")})
			require.ErrorIs(t, err, backends.ErrUnavailable)
			assert.Len(t, got, 2)
			assert.Equal(t, 1, run.Report().Stage(extract.StageComparative).Failed)
		})
	}
}

func TestVectorsThatCannotBeComparedAreNotAlike(t *testing.T) {
	n := 0.0
	em := &testkit.Embedder{Vector: func(string) []float64 { n++; return make([]float64, int(n)) }}
	m := similarTeacher()
	e, run := open(t, m, alike, func(c *extract.Config) { c.Embedder = em })
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("door", 1, "x"), attempt("gate", 0, "y")})
	require.NoError(t, err)
	assert.Empty(t, m.of(similar))
}
