// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// history is what the text of an attempt says of places.
type history struct {
	sights map[point][]string // what a place was said to be like
	held   map[string]int     // how often ground that is like this was stood on without harm
	fatal  []string           // what the place was like at which it ended; nil: it ended otherwise
}

// readHistory returns what a text says, in whatever it is wrapped.
func readHistory(text string) *history {
	h := &history{sights: map[point][]string{}, held: map[string]int{}}
	hold := func(x, y string) {
		for _, q := range h.sights[point{number(x), number(y)}] {
			h.held[q]++
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if p, what, ok := sight(line); ok { // plain is no quality
			h.sights[p] = slices.DeleteFunc(ground(what), func(w string) bool { return w == "plain" })
		}
		if m := holdText.FindStringSubmatch(line); m != nil && m[3] == "holds" {
			hold(m[1], m[2])
		}
		m := hereText.FindStringSubmatch(line)
		switch over := strings.Contains(line, "It is over"); {
		case m == nil:
		case !over:
			hold(m[1], m[2])
		case !strings.Contains(line, "you are out"):
			h.fatal = h.sights[point{number(m[1]), number(m[2])}]
		}
	}
	return h
}

// suspects are the qualities that may have ended the attempt: those of the ground where
// it ended that did not hold, neither there nor in other attempts.
func (h *history) suspects(others ...*history) []string {
	return slices.DeleteFunc(slices.Clone(h.fatal), func(q string) bool {
		return slices.ContainsFunc(append(others, h), func(o *history) bool { return o.held[q] > 0 })
	})
}

// lesson is one thing that an attempt teaches, in the fields by which reme asks for it.
type lesson struct {
	WhenToUse  string   `json:"when_to_use"`
	Experience string   `json:"experience"`
	Tags       []string `json:"tags"`
	Confidence float64  `json:"confidence"`
	StepType   string   `json:"step_type"`
	ToolsUsed  []string `json:"tools_used"`
}

func newLesson(quality, experience, stepType string, confidence float64) lesson {
	return lesson{
		WhenToUse:  "choosing a way through a dark cellar where some ground is " + quality,
		Experience: experience, Tags: []string{"ground", quality}, Confidence: confidence, StepType: stepType, ToolsUsed: []string{"move"},
	}
}

// avoid is a lesson for each suspect.
func avoid(suspects []string) []lesson {
	out := []lesson{}
	for _, q := range suspects {
		why := "it gave way under an attempt, which ended there."
		if len(suspects) > 1 {
			why = fmt.Sprintf("it may be what gave way under an attempt, which ended there: one of %d suspects.", len(suspects))
		}
		out = append(out, newLesson(q, fmt.Sprintf("Do not step on %s ground: %s Go around it.", q, why), "decision", 1/float64(len(suspects))))
	}
	return out
}

// maxLessons is how many lessons one attempt teaches at most.
const maxLessons = 3

// lessons are what an attempt teaches: what to suspect first, then what held, the
// ground that was stood on most first.
func (h *history) lessons() []lesson {
	out := avoid(h.suspects())
	held := slices.Sorted(maps.Keys(h.held))
	slices.SortStableFunc(held, func(x, y string) int { return h.held[y] - h.held[x] })
	for _, q := range held {
		title := strings.ToUpper(q[:1]) + q[1:]
		out = append(out, newLesson(q, title+" ground holds: it was walked on without harm.", "observation", 1))
	}
	return out[:min(len(out), maxLessons)]
}

var suspectsText = regexp.MustCompile(`one of (\d+) suspects`)

// judge returns how likely a lesson is, 0 to 1: of several suspects each is as likely.
func judge(text string) float64 {
	if m := suspectsText.FindStringSubmatch(text); m != nil {
		return 1 / float64(number(m[1]))
	}
	return 1
}

// same reports whether two lessons say the same of the same ground.
func same(a, b string) bool {
	subject := func(text string) [2]string {
		text = strings.ToLower(text)
		var out [2]string
		if m := avoidLesson.FindStringSubmatch(text); m != nil {
			out[0] = m[1]
		}
		if m := holdsLesson.FindStringSubmatch(text); m != nil {
			out[1] = m[1]
		}
		return out
	}
	x, y := subject(a), subject(b)
	return x[0] != "" && x[0] == y[0] || x[1] != "" && x[1] == y[1]
}

// trial is what happened with one argument of a tool.
type trial struct{ worked, failed []string }

// rule returns a sentence with places for the tool and the argument, or "": what the
// calls that worked have in common and those that failed have not.
func (t *trial) rule() string {
	if len(t.worked) == 0 {
		return ""
	}
	if number(t.worked[0]) > 0 {
		return t.bounds()
	}
	common := shapeOf(t.worked[0])
	other := func(v string) bool { return shapeOf(v) != common }
	if common == "" || slices.ContainsFunc(t.worked, other) || slices.ContainsFunc(t.failed, func(v string) bool { return !other(v) }) {
		return ""
	}
	return "In calls of %s write %s " + common + ": only such calls worked."
}

// bounds says on which side of the numbers that failed are those that worked; if none
// failed, what worked so far.
func (t *trial) bounds() string {
	var worked, failed []int
	for _, v := range t.worked {
		worked = append(worked, number(v))
	}
	for _, v := range t.failed {
		failed = append(failed, number(v))
	}
	below := fmt.Sprintf("In calls of %%[1]s keep %%[2]s at %d or below", slices.Max(worked))
	above := fmt.Sprintf("In calls of %%[1]s keep %%[2]s at %d or above", slices.Min(worked))
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

// shapeOf says how a word is written, or "".
func shapeOf(word string) string {
	if strings.ToLower(word) == strings.ToUpper(word) { // no letters
		return ""
	}
	for _, s := range slices.Backward(shapes) {
		if s.of(word) == word {
			return s.name
		}
	}
	return ""
}

// guideline says how a tool is best called, a sentence an argument.
func guideline(tool string, trials map[string]*trial) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		if rule := trials[name].rule(); rule != "" {
			out = append(out, fmt.Sprintf(rule, tool, name))
		}
	}
	if len(out) == 0 {
		return fmt.Sprintf("Nothing sets calls of %s that work apart from others so far.", tool)
	}
	return strings.Join(out, " ")
}
