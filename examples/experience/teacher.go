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
//   - When calls of a tool with some values of an argument worked and with others
//     failed, it says what the former have in common: a range, a way to write.
//
// It may be wrong: of two suspects one is innocent.
func teacher() *scripted { return &scripted{answer: teach} }

// answers are what the teacher can be asked, by the tool that the answer is given by.
var answers = map[string]func(prompt string) object{
	"extract_experiences": experiences,
	"judge_experiences":   judgements,
	"task_duplicates":     decisions,
	"tool_guideline":      guidelines,
	"tool_judge":          scores,
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
	return call("answer", name, answer(in[len(in)-1].Content))
}

// section returns the material between the tags of a name, which stand on lines of
// their own.
func section(prompt, name string) string {
	_, rest, _ := strings.Cut("\n"+prompt, "\n<"+name+">\n")
	text, _, _ := strings.Cut("\n"+rest, "\n</"+name+">")
	return strings.TrimPrefix(text, "\n")
}

// history is what the text of an attempt says of places.
type history struct {
	sights map[point][]string // the sorts of ground that a place was said to be of
	held   map[string]int     // how often ground of a sort was stood on without harm
	fatal  []string           // the sorts of the place at which it ended; nil: it ended otherwise
}

// readHistory returns what a text says: each answer of a tool stands on a line.
func readHistory(text string) *history {
	h := &history{sights: map[point][]string{}, held: map[string]int{}}
	for line := range strings.SplitSeq(text, "\n") {
		v := viewOf(strings.TrimSpace(line))
		switch {
		case v == nil:
			continue
		case v.Event == fell:
			h.fatal = h.sights[v.At]
		case v.Ground != nil && v.Ground.Holds:
			h.hold(v.Ground.Where)
		case v.Near != nil:
			h.hold(v.At)
		}
		for _, p := range v.Near { // plain is no quality
			h.sights[p.Where] = slices.DeleteFunc(sorts(p.What), func(w string) bool { return w == "plain" })
		}
	}
	return h
}

func (h *history) hold(p point) {
	for _, q := range h.sights[p] {
		h.held[q]++
	}
}

// suspects are the sorts that may have ended the attempt: those of the ground where it
// ended that did not hold, neither there nor in other attempts.
func (h *history) suspects(others ...*history) []string {
	return slices.DeleteFunc(slices.Clone(h.fatal), func(q string) bool {
		return slices.ContainsFunc(append(others, h), func(o *history) bool { return o.held[q] > 0 })
	})
}

// maxLessons is how many lessons one attempt teaches at most.
const maxLessons = 3

// experiences answers what an attempt teaches: what to suspect first, then what held, the
// ground that was stood on most first. Two at the same task teach what to suspect alone.
func experiences(prompt string) object {
	if worse := section(prompt, "data-worse"); worse != "" {
		return object{"experiences": avoid(readHistory(worse).suspects(readHistory(section(prompt, "data-better"))))}
	}
	h := readHistory(section(prompt, "data-trajectory"))
	out := avoid(h.suspects())
	held := slices.Sorted(maps.Keys(h.held))
	slices.SortStableFunc(held, func(x, y string) int { return h.held[y] - h.held[x] })
	for _, q := range held {
		title := strings.ToUpper(q[:1]) + q[1:]
		out = append(out, newLesson(q, title+" ground holds: it was walked on without harm.", "observation", 1))
	}
	return object{"experiences": out[:min(len(out), maxLessons)]}
}

// avoid is a lesson for each suspect.
func avoid(suspects []string) []object {
	out := []object{}
	for _, q := range suspects {
		why := "it gave way under an attempt, which ended there."
		if len(suspects) > 1 {
			why = fmt.Sprintf("it may be what gave way under an attempt, which ended there: one of %d suspects.", len(suspects))
		}
		out = append(out, newLesson(q, fmt.Sprintf("Do not step on %s ground: %s Go around it.", q, why), "decision", 1/float64(len(suspects))))
	}
	return out
}

// newLesson is one thing that an attempt teaches, in the fields by which reme asks for it.
func newLesson(quality, experience, stepType string, confidence float64) object {
	return object{
		"when_to_use": "choosing a way through a dark cellar where some ground is " + quality,
		"experience":  experience, "tags": []string{"ground", quality}, "confidence": confidence, "step_type": stepType, "tools_used": []string{"move"},
	}
}

var (
	candidateText = regexp.MustCompile(`(?m)^candidate (\d+)$`)
	pairText      = regexp.MustCompile(`(?m)^pair (\d+)$`)
	suspectsText  = regexp.MustCompile(`one of (\d+) suspects`)
)

