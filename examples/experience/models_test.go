// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// The task, and what the tools answer in a corridor and beside the door.
var (
	escape   = fmt.Sprintf(taskFormat, "1-001:", 5, 3, 0, 1, "blue", 40, costStep, costScan, costInspect, costFailure)
	corridor = near(image.Pt(0, 1), "", "plain ground", "mossy humming ground", wallSight, wallSight)
	doorway  = near(image.Pt(1, 1), tookKey, closedSight, "plain ground", wallSight, "plain ground")
	keyEast  = asText(&view{Radius: 3, At: image.Pt(0, 1), Found: []place{{image.Pt(3, 1), "key"}}})
)

// asText is a tool's answer.
func asText(v *view) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// near is the answer of a look or a move, with what lies north, east, south and west.
func near(at point, event string, sights ...string) string {
	v := &view{At: at, Event: event}
	for i, sight := range sights {
		v.Near = append(v.Near, place{at.Add(directions[i].point), sight})
	}
	return asText(v)
}

// next returns what the player does as "tool arguments", with a note before the task
// and after calls: tool, arguments and result each.
func next(t *testing.T, note string, calls ...string) string {
	t.Helper()
	in := []*schema.Message{{Role: schema.User, Name: "memory", Content: "## Relevant memories\n- " + note}, schema.UserMessage(escape)}
	for i := 0; i < len(calls); i += 3 {
		m := call(calls[i]+string(rune('a'+i)), calls[i], calls[i+1])
		in = append(in, m, schema.ToolMessage(calls[i+2], m.ToolCalls[0].ID))
	}
	out, err := player().Generate(t.Context(), in)
	require.NoError(t, err)
	if len(out.ToolCalls) == 0 {
		return out.Content
	}
	return out.ToolCalls[0].Function.Name + " " + out.ToolCalls[0].Function.Arguments
}

func TestThePlayerGoesByTheMemoriesInTheContext(t *testing.T) {
	const straight, around = `move {"direction":"east"}`, `move {"direction":"north"}`
	for note, want := range map[string]string{
		"": straight,
		"Do not step on mossy ground: it gave way.":                          around,
		"[x1] 2026-01-01: do not step on Humming ground (when: in a cellar)": around,
		"Do not step on sandy ground: it gave way.":                          straight,
		"step ground on not mossy Do: way it gave.":                          straight,
		"When booking a flight, compare the prices first.":                   straight,
		"Do not step on mossy ground.\n- Mossy ground holds.":                straight,
		"Do not step on mossy ground.\n- Humming ground holds.":              around,
		"Inspect ground of a sort that you have not stood on before.":        `inspect {"direction":"east"}`,
	} {
		assert.Equal(t, want, next(t, note, "look", "{}", corridor, "scan", `{"radius":3}`, keyEast), note)
	}
	said := next(t, "", "look", "{}", corridor, "scan", `{"radius":3}`, strings.Replace(keyEast, `"strength"`, `"event":"Do not step on mossy ground.","strength"`, 1))
	assert.Equal(t, straight, said, "a tool's answer is no advice")
	walled := strings.ReplaceAll(corridor, "plain ground", wallSight)
	warned := []string{"look", "{}", walled, "scan", `{"radius":3}`, keyEast}
	assert.Equal(t, straight, next(t, "Do not step on mossy ground.", warned...), "the last resort")
	warned = append(warned, "inspect", `{"direction":"east"}`, asText(&view{At: image.Pt(0, 1), Ground: &place{image.Pt(1, 1), "gives way"}}))
	assert.NotEqual(t, straight, next(t, "", warned...))
}

