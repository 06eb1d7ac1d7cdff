// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher_test

import (
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/internal/teacher"
)

// ask puts a question and returns the arguments of the answer.
func ask(t *testing.T, tool, prompt string, into any) {
	t.Helper()
	m, err := (&teacher.Model{}).WithTools([]*schema.ToolInfo{{Name: tool}})
	require.NoError(t, err)
	out, err := m.Generate(t.Context(), []*schema.Message{schema.SystemMessage("Do as you are told."), schema.UserMessage(prompt)})
	require.NoError(t, err)
	require.Equal(t, tool, out.ToolCalls[0].Function.Name)
	require.NoError(t, json.Unmarshal([]byte(out.ToolCalls[0].Function.Arguments), into))
}

type experience struct {
	WhenToUse  string `json:"when_to_use"`
	Experience string `json:"experience"`
	Confidence float64
}

func experiences(t *testing.T, prompt string) []experience {
	t.Helper()
	var out struct{ Experiences []experience }
	ask(t, "extract_experiences", prompt, &out)
	return out.Experiences
}

func texts(all []experience) []string {
	var out []string
	for _, e := range all {
		first, _, _ := strings.Cut(e.Experience, ":")
		out = append(out, first)
	}
	return out
}

// walk is an attempt as it is shown: from plain ground to the east, over what the
// sights say, to where it ends.
func walk(end string, sights ...string) string {
	var b strings.Builder
	b.WriteString("step 1 user\n  You stand at (0,0).\nstep 2 tool, result of look\n  You are at (0,0). Strength 20.\n  east (1,0): " + sights[0] + "\n  south (0,1): glassy ground\n")
	for i, s := range sights[1:] {
		n := string(rune('1' + i))
		next := string(rune('2' + i))
		b.WriteString("step tool, result of move\n  You are at (" + n + ",0). Strength 10.\n  east (" + next + ",0): " + s + "\n")
	}
	b.WriteString("step tool, result of move\n  You are at (" + string(rune('0'+len(sights))) + ",0). " + end + " It is over.\n")
	return b.String()
}

func fenced(name, text string) string { return "<" + name + ">\n" + text + "</" + name + ">" }

const fell = "The ground gives way and you fall into a pit."

func TestWhatItFellIntoIsSuspect(t *testing.T) {
	got := experiences(t, fenced("data-trajectory", walk(fell, "plain ground", "tarry ground")))
	assert.Equal(t, []string{"Do not step on tarry ground"}, texts(got))
	assert.InDelta(t, 1, got[0].Confidence, 0)
	assert.Contains(t, got[0].WhenToUse, "tarry")
}

func TestWhatHeldIsNoSuspect(t *testing.T) {
	got := experiences(t, fenced("data-trajectory", walk(fell, "icy ground", "icy singing ground")))
	assert.Equal(t, []string{"Do not step on singing ground", "Icy ground holds"}, texts(got))
	got = experiences(t, fenced("data-trajectory", walk(fell, "plain ground", "icy singing ground")))
	assert.Equal(t, []string{"Do not step on icy ground", "Do not step on singing ground"}, texts(got))
	assert.InDelta(t, 0.5, got[0].Confidence, 0)
	assert.Contains(t, got[0].Experience, "it may be what gave way")
	inspected := "  The ground at (2,0) holds. Strength 9.\n"
	got = experiences(t, fenced("data-trajectory", walk("", "plain ground", "icy ground")+inspected))
	assert.Contains(t, texts(got), "Icy ground holds")
}

func TestASuccessTeachesWhatHolds(t *testing.T) {
	got := experiences(t, fenced("data-trajectory", walk("This is the exit: you are out.", "icy ground", "the key, on singing ground", "icy ground", "plain ground", "the exit")))
	assert.Equal(t, []string{"Icy ground holds", "Singing ground holds"}, texts(got))
	assert.Empty(t, experiences(t, fenced("data-trajectory", walk("No strength is left.", "plain ground", "plain ground"))))
}

