// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package player

import (
	"regexp"
	"slices"
	"strings"
)

// lessons is what texts say is to be done, in the words of everyday: the sentences
// that the player understands. It takes them from wherever they stand.
type lessons struct {
	avoid  []string // sorts of ground
	hold   []string // sorts of ground
	forms  []form   // of arguments
	bounds []bound  // of arguments
	care   bool     // inspect ground of a sort that is new
}

// form is how a text is to be written.
type form struct{ tool, argument, shape string }

// bound is how large a number may be.
type bound struct {
	tool, argument string
	n              int
	most           bool // else at least
}

// The patterns begin with plain words, and are looked for in small letters: that is how
// Go's expressions are fast, and each call reads everything anew.
var (
	avoidTexts = []*regexp.Regexp{
		regexp.MustCompile(`do not step on (\w+) ground`), regexp.MustCompile(`don't step on (\w+) ground`), regexp.MustCompile(`never step on (\w+) ground`),
	}
	formText  = regexp.MustCompile(`in calls of (\w+) write (\w+) (in capital letters|with a capital letter first|as its first letter alone|in small letters)`)
	boundText = regexp.MustCompile(`in calls of (\w+) keep (\w+) at (\d+) or (below|above)`)
)

const (
	holdsText = " ground holds"
	careText  = "inspect ground of a sort that you have not stood on"
)

// learn takes in what a text says.
func (l *lessons) learn(text string) {
	text = strings.ToLower(text)
	for _, form := range avoidTexts {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			l.avoid = append(l.avoid, m[1])
		}
	}
	for before, rest, found := strings.Cut(text, holdsText); found; before, rest, found = strings.Cut(rest, holdsText) {
		l.hold = append(l.hold, before[strings.LastIndexFunc(before, notLetter)+1:])
	}
	for _, m := range formText.FindAllStringSubmatch(text, -1) {
		l.forms = append(l.forms, form{m[1], m[2], m[3]})
	}
	for _, m := range boundText.FindAllStringSubmatch(text, -1) {
		l.bounds = append(l.bounds, bound{m[1], m[2], number(m[3]), m[4] == "below"})
	}
	l.care = l.care || strings.Contains(text, careText)
}

// warned reports whether ground of these words is to be avoided. Ground that is known
// to hold is not: one step on it without harm says more than a suspicion.
func (l *lessons) warned(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(l.avoid, w) && !slices.Contains(l.hold, w)
	})
}

// shapes are the ways to write a text that the player can think of, in the order in
// which it tries them.
var shapes = []struct {
	name string
	of   func(string) string
}{
	{"in small letters", strings.ToLower},
	{"with a capital letter first", func(s string) string { return strings.ToUpper(s[:1]) + strings.ToLower(s[1:]) }},
	{"in capital letters", strings.ToUpper},
	{"as its first letter alone", func(s string) string { return strings.ToLower(s[:1]) }},
}

// text returns how to write an argument: as lessons say, else in the next way that
// has not failed.
func (l *lessons) text(tool, argument, word string, failed []value) string {
	if word == "" {
		return word
	}
	var ways []string
	for _, f := range l.forms {
		for _, s := range shapes {
			if f.tool == tool && f.argument == argument && f.shape == s.name {
				ways = append(ways, s.of(word))
			}
		}
	}
	for _, s := range shapes {
		ways = append(ways, s.of(word))
	}
	for _, w := range ways {
		if !slices.Contains(failed, value(w)) {
			return w
		}
	}
	return word
}

// number returns the number to give: one that worked, else the largest that lessons
// allow, else the next around the middle that has not failed. It is 0 when all from 1
// to top have failed.
func (l *lessons) number(tool, argument string, top int, worked, failed []value) int {
	if len(worked) > 0 {
		return worked[len(worked)-1].number()
	}
	least, most := 1, top
	for _, b := range l.bounds {
		switch {
		case b.tool != tool || b.argument != argument:
		case b.most:
			most = min(most, b.n)
		default:
			least = max(least, b.n)
		}
	}
	tried := map[int]bool{}
	for _, v := range failed {
		tried[v.number()] = true
	}
	if least > 1 || most < top {
		for n := most; n >= least; n-- {
			if !tried[n] {
				return n
			}
		}
	}
	middle := (1 + top) / 2
	for away := range top {
		for _, n := range []int{middle - away, middle + away} {
			if n >= 1 && n <= top && !tried[n] {
				return n
			}
		}
	}
	return 0
}
