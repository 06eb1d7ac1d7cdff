// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/testkit"
)

func candidate(name, material string) extract.Candidate {
	return extract.Candidate{WhenToUse: "when " + name, Content: name, Material: material}
}

func candidates(n int, material string) []extract.Candidate {
	out := make([]extract.Candidate, n)
	for i := range out {
		out[i] = candidate(fmt.Sprintf("c%d", i+1), material)
	}
	return out
}

func TestR7TheJudgesScoreDecides(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){judge: answer(`{"verdicts":[
		{"candidate":1,"is_valid":true,"score":0.5,"feedback":" just so "},{"candidate":2,"is_valid":true,"score":0.49},
		{"candidate":3,"is_valid":false,"score":0.9},{"candidate":4,"is_valid":true,"score":1}]}`)}}
	e, run := open(t, m)
	in := candidates(4, "step 1 user\n  hello\n")
	got, err := e.Validate(t.Context(), run, in)
	require.NoError(t, err)
	assert.Equal(t, []string{"c1", "c4"}, texts(got))
	require.NotNil(t, got[0].Quality)
	assert.InDelta(t, 0.5, *got[0].Quality, 0)
	assert.InDelta(t, 1, *got[1].Quality, 0)
	assert.Equal(t, "just so", got[0].Feedback)
	assert.Nil(t, in[0].Quality, "what was given is as it was")
	assert.Equal(t, flow.StageReport{Name: extract.StageValidate, In: 4, Out: 2, Dropped: 2}, run.Report().Stage(extract.StageValidate))
	assert.Equal(t, `<data-material-of-1-to-4>
step 1 user
  hello
</data-material-of-1-to-4>

<data-candidates>
candidate 1
when_to_use:
  when c1
experience:
  c1
`, strings.SplitAfter(m.of(judge)[0].user, "\n  c1\n")[0])
}

func TestR7TheThresholdCanBeSet(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){judge: approve(0.6)}}
	for quality, want := range map[float64]int{0.6: 1, 0.61: 0} {
		e, run := open(t, m, func(c *extract.Config) { c.MinQuality = quality })
		got, err := e.Validate(t.Context(), run, candidates(1, "m"))
		require.NoError(t, err)
		assert.Len(t, got, want)
	}
}

// ReMe takes an answer that it cannot read for approval with 0.5.
func TestDEF04WhatTheJudgeDoesNotSayIsNeverApproval(t *testing.T) {
	for name, reply := range map[string]string{
		"empty": "", "spaces": " \n ", "no JSON": "All of these are valid. Score: 0.9", "an empty object": "{}", "an empty list": "[]", "no verdicts": `{"verdicts":[]}`,
		"cut off":            `{"verdicts":[{"candidate":1,"is_valid":true,"score":0.9`,
		"only a score":       `{"verdicts":[{"candidate":1,"score":0.9}]}`,
		"only valid":         `{"verdicts":[{"candidate":1,"is_valid":true}]}`,
		"NaN":                `{"verdicts":[{"candidate":1,"is_valid":true,"score":NaN}]}`,
		"NaN as text":        `{"verdicts":[{"candidate":1,"is_valid":true,"score":"NaN"}]}`,
		"infinite":           `{"verdicts":[{"candidate":1,"is_valid":true,"score":1e999}]}`,
		"above 1":            `{"verdicts":[{"candidate":1,"is_valid":true,"score":8}]}`,
		"below 0":            `{"verdicts":[{"candidate":1,"is_valid":true,"score":-0.1}]}`,
		"no number":          `{"verdicts":[{"candidate":1,"is_valid":true,"score":"high"}]}`,
		"null":               `{"verdicts":[{"candidate":1,"is_valid":null,"score":0.9}]}`,
		"valid is a number":  `{"verdicts":[{"candidate":1,"is_valid":1,"score":0.9}]}`,
		"valid is perhaps":   `{"verdicts":[{"candidate":1,"is_valid":"yes, mostly","score":0.9}]}`,
		"another candidate":  `{"verdicts":[{"candidate":2,"is_valid":true,"score":0.9}]}`,
		"candidate 0":        `{"verdicts":[{"candidate":0,"is_valid":true,"score":0.9}]}`,
		"candidate one":      `{"verdicts":[{"candidate":"one","is_valid":true,"score":0.9}]}`,
		"two that disagree":  `{"verdicts":[{"candidate":1,"is_valid":true,"score":0.9},{"candidate":1,"is_valid":false,"score":0.1}]}`,
		"two without number": `{"verdicts":[{"is_valid":true,"score":0.9},{"is_valid":false,"score":0.1}]}`,
		"texts":              `{"verdicts":["valid"]}`, "a text": `"is_valid"`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, tools := range []bool{true, false} {
				m := &teacher{answers: map[step]func(asked) (string, error){judge: answer(reply)}}
				var change []func(*extract.Config)
				if !tools {
					change = append(change, withoutTools(t, m))
				}
				e, run := open(t, m, change...)
				got, err := e.Validate(t.Context(), run, candidates(1, "m"))
				require.ErrorIs(t, err, backends.ErrModel)
				assert.Empty(t, got)
				assert.Len(t, m.of(judge), 2, "it is asked again, once")
				stage := run.Report().Stage(extract.StageValidate)
				assert.Equal(t, []int{1, 0, 0, 1}, []int{stage.In, stage.Out, stage.Dropped, stage.Failed})
			}
		})
	}
}