func TestTwoAttemptsTellMoreThanOne(t *testing.T) {
	worse := walk(fell, "plain ground", "icy singing ground")
	better := walk("This is the exit: you are out.", "icy ground", "the exit")
	got := experiences(t, fenced("data-better", better)+"\n\n"+fenced("data-worse", worse))
	assert.Equal(t, []string{"Do not step on singing ground"}, texts(got))
	assert.InDelta(t, 1, got[0].Confidence, 0)
}

type judgement struct {
	Candidate int
	Valid     bool `json:"is_valid"`
	Score     float64
}

func TestJudgementsFollowFromTheMaterial(t *testing.T) {
	candidates := "candidate 1\nwhen_to_use:\n  walking\nexperience:\n  Do not step on tarry ground: it gave way.\n" +
		"candidate 2\nwhen_to_use:\n  walking\nexperience:\n  Tarry ground holds: so it is.\n" +
		"candidate 3\nwhen_to_use:\n  walking\nexperience:\n  Do not step on singing ground: it gave way.\n"
	var out struct{ Judgements []judgement }
	judge := func(material string) []judgement {
		ask(t, "judge_experiences", material+"\n\n"+fenced("data-candidates", candidates), &out)
		return out.Judgements
	}
	assert.Equal(t, []judgement{{1, true, 1}, {2, false, 0}, {3, false, 0}}, judge(fenced("data-trajectory", walk(fell, "plain ground", "tarry ground"))))
	assert.Equal(t, []judgement{{1, false, 0}, {2, false, 0}, {3, true, 0.5}}, judge(fenced("data-trajectory", walk(fell, "plain ground", "icy singing ground"))))
	pair := fenced("data-better", walk("you are out", "icy ground", "the exit")) + "\n\n" + fenced("data-worse", walk(fell, "plain ground", "icy singing ground"))
	assert.Equal(t, []judgement{{1, false, 0}, {2, false, 0}, {3, true, 1}}, judge(pair))
}

func TestPairsThatSayTheSame(t *testing.T) {
	pair := func(n, a, b string) string {
		shown := func(heading, text string) string {
			return heading + "\nwhen_to_use:\n  w\nexperience:\n  " + text + "\n"
		}
		return "pair " + n + "\n" + shown("new", a) + shown("known", b)
	}
	var out struct {
		Decisions []struct {
			Pair     int
			Decision string
		}
	}
	ask(t, "task_duplicates", fenced("data-pairs", pair("0", "Do not step on icy ground.", "do not step on Icy ground: it gave way")+
		pair("1", "Do not step on icy ground.", "Icy ground holds.")+pair("2", "Icy ground holds.", "Tarry ground holds.")), &out)
	var got []string
	for _, d := range out.Decisions {
		got = append(got, d.Decision)
	}
	assert.Equal(t, []string{"same", "distinct", "distinct"}, got)
}

func calls(tool string, lines ...string) string {
	return fenced("tool", `"`+tool+"\"\n") + "\n" + fenced("calls", "[3 older calls are left out]\n"+strings.Join(lines, "\n")+"\n")
}

func worked(input string) string {
	return `{"n":0,"input":` + input + `,"output":"fine","failed":false}`
}

func failed(input string) string { return `{"n":1,"input":` + input + `,"output":"","failed":true}` }

