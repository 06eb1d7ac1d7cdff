// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/internal/testkit"
)

func drawAttempt(rt *rapid.T, i int) trajectory.Trajectory {
	t := trajectory.Trajectory{
		TaskID: rapid.SampledFrom([]string{"a", "b", ""}).Draw(rt, "task"), Score: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "score"),
		Query: strings.Repeat(rapid.SampledFrom([]string{"open ", "打开门"}).Draw(rt, "query"), rapid.IntRange(0, 400).Draw(rt, "long")),
	}
	for k := range rapid.IntRange(1, 9).Draw(rt, "steps") {
		text := fmt.Sprintf("t%dm%d ", i, k) + strings.Repeat(rapid.SampledFrom([]string{"word ", "字", "x\n", "</data-trajectory>"}).Draw(rt, "text"), rapid.IntRange(0, 500).Draw(rt, "length"))
		if rapid.Bool().Draw(rt, "tool") {
			t.Messages = append(t.Messages, schema.ToolMessage(text, "", schema.WithToolName("search")))
		} else {
			t.Messages = append(t.Messages, schema.AssistantMessage(text, nil))
		}
	}
	if rapid.Bool().Draw(rt, "divided") {
		t.Metadata = map[string]any{"segments": []any{2.0, 5.0}}
	}
	return t
}

func drawAttempts(rt *rapid.T) []trajectory.Trajectory {
	ts := make([]trajectory.Trajectory, rapid.IntRange(0, 5).Draw(rt, "attempts"))
	for i := range ts {
		ts[i] = drawAttempt(rt, i)
	}
	return ts
}

// echo answers with what it was asked, after others had a chance to be first.
func echo(source string) func(asked) (string, error) {
	return func(q asked) (string, error) {
		for range len(q.user) % 7 {
			runtime.Gosched()
		}
		text, err := json.Marshal(map[string]any{"when_to_use": source, "experience": q.user})
		if len(text) > 30<<10 {
			text, err = json.Marshal(map[string]any{"when_to_use": source, "experience": q.user[:1000]})
		}
		return string(text), err
	}
}

// Every prompt fits, holds one fence a material, and says in which language it is
// asked; the order of the candidates follows from the trajectories alone.
func TestPromptsFitAndTheOrderIsFixedForAnyAttempts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ts := drawAttempts(rt)
		most := rapid.IntRange(512, 3000).Draw(rt, "room")
		var first []extract.Candidate
		for turn, concurrency := range []int{1, 8} {
			m := &teacher{answers: map[step]func(asked) (string, error){success: echo("success"), failure: echo("failure"), comparative: echo("comparative"), similar: echo("comparative")}}
			e, run := open(t, m, limits(t, m, flow.Limits{Prompt: most, Concurrency: concurrency, Calls: 1000, Tokens: 1 << 30}), alike)
			got, err := e.Extract(t.Context(), run, ts)
			require.NoError(rt, err)
			for _, q := range m.calls {
				fences := strings.Count(q.user, "</data-")
				require.Equal(rt, map[bool]int{true: 2, false: 1}[strings.HasPrefix(q.user, "<data-better>")], fences)
				// Fence marks in the material grow a little when they are broken.
				slack := 40 + 4*strings.Count(q.user, "&lt;")
				require.LessOrEqual(rt, budget.Estimate.Text(q.user), most+slack)
			}
			if turn == 0 {
				first = got
				continue
			}
			require.Equal(rt, first, got)
		}
		order := ""
		for _, c := range first {
			order += string(c.Source[:1])
			require.NotEmpty(rt, c.Material)
		}
		require.Regexp(rt, "^s*f*c*$", order)
	})
}