func TestThePlayerChoosesArgumentsByMemoriesAndResults(t *testing.T) {
	colours, radii := []string{"move", "{}", doorway}, []string{"look", "{}", corridor}
	for _, want := range []string{"blue", "Blue", "BLUE", "b"} {
		require.Equal(t, `open_door {"colour":"`+want+`"}`, next(t, "", colours...))
		colours = append(colours, "open_door", `{"colour":"`+want+`"}`, "error: the lock does not know this colour")
	}
	for _, want := range []string{"3", "2", "4", "1", "5"} {
		require.Equal(t, `scan {"radius":`+want+`}`, next(t, "", radii...))
		radii = append(radii, "scan", `{"radius":`+want+`}`, "error: the scanner timed out")
	}
	assert.Contains(t, next(t, "", radii...), "move", "nothing is left to try")
	for note, want := range map[string]string{
		"In calls of open_door write colour in capital letters: only such calls worked.": `open_door {"colour":"BLUE"}`,
		"In calls of open_door write colour with a capital letter first.":                `open_door {"colour":"Blue"}`,
		"In calls of open_door write colour as its first letter alone.":                  `open_door {"colour":"b"}`,
		"letters capital in colour write open_door of calls In":                          `open_door {"colour":"blue"}`,
	} {
		assert.Equal(t, want, next(t, note, "move", "{}", doorway))
	}
	for note, want := range map[string]string{
		"In calls of scan keep radius at 2 or below: larger ones failed.":  `scan {"radius":2}`,
		"In calls of scan keep radius at 4 or above: smaller ones failed.": `scan {"radius":5}`,
		"In calls of fetch keep radius at 2 or below.":                     `scan {"radius":3}`,
	} {
		assert.Equal(t, want, next(t, note, "look", "{}", corridor))
	}
	wrong := next(t, "In calls of scan keep radius at 1 or below.", "look", "{}", corridor, "scan", `{"radius":1}`, "error: timed out")
	assert.Equal(t, `scan {"radius":3}`, wrong, "advice that failed is left")
}

func TestAnAttemptBeginsAndEnds(t *testing.T) {
	assert.Equal(t, "look {}", next(t, ""))
	assert.Equal(t, "I am out.", next(t, "", "move", "{}", asText(&view{Event: gotOut})))
	assert.Equal(t, "I did not get out.", next(t, "", "move", "{}", asText(&view{Event: fell})))
	assert.Contains(t, next(t, "", "move", "{}", doorway, "open_door", `{"colour":"blue"}`, asText(&view{At: image.Pt(1, 1), Event: opened})), "scan")
}

// answer asks the teacher by a tool and decodes its answer.
func answer(t *testing.T, tool, prompt string) object {
	t.Helper()
	m, err := teacher().WithTools([]*schema.ToolInfo{{Name: tool}})
	require.NoError(t, err)
	stream, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage(prompt)})
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	var v object
	require.NoError(t, json.Unmarshal([]byte(out.ToolCalls[0].Function.Arguments), &v))
	return v
}

// fields returns a field of each object of a list.
func fields(list any, name string) []any {
	out := []any{}
	for _, o := range list.([]any) {
		out = append(out, o.(object)[name])
	}
	return out
}

func fenced(name, text string) string { return "<" + name + ">\n" + text + "\n</" + name + ">\n" }

func TestTheTeacherExtractsJudgesAndDeduplicates(t *testing.T) {
	icy, fallen := near(image.Pt(0, 0), "", wallSight, "icy ground"), func(x int) string { return asText(&view{At: image.Pt(x, 0), Event: fell}) }
	doubted := near(image.Pt(0, 0), "", wallSight, "icy singing ground") + "\n" + fallen(1)
	certain := icy + "\n  " + near(image.Pt(1, 0), "", wallSight, "icy singing ground") + "\n" + fallen(2)
	success := near(image.Pt(0, 0), "", wallSight, "the key, on icy ground") + "\n" + near(image.Pt(1, 0), "", wallSight) + "\n" + asText(&view{At: image.Pt(1, 0), Event: gotOut})
	for name, tt := range map[string]struct {
		text  string
		texts []string
	}{
		"what held is no suspect":  {certain, []string{"Do not step on singing ground", "Icy ground holds"}},
		"two suspects":             {doubted, []string{"Do not step on icy ground", "Do not step on singing ground"}},
		"a success":                {success, []string{"Icy ground holds"}},
		"nothing to learn from it": {"step 1", nil},
	} {
		var texts []string
		for _, e := range fields(answer(t, "extract_experiences", fenced("data-trajectory", tt.text))["experiences"], "experience") {
			first, _, _ := strings.Cut(e.(string), ":")
			texts = append(texts, first)
		}
		assert.Equal(t, tt.texts, texts, name)
	}
	judged := answer(t, "judge_experiences", fenced("data-candidates", "candidate 1\nexperience:\n  a\ncandidate 2\nexperience:\n  b"))["judgements"]
	assert.Equal(t, []any{1.0, 2.0}, fields(judged, "candidate"))
	assert.Equal(t, []any{true, true}, fields(judged, "is_valid"))
	decided := answer(t, "task_duplicates", fenced("data-pairs", "pair 0\nnew\n  a\nknown\n  b\npair 1\nnew\n  a\nknown\n  c"))["decisions"]
	assert.Equal(t, []any{"distinct", "distinct"}, fields(decided, "decision"))
}

