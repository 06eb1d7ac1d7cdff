// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package player

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
)

// action is a call of a tool.
type action struct {
	tool      string
	arguments map[string]any
}

func (a action) json() string {
	text, err := json.Marshal(a.arguments)
	if err != nil { // of texts and numbers: it cannot be
		return "{}"
	}
	return string(text)
}

// maxRadius is the largest radius that the scanner's description allows.
const maxRadius = 5

// next returns what to do now.
func (s *scene) next() action {
	if !s.looked {
		return action{tool: "look", arguments: map[string]any{}}
	}
	goal := s.goal()
	where, known := s.things[goal]
	switch {
	case goal == "door" && known && distance(s.at, where) == 1:
		colour := s.lessons.text("open_door", "colour", s.colour, s.failed["open_door.colour"])
		return action{"open_door", map[string]any{"colour": colour}}
	case !known && !s.scannedNear():
		if n := s.lessons.number("scan", "radius", maxRadius, s.worked["scan.radius"], s.failed["scan.radius"]); n > 0 {
			return action{"scan", map[string]any{"radius": n}}
		}
	}
	step := s.step(where, known)
	if s.lessons.care && s.strange(s.at.to(step)) {
		return action{"inspect", map[string]any{"direction": step.name}}
	}
	return action{"move", map[string]any{"direction": step.name}}
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

// scannedNear reports whether a scan from here would tell nothing new.
func (s *scene) scannedNear() bool {
	for p, r := range s.scanned {
		if distance(p, s.at) <= max(2, r) {
			return true
		}
	}
	return false
}

// strange reports whether ground is of a sort that nobody has stood on, or spoken of.
func (s *scene) strange(p point) bool {
	words, ok := ground(s.seen[p])
	if _, inspected := s.inspected[p]; !ok || inspected {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return !s.sorts[w] && !slices.Contains(s.lessons.hold, w)
	})
}

type direction struct {
	name   string
	dx, dy int
}

var directions = []direction{{"north", 0, -1}, {"east", 1, 0}, {"south", 0, 1}, {"west", -1, 0}}

func (p point) to(d direction) point { return point{p.x + d.dx, p.y + d.dy} }

func distance(a, b point) int { return max(a.x-b.x, b.x-a.x) + max(a.y-b.y, b.y-a.y) }

// The cost of going onto ground: what nobody has seen is a little dearer than what
// was seen to be ground, and what lessons warn of is the last resort.
const (
	costGround  = 10
	costUnseen  = 11
	costWarned  = 1000
	unreachable = 1 << 30
)

// cost returns what it costs to go to a place.
func (s *scene) cost(p point) int {
	if p.x < 0 || p.y < 0 || p.x >= s.width || p.y >= s.height {
		return unreachable
	}
	if holds, ok := s.inspected[p]; ok && !holds {
		return unreachable
	}
	sight, seen := s.seen[p]
	words, isGround := ground(sight)
	switch {
	case !seen:
		return costUnseen
	case sight == "wall" || strings.HasSuffix(sight, "closed") && !s.open:
		return unreachable
	case isGround && s.lessons.warned(words):
		return costWarned
	}
	return costGround
}

// step returns the direction of the first step on the cheapest way to a place; if it
// is not known, to the nearest place that nobody has seen.
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
		i := cheapest(open, costs)
		p := open[i]
		open = slices.Delete(open, i, i+1)
		if d, ok := first[p]; ok && arrived(p) {
			return d
		}
		for _, d := range order {
			next := p.to(d)
			cost := s.cost(next)
			if cost == unreachable {
				continue
			}
			if before, ok := costs[next]; ok && before <= costs[p]+cost {
				continue
			}
			if _, ok := costs[next]; !ok {
				open = append(open, next)
			}
			costs[next] = costs[p] + cost
			first[next] = d
			if p != s.at {
				first[next] = first[p]
			}
		}
	}
	return order[0] // nowhere to go
}

// cheapest returns the index of the first place with the lowest cost.
func cheapest(open []point, costs map[point]int) int {
	best := 0
	for i, p := range open {
		if costs[p] < costs[open[best]] {
			best = i
		}
	}
	return best
}

// order returns the directions in an order that follows from the words of the task:
// of equal ways the player takes another one at another attempt.
func (s *scene) order() []direction {
	h := fnv.New64a()
	h.Write([]byte(s.task))
	n := h.Sum64()
	left := slices.Clone(directions)
	var out []direction
	for len(left) > 0 {
		i := int(n % uint64(len(left)))
		n /= uint64(len(left))
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}
