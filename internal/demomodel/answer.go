// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"fmt"
	"slices"
	"strings"
)

// What a clause must have to be an answer, and what counts as nearly as good.
const (
	minCoverage = 0.5 // more than this share of what the question asks about
	nearTie     = 0.2 // the later of two clauses that differ by less is the answer
	fitBonus    = 0.25
	nearSubject = 4 // how far, in words, a light word may stand from its subject
	maxListed   = 5
)

// phrases are what the model says itself.
var phrases = map[bool]struct{ noted, unknown, told, also, read string }{
	false: {"Noted.", "I don't know: you have not told me.", `You told me: "%s"`, `You also told me: "%s"`, `I have read: "%s"`},
	true:  {"好的，记住了。", "我不知道，你还没有告诉过我。", "你告诉过我：“%s”", "你还告诉过我：“%s”", "我读到：“%s”"},
}

// isOwn reports whether a text is one that this model said.
func isOwn(text string) bool {
	for _, p := range phrases {
		for _, own := range []string{p.noted, p.unknown, p.told, p.also, p.read} {
			own, _, _ = strings.Cut(own, "%s")
			if strings.HasPrefix(text, own) {
				return true
			}
		}
	}
	return false
}

// reply answers the questions in what the user said, or acknowledges it.
func (c *conversation) reply() string {
	say := phrases[isHan(c.said)]
	asked := questions(c.said)
	if len(asked) == 0 {
		return say.noted
	}
	var out []string
	for _, q := range asked {
		found := c.find(parseQuestion(q))
		if len(found) == 0 {
			out = append(out, say.unknown)
		}
		for i, f := range found {
			format := say.told
			if i > 0 {
				format = say.also
			}
			out = append(out, fmt.Sprintf(format, f.text))
		}
	}
	return strings.Join(slices.Compact(out), " ")
}

type scored struct {
	clause
	score float64
}

// find returns the clause that answers q, and further ones only where a clause
// says itself that it adds to an earlier one.
func (c *conversation) find(q *question) []clause {
	var fit []scored
	for _, cl := range c.evidence {
		if s, ok := q.score(cl); ok {
			fit = append(fit, scored{cl, s})
		}
	}
	if len(fit) == 0 {
		return nil
	}
	best := slices.MaxFunc(fit, func(a, b scored) int { return compare(a.score, b.score) }).score
	fit = slices.DeleteFunc(fit, func(s scored) bool { return best-s.score >= nearTie })
	slices.SortStableFunc(fit, func(a, b scored) int { return -later(a, b) })
	fit = slices.CompactFunc(fit, func(a, b scored) bool { return strings.EqualFold(a.text, b.text) })
	var out []clause
	for _, s := range fit {
		out = append(out, s.clause)
		if !q.all && !adds(s.clause) || len(out) == maxListed {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// later orders by time, then by fit, then by the order of the conversation. Of
// what memory knows to be of one minute, news is later than how things were.
func later(a, b scored) int {
	if n := strings.Compare(a.date, b.date); n != 0 {
		return n
	}
	if a.date == "9999" { // of one conversation
		return a.order - b.order
	}
	if a, b := changes(a.clause), changes(b.clause); a != b {
		return map[bool]int{true: 1, false: -1}[a]
	}
	if n := compare(a.score, b.score); n != 0 {
		return n
	}
	return b.order - a.order // memory brings the best first
}

func compare(a, b float64) int {
	switch {
	case a-b > 1e-9:
		return 1
	case b-a > 1e-9:
		return -1
	}
	return 0
}
