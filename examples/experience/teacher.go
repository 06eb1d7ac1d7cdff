// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/examples/demomodel"
)

// teacher returns the model that learns, which answers the questions of reme. It reads only the
// attempts and the calls of its prompt:
//
//   - If an attempt ended on reaching a place, the qualities of the place are suspect, less
//     the ones on which it stood unharmed before.
//   - Ground on which it stood unharmed holds.
//   - Of contradicting lessons it keeps the ones about ground that held.
//   - If calls of a tool with some values of its argument worked and others failed, it says
//     how the former are written.
//
// It may be wrong: of two suspects one is innocent.
func teacher() *demomodel.Model { return &demomodel.Model{Answer: teach} }

type object = map[string]any

// answers are the answers of the teacher, by the tools that take them.
var answers = map[string]func(prompt string) object{
	"extract_experiences": experiences,
	"write_skill":         skill,
	"reflect":             contradictions,
	"judge_experiences":   judgements,
	"tool_guideline":      guideline,
}

// teach answers by the tool in the call.
func teach(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	for _, t := range tools {
		if answer := answers[t.Name]; answer != nil {
			return demomodel.Call("answer", t.Name, answer(in[len(in)-1].Content)), nil
		}
	}
	return nil, fmt.Errorf("%w: the teacher is offered no tool that it can answer by", backends.ErrInvalid)
}

// experiences answers the lessons of an attempt: suspects first, then ground that held, the most
// trodden first. Each answer of a tool stands on a line.
func experiences(prompt string) object {
	s := newScene()
	for line := range strings.SplitSeq(prompt, "\n") {
		s.result("", strings.TrimSpace(line))
	}
	delete(s.stood, "plain") // it is the lack of a quality
	out := []object{}
	for _, q := range sorts(s.seen[s.at]) {
		if s.over && q != "plain" && s.stood[q] == 0 {
			out = append(out, experience(houseIn(prompt), q, false))
		}
	}
	held := slices.Sorted(maps.Keys(s.stood))
	slices.SortStableFunc(held, func(x, y string) int { return s.stood[y] - s.stood[x] })
	for _, q := range held {
		out = append(out, experience(houseIn(prompt), q, true))
	}
	return object{"experiences": out}
}

var (
	houseNamed = regexp.MustCompile(`below (\w+)`)
	colourIn   = regexp.MustCompile(`"colour":\s*"(\w+)"`)
)

// houseIn returns the first house that a text names.
func houseIn(text string) string {
	if m := houseNamed.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "some house"
}

// experience is one lesson of an attempt, in the fields of reme's question.
func experience(house, quality string, holds bool) object {
	text := "Do not step on " + quality + " ground: it gave way under an attempt, which ended there. Go around it."
	if holds {
		text = strings.ToUpper(quality[:1]) + quality[1:] + " ground holds: it was walked on without harm."
	}
	return object{
		"when_to_use": "choosing a way through a cellar below " + house + " where some ground is " + quality,
		"experience":  text, "tags": []string{"ground", quality}, "tools_used": []string{"move"},
	}
}

// skill answers how to leave cellars below the house of the task: the warnings of that house's
// experiences, less ground that held, and the form of the calls that worked.
func skill(prompt string) object {
	house, advice, form := houseIn(prompt), newScene(), ""
	for block := range strings.SplitSeq(prompt, "experience ") {
		if strings.Contains(block, "below "+house+" ") {
			advice.heedLine(strings.ToLower(block))
		}
	}
	maps.DeleteFunc(advice.avoid, func(q string, _ bool) bool { return advice.hold[q] })
	if calls := colourIn.FindAllStringSubmatch(prompt, -1); len(calls) > 0 { // the last of a successful attempt opened the door
		form = formOf(calls[len(calls)-1][1:], nil)
	}
	s := procedure(house, slices.Sorted(maps.Keys(advice.avoid)), form)
	return object{"name": s.Name, "when_to_use": s.WhenToUse, "steps": s.Steps, "tools": s.Tools}
}

// procedure is the way out of cellars below a house.
func procedure(house string, avoid []string, form string) *task.Skill {
	s := &task.Skill{
		Name: "leave cellars below " + house, WhenToUse: "finding the way out of a cellar below " + house, Tools: []string{"move", "open_door"},
		Steps: []string{"Go the shortest way to the key, then to the door, then to the exit."},
	}
	for _, q := range avoid {
		s.Steps = append(s.Steps, "Do not step on "+q+" ground: go around it.")
	}
	if form != "" {
		s.Steps = append(s.Steps, "In calls of open_door write colour "+form+".")
	}
	return s
}

// contradictions answers which lessons contradict each other: ground that was walked on held,
// whatever the suspicion.
func contradictions(prompt string) object {
	type lesson struct {
		Index int
		When  string
		Text  string
	}
	held, out := map[string]int{}, []object{}
	var all []lesson
	for line := range strings.SplitSeq(prompt, "\n") {
		var l lesson
		if json.Unmarshal([]byte(line), &l) == nil && l.When != "" {
			if all = append(all, l); strings.Contains(l.Text, "holds") {
				held[l.When] = l.Index
			}
		}
	}
	for _, l := range all {
		if keep, ok := held[l.When]; ok && keep != l.Index {
			out = append(out, object{"op": "remove", "memories": []int{l.Index}, "keep": keep, "reason": "it was walked on without harm"})
		}
	}
	return object{"operations": out}
}

// judgements answers that an attempt bears out its lessons: the candidates stand under headings
// with their numbers.
func judgements(prompt string) object {
	out := []object{}
	for n := range strings.Count(prompt, "\ncandidate ") {
		out = append(out, object{"candidate": n + 1, "is_valid": true, "score": 1, "feedback": "The attempt bears it out."})
	}
	return object{"judgements": out}
}

// guideline answers how to call a tool: in the form of the argument's values that worked, unless
// failed ones share it. Each tool here has one argument. Each call stands on a line, with its score,
// or with what it says about a failure. The tool's name is a line of its own.
func guideline(prompt string) object {
	tool, argument := "", ""
	words := map[bool][]string{} // by whether the call worked
	for line := range strings.SplitSeq(prompt, "\n") {
		var c struct {
			Input  map[string]string
			Failed bool
			Class  string `json:"error_class"`
			Score  *float64
		}
		if tool == "" {
			_ = json.Unmarshal([]byte(line), &tool)
		}
		_ = json.Unmarshal([]byte(line), &c) // any other line has an empty input
		worked := !c.Failed && c.Class == ""
		if c.Score != nil {
			worked = *c.Score == 1
		}
		for name, word := range c.Input {
			argument = name
			words[worked] = append(words[worked], word)
		}
	}
	text := "Nothing sets calls that work apart from others so far."
	if form := formOf(words[true], words[false]); form != "" {
		text = fmt.Sprintf("In calls of %s write %s %s: only such calls worked.", tool, argument, form)
	}
	return object{"guideline": text}
}

// formOf names the form that all working words share and all failed words lack, or returns "".
func formOf(worked, failed []string) string {
	for _, f := range slices.Backward(forms) {
		written := func(word string) bool { return f.write(strings.ToLower(word)) == word }
		other := func(word string) bool { return !written(word) }
		if len(worked) > 0 && !slices.ContainsFunc(worked, other) && !slices.ContainsFunc(failed, written) {
			return f.name
		}
	}
	return ""
}