func TestR7VerdictsAreReadAsModelsWriteThem(t *testing.T) {
	for name, reply := range map[string]string{
		"bare":          `{"is_valid":true,"score":0.9}`,
		"a list":        `[{"index":1,"is_valid":"True","score":"0.9"}]`,
		"fenced":        "Let me see.\n```json\n{\"verdicts\":[{\"candidate\":1,\"is_valid\":true,\"score\":0.9}]}\n```",
		"a text inside": `{"verdicts":"[{\"candidate\":1,\"is_valid\":true,\"score\":0.9}]"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := &teacher{answers: map[step]func(asked) (string, error){judge: answer(reply)}}
			e, run := open(t, m, withoutTools(t, m))
			got, err := e.Validate(t.Context(), run, candidates(1, "m"))
			require.NoError(t, err)
			require.Len(t, got, 1)
			assert.InDelta(t, 0.9, *got[0].Quality, 1e-9)
		})
	}
}

func TestDEF04AMissingVerdictIsAskedForAgainAndThenFails(t *testing.T) {
	second := `{"verdicts":[{"candidate":1,"is_valid":true,"score":0.9},{"candidate":3,"is_valid":false,"score":0}]}`
	m := &teacher{answers: map[step]func(asked) (string, error){judge: answer(second)}}
	e, run := open(t, m)
	got, err := e.Validate(t.Context(), run, candidates(3, "m"))
	require.ErrorIs(t, err, backends.ErrModel)
	assert.Equal(t, []string{"c1"}, texts(got))
	assert.Len(t, m.of(judge), 2)
	stage := run.Report().Stage(extract.StageValidate)
	assert.Equal(t, []int{3, 1, 1, 1}, []int{stage.In, stage.Out, stage.Dropped, stage.Failed})
}

func TestDEF04AnOutageKeepsNothing(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){judge: down}}
	e, run := open(t, m)
	got, err := e.Validate(t.Context(), run, candidates(20, "m"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Empty(t, got)
	assert.Equal(t, 20, run.Report().Stage(extract.StageValidate).Failed)
	assert.Len(t, m.of(judge), 3)
}

func TestDEF16NeighboursAreJudgedTogetherWhereTheyFit(t *testing.T) {
	long := strings.Repeat("a long line of what happened ", 150) // some 900 tokens
	for name, tc := range map[string]struct {
		in    []extract.Candidate
		calls int
	}{
		"of one material":            {candidates(8, long), 1},
		"at most eight":              {candidates(17, "m"), 3},
		"several materials that fit": {append(candidates(2, "one"), candidates(2, "two")...), 1},
		"materials that do not":      {append(append(candidates(2, long), candidates(2, long+"!")...), candidates(2, long+"?")...), 3},
		"none":                       {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := &teacher{answers: map[step]func(asked) (string, error){judge: approve(0.8)}}
			e, run := open(t, m, limits(t, m, flow.Limits{Prompt: 1500}))
			got, err := e.Validate(t.Context(), run, tc.in)
			require.NoError(t, err)
			assert.Equal(t, texts(tc.in), texts(got), "in their order")
			assert.Len(t, m.of(judge), tc.calls)
			for _, q := range m.of(judge) {
				assert.LessOrEqual(t, run.Models().Counter().Text(q.user), 1500+80)
			}
		})
	}
}

func TestEachMaterialStandsOnceWithTheNumbersOfItsCandidates(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){judge: approve(0.8)}}
	e, run := open(t, m)
	in := append(append(candidates(2, "one"), candidates(1, "two")...), candidates(1, "")...)
	_, err := e.Validate(t.Context(), run, in)
	require.NoError(t, err)
	user := m.of(judge)[0].user
	assert.Contains(t, user, "<data-material-of-1-to-2>\none\n</data-material-of-1-to-2>")
	assert.Contains(t, user, "<data-material-of-3-to-3>\ntwo\n</data-material-of-3-to-3>")
	assert.Equal(t, 3, strings.Count(user, "</data-"))
}

func TestMaterialThatIsTooLongForTheJudgeIsClippedWithAWord(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){judge: approve(0.8)}}
	e, run := open(t, m, limits(t, m, flow.Limits{Prompt: 600}))
	huge := strings.Repeat("word ", 2000)
	got, err := e.Validate(t.Context(), run, []extract.Candidate{candidate(huge, huge)})
	require.NoError(t, err)
	assert.Len(t, got, 1)
	user := m.of(judge)[0].user
	assert.LessOrEqual(t, run.Models().Counter().Text(user), 600+60)
	assert.Equal(t, 2, strings.Count(user, "characters left out"))
}

func TestWithoutAModelNothingIsJudged(t *testing.T) {
	none, err := flow.New(&flow.Config{Name: "test"})
	require.NoError(t, err)
	e, err := extract.New(&extract.Config{Models: none})
	require.NoError(t, err)
	got, err := e.Validate(t.Context(), none.Begin(), candidates(1, "m"))
	require.ErrorIs(t, err, flow.ErrNoModel)
	assert.Empty(t, got)
}

func TestAContextThatIsOverAsksNothing(t *testing.T) {
	m := testkit.New()
	shared := models(t, m, flow.Limits{})
	e, err := extract.New(&extract.Config{Models: shared})
	require.NoError(t, err)
	ctx, cancel := contextThatIsOver(t)
	defer cancel()
	_, err = e.Validate(ctx, shared.Begin(), candidates(9, "m"))
	require.Error(t, err)
	_, err = e.Extract(ctx, shared.Begin(), attempts())
	require.ErrorContains(t, err, "canceled")
	assert.Empty(t, m.Calls())
}