// numbered returns an answer for each part of a text under a heading with a number.
func numbered(text string, heading *regexp.Regexp, answer func(n int, part string) object) []object {
	out := []object{}
	headings, parts := heading.FindAllStringSubmatch(text, -1), heading.Split(text, -1)
	for i, m := range headings {
		out = append(out, answer(number(m[1]), parts[i+1]))
	}
	return out
}

// judgements answers how likely each candidate is: of several suspects each is as likely.
func judgements(prompt string) object {
	return object{"judgements": numbered(section(prompt, "data-candidates"), candidateText, func(n int, candidate string) object {
		score := 1.0
		if m := suspectsText.FindStringSubmatch(candidate); m != nil {
			score = 1 / float64(number(m[1]))
		}
		return object{"candidate": n, "is_valid": true, "score": score, "feedback": fmt.Sprintf("supported by %.2f", score)}
	})}
}

// decisions answers which of pairs of experiences say the same of the same ground.
func decisions(prompt string) object {
	return object{"decisions": numbered(section(prompt, "data-pairs"), pairText, func(n int, pair string) object {
		decision := "distinct"
		fresh, known, _ := strings.Cut(strings.ToLower(pair), "\nknown\n")
		for _, lesson := range []*regexp.Regexp{avoidLesson, holdsLesson} {
			a, b := lesson.FindStringSubmatch(fresh), lesson.FindStringSubmatch(known)
			if a != nil && b != nil && a[1] == b[1] {
				decision = "same"
			}
		}
		return object{"pair": n, "decision": decision}
	})}
}

// shownCall is a call as tool memory shows it.
type shownCall struct {
	N      int    `json:"n"`
	Input  object `json:"input"`
	Failed bool   `json:"failed"`
}

// shownCalls returns the calls of a prompt. Lines that are none say what is left out.
func shownCalls(prompt string) (out []shownCall) {
	for line := range strings.SplitSeq(section(prompt, "calls"), "\n") {
		var c shownCall
		if json.Unmarshal([]byte(line), &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// scores answers whether each call served: whether it did not fail.
func scores(prompt string) object {
	out := []object{}
	for _, c := range shownCalls(prompt) {
		score := object{"n": c.N, "score": 1, "summary": "It worked.", "evaluation": "It answered."}
		if c.Failed {
			score = object{"n": c.N, "score": 0, "summary": "It failed.", "evaluation": "It did not answer."}
		}
		out = append(out, score)
	}
	return object{"judgements": out}
}

// trial is what happened with one argument of a tool.
type trial struct{ worked, failed []string }

// guidelines answers how a tool is best called, a sentence an argument.
func guidelines(prompt string) object {
	trials := map[string]*trial{}
	for _, c := range shownCalls(prompt) {
		for name, v := range c.Input {
			if trials[name] == nil {
				trials[name] = &trial{}
			}
			list := &trials[name].worked
			if c.Failed {
				list = &trials[name].failed
			}
			*list = append(*list, fmt.Sprint(v))
		}
	}
	tool := strings.Trim(section(prompt, "tool"), `"`)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		if rule := trials[name].rule(tool, name); rule != "" {
			out = append(out, rule)
		}
	}
	if len(out) == 0 {
		out = []string{fmt.Sprintf("Nothing sets calls of %s that work apart from others so far.", tool)}
	}
	return object{"guideline": strings.Join(out, " ")}
}

// rule says what the calls that worked have in common and those that failed have not, or
// returns "".
func (t *trial) rule(tool, argument string) string {
	if len(t.worked) == 0 {
		return ""
	}
	if number(t.worked[0]) > 0 {
		return t.bounds(fmt.Sprintf("In calls of %s keep %s at ", tool, argument))
	}
	common := formOf(t.worked[0])
	other := func(v string) bool { return formOf(v) != common }
	if common == "" || slices.ContainsFunc(t.worked, other) || slices.ContainsFunc(t.failed, func(v string) bool { return !other(v) }) {
		return ""
	}
	return fmt.Sprintf("In calls of %s write %s %s: only such calls worked.", tool, argument, common)
}

// bounds says on which side of the numbers that failed are those that worked; if none
// failed, what worked so far.
func (t *trial) bounds(keep string) string {
	var worked, failed []int
	for _, v := range t.worked {
		worked = append(worked, number(v))
	}
	for _, v := range t.failed {
		failed = append(failed, number(v))
	}
	below := fmt.Sprintf("%s%d or below", keep, slices.Max(worked))
	above := fmt.Sprintf("%s%d or above", keep, slices.Min(worked))
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
		if f.write(strings.ToLower(word)) == word && strings.ToLower(word) != strings.ToUpper(word) {
			return f
		}
	}
	return ""
}
