// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// What a call takes of the visitor's strength.
const (
	costStep    = 1 // a move or a look
	costScan    = 2
	costInspect = 2
	costFailure = 4 // a call that fails
)

// visit is one attempt at a cellar. Its methods are what a visitor can do; each returns
// what there is to see afterwards. It is for one goroutine.
type visit struct {
	*cellar
	at       point
	left     int // strength
	hasKey   bool
	open     bool // the door
	over     bool
	out      bool
	steps    int // calls
	failures int // calls that failed
}

func (c *cellar) visit() *visit { return &visit{cellar: c, at: c.start, left: c.strength} }

// score is 1 for a visitor who got out, else 0.
func (v *visit) score() float64 {
	if v.out {
		return 1
	}
	return 0
}

const (
	ended     = "It is over."
	exhausted = "No strength is left. " + ended
)

// spend takes the cost of a call, and reports whether the call can be made.
func (v *visit) spend(cost int) bool {
	if v.over {
		return false
	}
	v.steps++
	v.left -= cost
	v.over = v.left < 0
	return !v.over
}

// fail ends a call that fails: it has cost something already. The reason says that
// something is wrong, not what would be right.
func (v *visit) fail(spent int, reason string) (string, error) {
	v.failures++
	v.left -= costFailure - spent
	if v.left < 0 {
		v.over = true
		return "", fmt.Errorf("%s. %s", reason, exhausted)
	}
	return "", fmt.Errorf("%s. Strength %d", reason, v.left)
}

func (v *visit) look() (string, error) {
	if !v.spend(costStep) {
		return exhausted, nil
	}
	return v.see(""), nil
}

// move goes one cell.
func (v *visit) move(to string) (string, error) {
	i := slices.IndexFunc(directions, func(d direction) bool { return d.name == to })
	switch {
	case !v.spend(costStep):
		return exhausted, nil
	case i < 0:
		return v.fail(costStep, "a direction is north, east, south or west")
	}
	next := v.at.to(directions[i])
	if v.wallAt(next) || next == v.door && !v.open {
		return v.see("There is no way " + to + ". "), nil
	}
	v.at = next
	switch {
	case v.pitAt(v.at):
		v.over = true
		return fmt.Sprintf("You are at %s. The ground gives way and you fall into a pit. %s", v.at, ended), nil
	case v.at == v.exit:
		v.over, v.out = true, true
		return fmt.Sprintf("You are at %s. This is the exit: you are out. %s", v.at, ended), nil
	case v.at == v.key && !v.hasKey:
		v.hasKey = true
		return v.see("You take the key. "), nil
	}
	return v.see(""), nil
}

// inspect says whether the ground next to the visitor holds.
func (v *visit) inspect(where string) (string, error) {
	i := slices.IndexFunc(directions, func(d direction) bool { return d.name == where })
	switch {
	case !v.spend(costInspect):
		return exhausted, nil
	case i < 0:
		return v.fail(costInspect, "a direction is north, east, south or west")
	}
	at, finding := v.at.to(directions[i]), "holds"
	if v.pitAt(at) {
		finding = "would give way"
	}
	return fmt.Sprintf("The ground at %s %s. Strength %d.", at, finding, v.left), nil
}

// scan says where things are that are no further away than radius, to any side.
func (v *visit) scan(radius int) (string, error) {
	switch {
	case !v.spend(costScan):
		return exhausted, nil
	case radius < 1 || radius > maxRadius:
		return v.fail(costScan, fmt.Sprintf("a radius is 1 to %d", maxRadius))
	case radius < v.rules.least || radius > v.rules.most:
		return v.fail(costScan, "the scanner timed out")
	}
	var found []string
	for _, thing := range []struct {
		name string
		at   point
		gone bool
	}{{"key", v.key, v.hasKey}, {"door", v.door, v.open}, {"exit", v.exit, false}} {
		if !thing.gone && max(abs(thing.at.x-v.at.x), abs(thing.at.y-v.at.y)) <= radius {
			found = append(found, thing.name+" at "+thing.at.String())
		}
	}
	if len(found) == 0 {
		found = []string{"nothing"}
	}
	return fmt.Sprintf("Within %d of %s: %s. Strength %d.", radius, v.at, strings.Join(found, ", "), v.left), nil
}

// openDoor opens the door next to the visitor.
func (v *visit) openDoor(colour string) (string, error) {
	switch {
	case !v.spend(costStep):
		return exhausted, nil
	case v.open || abs(v.at.x-v.door.x)+abs(v.at.y-v.door.y) != 1:
		return v.fail(costStep, "there is no closed door next to you")
	case !v.hasKey:
		return v.fail(costStep, "you have no key")
	case colour != v.rules.form.of(v.colour):
		return v.fail(costStep, "the lock does not know this colour")
	}
	v.open = true
	return fmt.Sprintf("The %s door is open. Strength %d.", v.colour, v.left), nil
}

// see describes what is next to the visitor.
func (v *visit) see(event string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are at %s. %sStrength %d.", v.at, event, v.left)
	for _, d := range directions {
		fmt.Fprintf(&b, "\n%s %s: %s", d.name, v.at.to(d), v.sight(v.at.to(d)))
	}
	return b.String()
}

func (v *visit) sight(p point) string {
	switch {
	case p == v.door && !v.open:
		return "the " + v.colour + " door, closed"
	case p == v.door:
		return "the " + v.colour + " door, open"
	case v.wallAt(p):
		return "wall"
	case p == v.key && !v.hasKey:
		return "the key, on " + v.cells[p].String()
	case p == v.exit:
		return "the exit"
	}
	return v.cells[p].String()
}

func abs(n int) int { return max(n, -n) }
