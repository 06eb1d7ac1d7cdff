// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// lesson is one thing that an attempt teaches, in the fields by which reme asks for it.
type lesson struct {
	WhenToUse  string   `json:"when_to_use"`
	Experience string   `json:"experience"`
	Tags       []string `json:"tags"`
	Confidence float64  `json:"confidence"`
	StepType   string   `json:"step_type"`
	ToolsUsed  []string `json:"tools_used"`
}

// most is how many lessons are drawn from one attempt.
const most = 3

// avoid is the lesson that ground does not hold, one of so many suspects.
func avoid(quality string, suspects int) lesson {
	why := "it gave way under an attempt, which ended there."
	if suspects > 1 {
		why = fmt.Sprintf("it may be what gave way under an attempt, which ended there: one of %d suspects.", suspects)
	}
	return lesson{
		WhenToUse:  "choosing a way through a dark cellar where some ground is " + quality,
		Experience: fmt.Sprintf("Do not step on %s ground: %s Go around it.", quality, why),
		Tags:       []string{"ground", quality}, Confidence: 1 / float64(suspects), StepType: "decision", ToolsUsed: []string{"move"},
	}
}

// holds is the lesson that ground holds.
func holds(quality string) lesson {
	return lesson{
		WhenToUse:  "choosing a way through a dark cellar where some ground is " + quality,
		Experience: titled(quality) + " ground holds: it was walked on without harm.",
		Tags:       []string{"ground", quality}, Confidence: 1, StepType: "observation", ToolsUsed: []string{"move"},
	}
}

func titled(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// lessons are what an attempt teaches: what to suspect first, then what held.
func (a *attempt) lessons() []lesson {
	var out []lesson
	suspects := a.suspects()
	for _, q := range suspects {
		out = append(out, avoid(q, len(suspects)))
	}
	for _, q := range a.firm() {
		out = append(out, holds(q))
	}
	return out[:min(len(out), most)]
}

// compare returns what the worse of two attempts at a task teaches in the light of
// the better one.
func compare(better, worse *attempt) []lesson {
	var left []string
	for _, q := range worse.suspects() {
		if better.held[q] == 0 {
			left = append(left, q)
		}
	}
	var out []lesson
	for _, q := range left {
		out = append(out, avoid(q, len(left)))
	}
	return out
}

var (
	avoidText = regexp.MustCompile(`(?i)do not step on (\w+) ground`)
	holdsText = regexp.MustCompile(`(?i)(\w+) ground holds`)
)

// judge returns how well what taught a lesson bears it out, 0 to 1.
func judge(text, better, worse string) float64 {
	good, a := read(better), read(worse)
	if m := avoidText.FindStringSubmatch(text); m != nil {
		suspects := slices.DeleteFunc(a.suspects(), func(q string) bool { return good.held[q] > 0 })
		if slices.Contains(suspects, strings.ToLower(m[1])) {
			return 1 / float64(len(suspects))
		}
	}
	if m := holdsText.FindStringSubmatch(text); m != nil && a.held[strings.ToLower(m[1])]+good.held[strings.ToLower(m[1])] > 0 {
		return 1
	}
	return 0
}

// same reports whether two lessons say the same of the same ground.
func same(a, b string) bool {
	for _, form := range []*regexp.Regexp{avoidText, holdsText} {
		x, y := form.FindStringSubmatch(a), form.FindStringSubmatch(b)
		if x != nil && y != nil && strings.EqualFold(x[1], y[1]) {
			return true
		}
	}
	return false
}
