// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// attempt is what the text of an attempt tells of places.
type attempt struct {
	sights map[string][]string // what a place was said to be like
	held   map[string]int      // how often ground that is like this was stood on without harm
	fatal  []string            // what the place was like at which it ended; nil: it ended otherwise
}

var (
	hereText  = regexp.MustCompile(`You are at (\(-?\d+,-?\d+\))`)
	sightText = regexp.MustCompile(`^\w+ (\(-?\d+,-?\d+\)): (.+)$`)
	triedText = regexp.MustCompile(`The ground at (\(-?\d+,-?\d+\)) holds`)
)

// read returns what a text tells, in whatever it is wrapped.
func read(text string) *attempt {
	a := &attempt{sights: map[string][]string{}, held: map[string]int{}}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if m := sightText.FindStringSubmatch(line); m != nil {
			a.sights[m[1]] = qualities(m[2])
		}
		if m := triedText.FindStringSubmatch(line); m != nil {
			a.hold(m[1])
		}
		if m := hereText.FindStringSubmatch(line); m != nil {
			a.arrive(m[1], line)
		}
	}
	return a
}

func (a *attempt) arrive(place, line string) {
	switch over := strings.Contains(line, "It is over"); {
	case over && !strings.Contains(line, "you are out"):
		a.fatal = a.sights[place]
	case !over:
		a.hold(place)
	}
}

func (a *attempt) hold(place string) {
	for _, q := range a.sights[place] {
		a.held[q]++
	}
}

// suspects are the qualities that may have ended the attempt.
func (a *attempt) suspects() []string {
	var out []string
	for _, q := range a.fatal {
		if a.held[q] == 0 {
			out = append(out, q)
		}
	}
	return out
}

// firm are the qualities of ground that held, those that were stood on most first.
func (a *attempt) firm() []string {
	all := slices.Sorted(maps.Keys(a.held))
	slices.SortStableFunc(all, func(x, y string) int { return a.held[y] - a.held[x] })
	return all
}

// qualities are the words before the noun: what is said of the last thing named.
func qualities(sight string) []string {
	if i := strings.LastIndex(sight, ", "); i >= 0 {
		sight = strings.TrimPrefix(sight[i+2:], "on ")
	}
	words := strings.Fields(sight)
	if len(words) < 2 || words[len(words)-1] != "ground" {
		return nil
	}
	return slices.DeleteFunc(words[:len(words)-1], func(w string) bool { return w == "plain" }) // that is no quality
}