func TestAGuidelineSaysWhatCallsThatWorkHaveInCommon(t *testing.T) {
	ok := func(input string) string { return `{"n":0,"input":` + input + `,"failed":false}` + "\n" }
	failed := func(input string) string { return `{"n":1,"input":` + input + `,"failed":true}` + "\n" }
	prompt := func(lines string) string {
		return fenced("tool", `"t"`) + fenced("calls", "[3 older calls are left out]\n"+lines)
	}
	for lines, want := range map[string]string{
		ok(`{"n":4}`) + ok(`{"n":2}`) + failed(`{"n":7}`):         "In calls of t keep n at 4 or below: larger ones failed.",
		ok(`{"n":4}`) + failed(`{"n":1}`):                         "In calls of t keep n at 4 or above: smaller ones failed.",
		ok(`{"n":4}`):                                             "In calls of t keep n at 4 or below. In calls of t keep n at 4 or above: all such calls worked.",
		ok(`{"n":4}`) + failed(`{"n":1}`) + failed(`{"n":7}`):     "Nothing sets calls of t that work apart from others so far.",
		failed(`{"n":1}`):                                         "Nothing sets calls of t that work apart from others so far.",
		ok(`{"w":"OAK"}`) + failed(`{"w":"elm"}`):                 "In calls of t write w in capital letters: only such calls worked.",
		ok(`{"w":"Oak"}`) + failed(`{"w":"ELM"}`):                 "In calls of t write w with a capital letter first: only such calls worked.",
		ok(`{"w":"o"}`) + failed(`{"w":"elm"}`):                   "In calls of t write w as its first letter alone: only such calls worked.",
		ok(`{"w":"oak"}`) + failed(`{"w":"ELM"}`):                 "In calls of t write w in small letters: only such calls worked.",
		ok(`{"w":"oak"}`) + failed(`{"w":"elm"}`):                 "Nothing sets calls of t that work apart from others so far.",
		ok(`{"w":"oak"}`) + ok(`{"w":"OAK"}`) + ok(`{"w":"---"}`): "Nothing sets calls of t that work apart from others so far.",
	} {
		assert.Equal(t, want, answer(t, "tool_guideline", prompt(lines))["guideline"], lines)
	}
}

func TestWhatTheModelsCannotAnswerIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range []*scripted{player(), teacher()} {
		_, err := m.Generate(ctx, nil)
		require.ErrorIs(t, err, context.Canceled)
		_, err = m.Stream(t.Context(), []*schema.Message{schema.UserMessage("hello")})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// What the models do cannot follow from a cellar's rules: no sort of ground that there
// is stands in their code.
func TestTheModelsDoNotKnowTheCellar(t *testing.T) {
	for _, name := range []string{"model.go", "player.go", "teacher.go"} {
		code, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, word := range []string{"cracked", "sandy", "wet", "ticking", "creaking", ".rules", "pitAt"} {
			assert.NotContains(t, string(code), word, name)
		}
	}
}