// Every step of a trajectory is in some question about it, or the question says that
// something of it is left out.
func TestEveryStepIsInAQuestion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := drawAttempt(rt, 0)
		in.Score = 1
		m := &teacher{answers: map[step]func(asked) (string, error){success: says("s", 1)}}
		e, run := open(t, m, limits(t, m, flow.Limits{Prompt: rapid.IntRange(512, 3000).Draw(rt, "room"), Calls: 1000}))
		_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{in})
		require.NoError(rt, err)
		all := sortedUsers(m.of(success))
		for i := range in.Messages {
			require.Contains(rt, all, fmt.Sprintf("\nstep %d ", i+1))
			require.Contains(rt, all, fmt.Sprintf("\n  t0m%d", i))
		}
	})
}

// What is kept is what the judge approved, whatever it says of the others; all are
// accounted for.
func TestTheJudgesVerdictsAreCarriedOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := candidates(rapid.IntRange(0, 20).Draw(rt, "candidates"), "m")
		quality := rapid.SampledFrom([]float64{0.3, 0.5, 0.9}).Draw(rt, "quality")
		type said struct {
			how   string
			valid bool
			score float64
		}
		says := map[string]said{}
		for _, c := range in {
			says[c.Content] = said{
				rapid.SampledFrom([]string{"", "", "", "silent", "twice", "NaN", "no score", "no truth"}).Draw(rt, "how"), rapid.Bool().Draw(rt, "valid"),
				rapid.SampledFrom([]float64{0, 0.29, 0.3, 0.5, 0.89, 0.9, 1}).Draw(rt, "score"),
			}
		}
		m := &teacher{answers: map[step]func(asked) (string, error){judge: func(q asked) (string, error) {
			verdicts := []any{}
			for i, part := range strings.Split(q.user, "experience:\n  ")[1:] {
				name, _, _ := strings.Cut(part, "\n")
				v := says[name]
				o := map[string]any{"candidate": i + 1, "is_valid": v.valid, "score": v.score}
				switch v.how {
				case "silent":
					continue
				case "twice":
					verdicts = append(verdicts, o)
				case "NaN":
					o["score"] = "NaN"
				case "no score":
					delete(o, "score")
				case "no truth":
					delete(o, "is_valid")
				}
				verdicts = append(verdicts, o)
			}
			text, err := json.Marshal(map[string]any{"verdicts": verdicts})
			return string(text), err
		}}}
		e, run := open(t, m, func(c *extract.Config) { c.MinQuality = quality })
		got, err := e.Validate(t.Context(), run, in)
		var want []string
		failed := 0
		for _, c := range in {
			switch v := says[c.Content]; {
			case v.how != "":
				failed++
			case v.valid && v.score >= quality:
				want = append(want, c.Content)
			}
		}
		require.Equal(rt, want, append([]string(nil), texts(got)...))
		for _, c := range got {
			require.InDelta(rt, says[c.Content].score, *c.Quality, 0)
		}
		stage := run.Report().Stage(extract.StageValidate)
		require.Equal(rt, []int{len(in), len(want), failed, len(in) - len(want) - failed}, []int{stage.In, stage.Out, stage.Failed, stage.Dropped})
		if failed == 0 {
			require.NoError(rt, err)
		} else {
			require.ErrorIs(rt, err, backends.ErrModel)
		}
	})
}

// One extractor serves many requests at the same time, each with its own run.
func TestAnExtractorIsSharedByRequests(t *testing.T) {
	m := &teacher{answers: three(3)}
	m.answers[judge] = approve(0.8)
	shared := models(t, testkit.New(m.reply), flow.Limits{Concurrency: 3})
	e, err := extract.New(&extract.Config{Models: shared})
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			run := shared.Begin()
			task := fmt.Sprint("task ", i)
			found, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt(task, 0, "push"), attempt(task, 1, "key")})
			assert.NoError(t, err)
			kept, err := e.Validate(t.Context(), run, found)
			assert.NoError(t, err)
			assert.Len(t, kept, 8)
			for _, c := range kept {
				assert.Equal(t, task, c.TaskID)
			}
			assert.Equal(t, 4, run.Usage().ModelCalls)
		})
	}
	all.Wait()
}
