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
	"judge_experiences":   judgements,
	"task_duplicates":     decisions,
	"tool_guideline":      guideline,
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
	sights := map[point][]string{} // the sorts of ground that a place was said to be of
	held := map[string]int{}       // how often ground of a sort was stood on without harm
	var suspects []string          // the sorts of the place at which it ended
	hold := func(p point) {
		for _, q := range sights[p] {
			held[q]++
		}
	}
	for line := range strings.SplitSeq(section(prompt, "data-trajectory"), "\n") {
		v := view{}
		if json.Unmarshal([]byte(strings.TrimSpace(line)), &v) != nil {
			continue
		}
		switch {
		case v.Event == fell:
			suspects = slices.Clone(sights[v.At])
		case v.Ground != nil && v.Ground.Holds:
			hold(v.Ground.Where)
		case v.Near != nil:
			hold(v.At)
		}
		for _, p := range v.Near { // plain is no quality
			sights[p.Where] = slices.DeleteFunc(sorts(p.What), func(w string) bool { return w == "plain" })
		}
	}
	suspects = slices.DeleteFunc(suspects, func(q string) bool { return held[q] > 0 })
	out := []object{}
	for _, q := range suspects {
		out = append(out, experience(q, fmt.Sprintf("Do not step on %s ground: %s Go around it.", q, reason(len(suspects)))))
	}
	most := slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(held))), func(x, y string) int { return held[y] - held[x] })
	for _, q := range most {
		out = append(out, experience(q, strings.ToUpper(q[:1])+q[1:]+" ground holds: it was walked on without harm."))
	}
	return object{"experiences": out}
}

// reason says why ground is suspect.
func reason(suspects int) string {
	if suspects > 1 {
		return fmt.Sprintf("it may be what gave way under an attempt, which ended there: one of %d suspects.", suspects)
	}
	return "it gave way under an attempt, which ended there."
}

// experience is one thing that an attempt teaches, in the fields by which reme asks for it.
func experience(quality, text string) object {
	return object{
		"when_to_use": "choosing a way through a dark cellar where some ground is " + quality,
		"experience":  text, "tags": []string{"ground", quality}, "tools_used": []string{"move"},
	}
}

// numbered returns an answer for each part of a text under a heading with a number.
func numbered(text, heading string, answer func(n int, part string) object) []object {
	out := []object{}
	find := regexp.MustCompile(`(?m)^` + heading + ` (\d+)$`)
	headings, parts := find.FindAllStringSubmatch(text, -1), find.Split(text, -1)
	for i, m := range headings {
		out = append(out, answer(number(m[1]), parts[i+1]))
	}
	return out
}

// judgements answers that each candidate is worth keeping.
func judgements(prompt string) object {
	return object{"judgements": numbered(section(prompt, "data-candidates"), "candidate", func(n int, _ string) object {
		return object{"candidate": n, "is_valid": true, "score": 1, "feedback": "The attempt bears it out."}
	})}
}

// decisions answers which of pairs of experiences say the same of the same ground.
func decisions(prompt string) object {
	return object{"decisions": numbered(section(prompt, "data-pairs"), "pair", func(n int, pair string) object {
		decision := "distinct"
		fresh, known, _ := strings.Cut(strings.ToLower(pair), "\nknown\n")
		for _, advice := range []*regexp.Regexp{avoidAdvice, holdsAdvice} {
			a, b := advice.FindStringSubmatch(fresh), advice.FindStringSubmatch(known)
			if a != nil && b != nil && a[1] == b[1] {
				decision = "same"
			}
		}
		return object{"pair": n, "decision": decision}
	})}
}

// guideline answers how a tool is best called. No tool here has two arguments.
func guideline(prompt string) object {
	tool, argument := strings.Trim(section(prompt, "tool"), `"`), ""
	values := map[bool][]string{} // by whether the call failed
	for line := range strings.SplitSeq(section(prompt, "calls"), "\n") {
		var c struct {
			Input  object
			Failed bool
		}
		if json.Unmarshal([]byte(line), &c) != nil {
			continue // it says what is left out
		}
		for name, v := range c.Input {
			argument, values[c.Failed] = name, append(values[c.Failed], fmt.Sprint(v))
		}
	}
	text := rule(fmt.Sprintf("In calls of %s %%s %s", tool, argument), values[false], values[true])
	if text == "" {
		text = fmt.Sprintf("Nothing sets calls of %s that work apart from others so far.", tool)
	}
	return object{"guideline": text}
}

// rule says what the values that worked have in common and those that failed have not, or
// returns "". Its sentences begin as the format says, which lacks a verb.
func rule(format string, worked, failed []string) string {
	if len(worked) == 0 {
		return ""
	}
	if number(worked[0]) > 0 {
		return bounds(fmt.Sprintf(format, "keep"), numbers(worked), numbers(failed))
	}
	common := formOf(worked[0])
	other := func(v string) bool { return formOf(v) != common }
	if common == "" || slices.ContainsFunc(worked, other) || slices.ContainsFunc(failed, func(v string) bool { return !other(v) }) {
		return ""
	}
	return fmt.Sprintf(format+" %s: only such calls worked.", "write", common)
}

func numbers(values []string) (out []int) {
	for _, v := range values {
		out = append(out, number(v))
	}
	return out
}

// bounds says on which side of the numbers that failed are those that worked; if none
// failed, what worked so far.
func bounds(keep string, worked, failed []int) string {
	below := fmt.Sprintf("%s at %d or below", keep, slices.Max(worked))
	above := fmt.Sprintf("%s at %d or above", keep, slices.Min(worked))
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

// formOf says how a word is written, or returns "" for what no form writes.
func formOf(word string) form {
	for _, f := range slices.Backward(forms) {
		if f.write(strings.ToLower(word)) == word {
			return f
		}
	}
	return ""
}