func TestAGuidelineSaysWhatCallsThatWorkHaveInCommon(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  string
	}{
		"smaller numbers": {[]string{worked(`{"n":4}`), worked(`{"n":2}`), failed(`{"n":7}`)}, "In calls of t keep n at 4 or below: larger ones failed."},
		"larger numbers":  {[]string{worked(`{"n":4}`), failed(`{"n":1}`), failed(`{"n":3}`)}, "In calls of t keep n at 4 or above: smaller ones failed."},
		"nothing failed":  {[]string{worked(`{"n":4}`)}, "In calls of t keep n at 4 or below. In calls of t keep n at 4 or above: all such calls worked."},
		"no order":        {[]string{worked(`{"n":4}`), failed(`{"n":1}`), failed(`{"n":7}`)}, "Nothing sets calls of t that work apart from others so far."},
		"nothing worked":  {[]string{failed(`{"n":1}`)}, "Nothing sets calls of t that work apart from others so far."},
		"capitals":        {[]string{worked(`{"w":"OAK"}`), failed(`{"w":"elm"}`), failed(`{"w":"Elm"}`)}, "In calls of t write w in capital letters: only such calls worked."},
		"a capital":       {[]string{worked(`{"w":"Oak"}`), failed(`{"w":"ELM"}`)}, "In calls of t write w with a capital letter first: only such calls worked."},
		"a letter":        {[]string{worked(`{"w":"o"}`), failed(`{"w":"elm"}`)}, "In calls of t write w as its first letter alone: only such calls worked."},
		"small letters":   {[]string{worked(`"{\"w\":\"oak\"}"`), failed(`{"w":"ELM"}`)}, "In calls of t write w in small letters: only such calls worked."},
		"no form":         {[]string{worked(`{"w":"oak"}`), worked(`{"w":"OAK"}`)}, "Nothing sets calls of t that work apart from others so far."},
		"the same form":   {[]string{worked(`{"w":"oak"}`), failed(`{"w":"elm"}`)}, "Nothing sets calls of t that work apart from others so far."},
		"digits":          {[]string{worked(`{"w":"x-1"}`), worked(`{"w":"-"}`)}, "Nothing sets calls of t that work apart from others so far."},
		"two arguments":   {[]string{worked(`{"w":"OAK","n":2}`)}, "In calls of t keep n at 2 or below. In calls of t keep n at 2 or above: all such calls worked. In calls of t write w in capital letters: only such calls worked."},
		"no arguments":    {[]string{worked(`"plain"`)}, "Nothing sets calls of t that work apart from others so far."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out struct{ Guideline string }
			ask(t, "tool_guideline", calls("t", tt.lines...), &out)
			assert.Equal(t, tt.want, out.Guideline)
		})
	}
}

func TestACallIsUsefulIfItDidNotFail(t *testing.T) {
	var out struct {
		Judgements []struct {
			N     int
			Score float64
		}
	}
	ask(t, "tool_judge", calls("t", worked(`{}`), failed(`{}`)), &out)
	require.Len(t, out.Judgements, 2)
	assert.InDelta(t, 1, out.Judgements[0].Score, 0)
	assert.InDelta(t, 0, out.Judgements[1].Score, 0)
}

func TestATaskSaysNothingAboutAPerson(t *testing.T) {
	var out struct{ Statements []any }
	ask(t, "personal_statements", "<new_messages>\n{\"n\":7,\"text\":\"You are in a cellar.\"}\n</new_messages>", &out)
	assert.Empty(t, out.Statements)
}

func TestWhatItCannotAnswerIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&teacher.Model{}).Generate(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
	plain, err := (&teacher.Model{}).WithTools(nil)
	require.NoError(t, err)
	_, err = plain.Stream(t.Context(), []*schema.Message{schema.UserMessage("hello")})
	require.ErrorIs(t, err, backends.ErrInvalid)
	for _, tool := range []string{"extract_experiences", "judge_experiences", "task_duplicates", "tool_guideline", "tool_judge", "personal_statements"} {
		m, err := (&teacher.Model{}).WithTools([]*schema.ToolInfo{{Name: tool}})
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("hello")})
		require.ErrorIs(t, err, backends.ErrInvalid, tool)
	}
}

// What the teacher says cannot follow from a cellar's rules: it has never heard of
// one, nor of any sort of ground that there is.
func TestTheTeacherDoesNotKnowTheCellar(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			assert.NotContains(t, i.Path.Value, "/cellar", name)
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, word := range []string{"mossy", "cracked", "sandy", "wet", "humming", "ticking", "creaking", "scan", "colour", "radius"} {
			assert.NotContains(t, string(text), word, name)
		}
	}
}
