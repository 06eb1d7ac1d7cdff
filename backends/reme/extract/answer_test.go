// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

// learn lets a model that gives one answer learn from one success.
func learn(t testing.TB, m *testkit.Chat) ([]extract.Candidate, flow.Report, error) {
	t.Helper()
	shared := models(t, m, flow.Limits{})
	e, err := extract.New(&extract.Config{Models: shared})
	require.NoError(t, err)
	run := shared.Begin()
	got, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("a", 1, "x")})
	return got, run.Report(), err
}

func TestR5ExperiencesAreReadAsModelsWriteThem(t *testing.T) {
	for name, reply := range map[string]string{
		"a list":            `[{"when_to_use":"w","experience":"e"}]`,
		"one object":        `{"when_to_use":"w","experience":"e"}`,
		"under another key": `{"memories":[{"condition":"w","memory":"e"}]}`,
		"one under the key": `{"experiences":{"when_to_use":"w","experience":"e"}}`,
		"a list as text":    `{"experiences":"[{\"when_to_use\":\"w\",\"experience\":\"e\"}]"}`,
		"nearly JSON":       `{'experiences': [{'when_to_use': 'w', 'experience': 'e',},]}`,
		"an empty first":    `[{"when_to_use":" ","condition":"w","experience":"...","content":"e"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := learn(t, testkit.New(testkit.Text(reply)))
			require.NoError(t, err)
			require.Len(t, got, 1)
			assert.Equal(t, []string{"w", "e"}, []string{got[0].WhenToUse, got[0].Content})
		})
	}
}

func TestSeveralToolCallsAreOneAnswer(t *testing.T) {
	both := &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{
		{Function: schema.FunctionCall{Arguments: `{"experiences":[{"when_to_use":"w1","experience":"e1"},{"when_to_use":"w2","experience":"e2"}]}`}},
		{Function: schema.FunctionCall{Arguments: `{"when_to_use":"w3","experience":"e3"}`}},
	}}
	m := testkit.New(fixed(both))
	got, _, err := learn(t, m)
	require.NoError(t, err)
	assert.Equal(t, []string{"e1", "e2", "e3"}, texts(got))
	both.ToolCalls[1].Function.Arguments = "oops"
	_, _, err = learn(t, testkit.New(fixed(both)))
	require.ErrorIs(t, err, backends.ErrModel)
}

func TestEntriesWithoutBothTextsAreRefused(t *testing.T) {
	got, report, err := learn(t, testkit.New(testkit.Text(`[{"when_to_use":"w"},{"experience":"e"},{"when_to_use":"","experience":"e"},{"when_to_use":"w","experience":"?!…"},
		"text",null,{"when_to_use":1,"experience":["x"]},{"when_to_use":"w","experience":"fine"}]`)))
	require.NoError(t, err)
	assert.Equal(t, []string{"fine"}, texts(got))
	assert.Equal(t, 7, report.Stage(extract.StageSuccess).Dropped)
}

func TestAnswersThatSayNothingAreErrors(t *testing.T) {
	for name, reply := range map[string]testkit.Reply{
		"empty": testkit.Text(""), "prose": testkit.Text("I learnt a lot."), "cut off": testkit.Text(`[{"when_to_use":"w","experience":"e`),
		"nothing of use": testkit.Text(`[{"when_to_use":"w"}]`), "another object": testkit.Text(`{"answer":42}`),
		"cut off by the limit": fixed(&schema.Message{Role: schema.Assistant, Content: `[{"when_to_use":"w","experience":"e"}]`, ResponseMeta: &schema.ResponseMeta{FinishReason: "length"}}),
	} {
		t.Run(name, func(t *testing.T) {
			got, report, err := learn(t, testkit.New(reply))
			require.ErrorIs(t, err, backends.ErrModel)
			assert.Empty(t, got)
			assert.Equal(t, 1, report.Stage(extract.StageSuccess).Failed)
			assert.Equal(t, 2, report.Usage.ModelCalls)
		})
	}
}

func TestNothingToLearnIsAnAnswer(t *testing.T) {
	for _, reply := range []string{`[]`, `{"experiences":[]}`} {
		got, report, err := learn(t, testkit.New(testkit.Text(reply)))
		require.NoError(t, err)
		assert.Empty(t, got)
		assert.Zero(t, report.Stage(extract.StageSuccess).Dropped)
	}
}

func TestACandidateThatIsNoLessonButABookIsRefused(t *testing.T) {
	book := strings.Repeat("word ", 10_000)
	for _, entry := range []map[string]any{
		{"when_to_use": "w", "experience": book}, {"when_to_use": "w", "experience": "e", "more": book}, {"when_to_use": "w", "experience": "e", "tags": []any{book}},
	} {
		text, err := json.Marshal([]any{entry, map[string]any{"when_to_use": "w", "experience": "fine"}})
		require.NoError(t, err)
		got, report, err := learn(t, testkit.New(testkit.Text(string(text))))
		require.NoError(t, err)
		assert.Equal(t, []string{"fine"}, texts(got))
		assert.Equal(t, 1, report.Stage(extract.StageSuccess).Dropped)
	}
}

func TestWhatIsBesideTheTextsIsTakenAsFarAsItMakesSense(t *testing.T) {
	got, _, err := learn(t, testkit.New(testkit.Text(`[
		{"when_to_use":"w","experience":"a\u0000b","confidence":"0.7","step_type":"thinking","tags":"x, y；x","tools_used":["t",3,""]},
		{"when_to_use":"w","experience":"e","confidence":70,"step_type":5,"tags":7,"note":"n\u0000","empty":null}]`)))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "ab", got[0].Content)
	assert.InDelta(t, 0.7, got[0].Confidence, 1e-9)
	assert.Equal(t, []string{"x", "y"}, got[0].Tags)
	assert.Equal(t, []string{"t"}, got[0].ToolsUsed)
	assert.Empty(t, got[0].StepType)
	assert.Zero(t, got[1].Confidence)
	assert.Nil(t, got[1].Tags)
	assert.Equal(t, map[string]any{"note": "n"}, got[1].Extra)
}

var nonsense = []string{
	"", "{}", "[]", "null", "[null]", `[{"when_to_use":"w","experience":"e"}]`, `{"experiences":[{"when_to_use":"w","experience":"e","confidence":1e999}]}`,
	"```json\n[{\"when_to_use\":\"w\",\"experience\":\"\"}]\n```", `{"experiences":{"experiences":{"experiences":[]}}}`, `[{"condition":"c","memory":"m","x":[[[[1]]]]}]`,
	`{"verdicts":[{"candidate":1,"is_valid":true,"score":0.9}]}`, `{"is_valid":true,"score":0.5}`, `{"is_valid":"true","score":"0.5","candidate":"1"}`, `[{"is_valid":true,"score":2}]`, "<think>{\"is_valid\":true,\"score\":1}</think>",
	`[{"when_to_use":"\ud800","experience":"\u0000"}]`,
}

func said(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// Whatever a model answers, a candidate has both texts and can be written as JSON.
func FuzzAnswers(f *testing.F) {
	for _, s := range nonsense {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, reply string, byTool bool) {
		answer := testkit.Text(reply)
		if byTool {
			answer = testkit.Call("c", "extract_experiences", reply)
		}
		got, report, err := learn(t, testkit.New(answer))
		stage := report.Stage(extract.StageSuccess)
		require.Len(t, got, stage.Out)
		require.LessOrEqual(t, len(got), 3)
		require.Equal(t, err != nil, stage.Failed == 1)
		for _, c := range got {
			require.True(t, said(c.WhenToUse) && said(c.Content), "%q %q", c.WhenToUse, c.Content)
			require.True(t, c.Confidence >= 0 && c.Confidence <= 1)
			_, err := json.Marshal(c)
			require.NoError(t, err)
		}
	})
}

// Whatever a judge answers, what is kept has a score that is enough; and of what is
// not, it is known why.
func FuzzVerdicts(f *testing.F) {
	for _, s := range nonsense {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		shared := models(t, testkit.New(testkit.Text(reply)), flow.Limits{})
		e, err := extract.New(&extract.Config{Models: shared})
		require.NoError(t, err)
		run := shared.Begin()
		got, err := e.Validate(t.Context(), run, candidates(3, "m"))
		stage := run.Report().Stage(extract.StageValidate)
		require.Equal(t, 3, stage.Out+stage.Dropped+stage.Failed)
		require.Len(t, got, stage.Out)
		require.Equal(t, stage.Failed > 0, err != nil)
		for _, c := range got {
			require.NotNil(t, c.Quality)
			require.False(t, math.IsNaN(*c.Quality) || *c.Quality < 0.5 || *c.Quality > 1)
			require.Contains(t, reply, "valid")
		}
	})
}
