// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// teacher returns the model that learns, which answers what reme asks of a model. It reads
// the attempts and the calls that it is shown, and nothing else:
//
//   - When an attempt ended as a place was reached, what the place was said to be like
//     is suspect, less what was stood on in the same attempt without harm.
//   - What was stood on without harm holds.
//   - When calls of a tool with some values of its argument worked and with others
//     failed, it says what the former have in common: a range, a way to write.
//
// It may be wrong: of two suspects one is innocent.
func teacher() *scripted { return &scripted{answer: teach} }

type object = map[string]any

// answers are what the teacher can be asked, by the tool that the answer is given by.
var answers = map[string]func(prompt string) object{
	"extract_experiences": experiences,
	"judge_experiences": func(prompt string) object {
		return numbered(prompt, "candidate", "judgements", object{"is_valid": true, "score": 1, "feedback": "The attempt bears it out."})
	},
	"task_duplicates": func(prompt string) object { // of the same ground it says the same words, which reme knows by itself
		return numbered(prompt, "pair", "decisions", object{"decision": "distinct"})
	},
	"tool_guideline": guideline,
}

// teach answers by the last tool that it is offered.
func teach(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	name := ""
	if len(tools) > 0 {
		name = tools[len(tools)-1].Name
	}
	answer := answers[name]
	if answer == nil || len(in) == 0 {
		return nil, fmt.Errorf("%w: the teacher cannot answer by tool %q", backends.ErrInvalid, name)
	}
	arguments, err := json.Marshal(answer(in[len(in)-1].Content))
	return call("answer", name, string(arguments)), err
}

// section returns the material between the tags of a name, which stand on lines of
// their own.
func section(prompt, name string) string {
	_, rest, _ := strings.Cut("\n"+prompt, "\n<"+name+">\n")
	text, _, _ := strings.Cut("\n"+rest, "\n</"+name+">")
	return strings.TrimPrefix(text, "\n")
}

// experiences answers what an attempt teaches: what to suspect first, then what held, the
// ground that was stood on most first. Each answer of a tool stands on a line.
func experiences(prompt string) object {
	s := newScene()
	for line := range strings.SplitSeq(section(prompt, "data-trajectory"), "\n") {
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

// numbered gives the same answer for each part of a prompt, which stands under a heading
// with a number.
func numbered(prompt, heading, name string, answer object) object {
	out := []object{}
	for _, m := range regexp.MustCompile(`(?m)^`+heading+` (\d+)$`).FindAllStringSubmatch(prompt, -1) {
		one := maps.Clone(answer)
		one[heading] = number(m[1])
		out = append(out, one)
	}
	return object{name: out}
}

// guideline answers how a tool is best called: it says what the values of its argument
// that worked have in common and those that failed have not. No tool here has two
// arguments.
func guideline(prompt string) object {
	argument, numbers, words := "", map[bool][]float64{}, map[bool][]string{} // by whether the call failed
	for line := range strings.SplitSeq(section(prompt, "calls"), "\n") {
		var c struct {
			Input  object
			Failed bool
		}
		_ = json.Unmarshal([]byte(line), &c) // a line that is no call says what is left out
		for name, v := range c.Input {
			argument = name
			switch v := v.(type) {
			case float64:
				numbers[c.Failed] = append(numbers[c.Failed], v)
			case string:
				words[c.Failed] = append(words[c.Failed], v)
			}
		}
	}
	tool := strings.Trim(section(prompt, "tool"), `"`)
	text := bounds(fmt.Sprintf("In calls of %s keep %s", tool, argument), numbers[false], numbers[true])
	if name := formOf(words[false], words[true]); name != "" {
		text = fmt.Sprintf("In calls of %s write %s %s: only such calls worked.", tool, argument, name)
	}
	return object{"guideline": cmp.Or(text, fmt.Sprintf("Nothing sets calls of %s that work apart from others so far.", tool))}
}

// bounds says on which side of the numbers that failed are those that worked; if none
// failed, what worked so far. It returns "" where neither can be said.
func bounds(keep string, worked, failed []float64) string {
	if len(worked) == 0 {
		return ""
	}
	below := fmt.Sprintf("%s at %g or below", keep, slices.Max(worked))
	above := fmt.Sprintf("%s at %g or above", keep, slices.Min(worked))
	switch {
	case len(failed) == 0:
		return below + ". " + above + ": all such calls worked."
	case slices.Min(failed) > slices.Max(worked):
		return below + ": larger ones failed."
	case slices.Max(failed) < slices.Min(worked):
		return above + ": smaller ones failed."
	}
	return ""
}

// formOf names the form of all words that worked and of none that failed, or returns "".
func formOf(worked, failed []string) string {
	for _, f := range slices.Backward(forms) {
		written := func(word string) bool { return f.write(strings.ToLower(word)) == word }
		if slices.ContainsFunc(worked, written) && !slices.ContainsFunc(worked, func(w string) bool { return !written(w) }) && !slices.ContainsFunc(failed, written) {
			return f.name
		}
	}
	return ""
}
