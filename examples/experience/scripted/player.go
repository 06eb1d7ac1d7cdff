// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Player returns the model that plays.
func Player() *Model { return &Model{name: "player", answer: play, calls: &atomic.Int64{}} }

// play returns the next call, or, when the attempt is over, a last word.
func play(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	s := read(in)
	for _, t := range tools {
		s.learn(t.Desc)
	}
	switch {
	case s.task == "":
		return nil, fmt.Errorf("%w: no message says how large the cellar is", backends.ErrInvalid)
	case s.out:
		return schema.AssistantMessage("I am out.", nil), nil
	case s.over:
		return schema.AssistantMessage("I did not get out.", nil), nil
	}
	tool, arguments := s.next()
	return call(fmt.Sprintf("call-%08x-%d", hash(s.task)>>32, len(in)), tool, arguments), nil
}

// next returns the tool to call now, and its arguments as JSON.
func (s *scene) next() (tool, arguments string) {
	if !s.looked {
		return "look", "{}"
	}
	goal := s.goal()
	where, known := s.things[goal]
	if goal == "door" && known && distance(s.at, where) == 1 {
		return "open_door", fmt.Sprintf(`{"colour":%q}`, s.colourToSay())
	}
	if !known && !s.scannedNear() {
		if n := s.radius(); n > 0 {
			return "scan", fmt.Sprintf(`{"radius":%d}`, n)
		}
	}
	step := s.step(where, known)
	tool = "move"
	if s.careful && s.strange(s.at.to(step)) {
		tool = "inspect"
	}
	return tool, fmt.Sprintf(`{"direction":%q}`, step.name)
}

// goal is the thing to go to.
func (s *scene) goal() string {
	switch {
	case !s.hasKey:
		return "key"
	case !s.open:
		return "door"
	}
	return "exit"
}

// shapes are the ways to write a word that the models know, in the order in which the
// player tries them.
var shapes = []struct {
	name string
	of   func(string) string
}{
	{"in small letters", strings.ToLower},
	{"with a capital letter first", func(s string) string { return strings.ToUpper(s[:1]) + strings.ToLower(s[1:]) }},
	{"in capital letters", strings.ToUpper},
	{"as its first letter alone", func(s string) string { return strings.ToLower(s[:1]) }},
}

// colourToSay returns the colour of the door as lessons say to write it, else in the
// next way that has not failed.
func (s *scene) colourToSay() string {
	var advised, all []string
	for _, shape := range shapes {
		way := shape.of(s.colour)
		all = append(all, way)
		if slices.Contains(s.shapes, shape.name) {
			advised = append(advised, way)
		}
	}
	for _, way := range append(advised, all...) {
		if !slices.Contains(s.failed["open_door"], way) {
			return way
		}
	}
	return s.colour
}

// maxRadius is the largest radius that the scanner's description allows.
const maxRadius = 5

// radius returns the radius to scan: one that worked, else the largest that lessons
// allow, else the next around the middle that has not failed. It is 0 when all have.
func (s *scene) radius() int {
	if worked := s.worked["scan"]; len(worked) > 0 {
		return number(worked[len(worked)-1])
	}
	failed := func(n int) bool { return slices.Contains(s.failed["scan"], strconv.Itoa(n)) }
	if s.least > 1 || s.most < maxRadius {
		for n := s.most; n >= s.least; n-- {
			if !failed(n) {
				return n
			}
		}
	}
	for _, n := range []int{3, 2, 4, 1, 5} {
		if !failed(n) {
			return n
		}
	}
	return 0
}

// scannedNear reports whether a scan from here would say nothing new.
func (s *scene) scannedNear() bool {
	for p, r := range s.scanned {
		if distance(p, s.at) <= max(2, r) {
			return true
		}
	}
	return false
}

// strange reports whether ground is of a sort that was neither stood on nor said to hold.
func (s *scene) strange(p point) bool {
	if _, inspected := s.inspected[p]; inspected {
		return false
	}
	return slices.ContainsFunc(ground(s.seen[p]), func(w string) bool { return !s.sorts[w] && !s.hold[w] })
}

// warned reports whether lessons say to avoid such ground. Ground that is known to hold
// is not: one step on it without harm says more than a suspicion.
func (s *scene) warned(sight string) bool {
	return slices.ContainsFunc(ground(sight), func(w string) bool { return s.avoid[w] && !s.hold[w] })
}

// The cost of going onto ground: a place not seen yet is a little dearer than what was
// seen to be ground, and what lessons warn of is the last resort.
const (
	costGround  = 10
	costUnseen  = 11
	costWarned  = 1000
	unreachable = 1 << 30
)

func (s *scene) cost(p point) int {
	if p.x < 0 || p.y < 0 || p.x >= s.width || p.y >= s.height {
		return unreachable
	}
	if holds, ok := s.inspected[p]; ok && !holds {
		return unreachable
	}
	sight, seen := s.seen[p]
	switch {
	case !seen:
		return costUnseen
	case sight == "wall" || strings.HasSuffix(sight, "closed") && !s.open:
		return unreachable
	case s.warned(sight):
		return costWarned
	}
	return costGround
}

// step returns the direction of the first step on the cheapest way to a place, or, if
// it is not known, to the nearest place not seen yet.
func (s *scene) step(to point, known bool) direction {
	arrived := func(p point) bool {
		if known {
			return p == to || s.goal() == "door" && distance(p, to) == 1
		}
		_, seen := s.seen[p]
		return !seen && p != s.at
	}
	order := s.order()
	costs := map[point]int{s.at: 0}
	first := map[point]direction{}
	for open := []point{s.at}; len(open) > 0; {
		p := slices.MinFunc(open, func(a, b point) int { return costs[a] - costs[b] }) // the first of equals
		open = slices.DeleteFunc(open, func(q point) bool { return q == p })
		if d, ok := first[p]; ok && arrived(p) {
			return d
		}
		for _, d := range order {
			next := p.to(d)
			cost := s.cost(next)
			before, queued := costs[next]
			if cost == unreachable || queued && before <= costs[p]+cost {
				continue
			}
			if !queued {
				open = append(open, next)
			}
			costs[next], first[next] = costs[p]+cost, d
			if p != s.at {
				first[next] = first[p]
			}
		}
	}
	return order[0] // nowhere to go
}

// order returns the directions in an order that follows from the words of the task: of
// equal ways the player takes another one at another attempt.
func (s *scene) order() []direction {
	n, left := hash(s.task), slices.Clone(directions)
	var out []direction
	for len(left) > 0 {
		i := int(n % uint64(len(left)))
		n /= uint64(len(left))
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
