// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
)

// teacher returns the model that learns, which answers what reme asks of a model. It reads
// the attempts and the calls that it is shown, and nothing else:
//
//   - When an attempt ended as a place was reached, what the place was said to be like
//     is suspect, less what was stood on in the same attempt without harm.
//   - What was stood on without harm holds.
//   - When calls of a tool with some values of its argument worked and with others
//     failed, it says how the former are written.
//
// It may be wrong: of two suspects one is innocent.
func teacher() *demomodel.Model { return &demomodel.Model{Answer: teach} }

type object = map[string]any

// answers are what the teacher can be asked, by the tool that the answer is given by.
var answers = map[string]func(prompt string) object{
	"extract_experiences": experiences,
	"judge_experiences":   judgements,
	"tool_guideline":      guideline,
}

// teach answers by the tool that it is offered.
func teach(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	for _, t := range tools {
		if answer := answers[t.Name]; answer != nil {
			return demomodel.Call("answer", t.Name, answer(in[len(in)-1].Content)), nil
		}
	}
	return nil, fmt.Errorf("%w: the teacher is offered no tool that it can answer by", backends.ErrInvalid)
}

// experiences answers what an attempt teaches: what to suspect first, then what held, the
// ground that was stood on most first. Each answer of a tool stands on a line.
func experiences(prompt string) object {
	s := newScene()
	for line := range strings.SplitSeq(prompt, "\n") {
		s.result("", strings.TrimSpace(line))
	}
	delete(s.stood, "plain") // is no quality
	out := []object{}
	for _, q := range sorts(s.seen[s.at]) {
		if s.over && q != "plain" && s.stood[q] == 0 {
			out = append(out, experience(q, "Do not step on "+q+" ground: it gave way under an attempt, which ended there. Go around it."))
		}
	}
	held := slices.Sorted(maps.Keys(s.stood))
	slices.SortStableFunc(held, func(x, y string) int { return s.stood[y] - s.stood[x] })
	for _, q := range held {
		out = append(out, experience(q, strings.ToUpper(q[:1])+q[1:]+" ground holds: it was walked on without harm."))
	}
	return object{"experiences": out}
}

// experience is one thing that an attempt teaches, in the fields by which reme asks for it.
func experience(quality, text string) object {
	return object{
		"when_to_use": "choosing a way through a dark cellar where some ground is " + quality,
		"experience":  text, "tags": []string{"ground", quality}, "tools_used": []string{"move"},
	}
}

// judgements answers that an attempt bears out what it taught: the candidates stand under
// headings with their numbers.
func judgements(prompt string) object {
	out := []object{}
	for n := range strings.Count(prompt, "\ncandidate ") {
		out = append(out, object{"candidate": n + 1, "is_valid": true, "score": 1, "feedback": "The attempt bears it out."})
	}
	return object{"judgements": out}
}

// guideline answers how a tool is best called: it says how the values of its argument that
// worked are written and those that failed are not. No tool here has two arguments. Each call
// stands on a line, with the score that reme gave it.
func guideline(prompt string) object {
	tool, argument := "", ""
	words := map[bool][]string{} // by whether the call worked
	for line := range strings.SplitSeq(prompt, "\n") {
		var c struct {
			Tool  string
			Input map[string]string
			Score float64
		}
		_ = json.Unmarshal([]byte(line), &c) // a line that is no call has no input
		for name, word := range c.Input {
			tool, argument = c.Tool, name
			words[c.Score == 1] = append(words[c.Score == 1], word)
		}
	}
	text := "Nothing sets calls that work apart from others so far."
	if form := formOf(words[true], words[false]); form != "" {
		text = fmt.Sprintf("In calls of %s write %s %s: only such calls worked.", tool, argument, form)
	}
	return object{"guideline": text}
}

// formOf names the form of all words that worked and of none that failed, or returns "".
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
