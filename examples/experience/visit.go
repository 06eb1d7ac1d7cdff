// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
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

// view is what a tool answers. All but a visitor's place may be missing.
type view struct {
	At       point   `json:"at"`
	Event    string  `json:"event,omitempty"`
	Strength int     `json:"strength"`
	Near     []place `json:"near,omitempty"`   // what is next to the visitor
	Radius   int     `json:"radius,omitempty"` // of a scan
	Found    []place `json:"found,omitempty"`  // by it
	Ground   *ground `json:"ground,omitempty"` // that was inspected
}

// place is what there is, or what a place looks like.
type place struct {
	Where point  `json:"where"`
	What  string `json:"what"`
}

type ground struct {
	Where point `json:"where"`
	Holds bool  `json:"holds"`
}

// The events that a visitor must understand.
const (
	tookKey   = "You take the key."
	opened    = "The door is open."
	gotOut    = "This is the exit: you are out."
	fell      = "The ground gives way and you fall into a pit. It is over."
	exhausted = "No strength is left. It is over."
)

// spend takes the cost of a call, and reports whether the call can be made.
func (v *visit) spend(cost int) bool {
	v.left -= cost
	v.over = v.over || v.left < 0
	return !v.over
}

// fail ends a call that fails: it has cost something already. The reason says that
// something is wrong, not what would be right.
func (v *visit) fail(spent int, reason string) (*view, error) {
	v.failures++
	if !v.spend(costFailure - spent) {
		return nil, fmt.Errorf("%s. %s", reason, exhausted)
	}
	return nil, fmt.Errorf("%s. Strength %d", reason, v.left)
}

// says is a view of nothing but an event.
func (v *visit) says(event string) (*view, error) {
	return &view{At: v.at, Event: event, Strength: v.left}, nil
}

// see is a view of what is next to the visitor.
func (v *visit) see(event string) (*view, error) {
	out := &view{At: v.at, Event: event, Strength: v.left}
	for _, d := range directions {
		out.Near = append(out.Near, place{v.at.to(d), v.sight(v.at.to(d))})
	}
	return out, nil
}

// What places look like that are no ground.
const (
	wallSight = "wall"
	doorSight = "the door, closed"
)

func (v *visit) sight(p point) string {
	switch {
	case p == v.door && !v.open:
		return doorSight
	case p == v.door:
		return "the door, open"
	case v.wallAt(p):
		return wallSight
	case p == v.key && !v.hasKey:
		return "the key, on " + v.cells[p].String()
	case p == v.exit:
		return "the exit"
	}
	return v.cells[p].String()
}

// next returns the cell in a direction.
func (v *visit) next(to string) (point, bool) {
	i := slices.IndexFunc(directions, func(d direction) bool { return d.name == to })
	if i < 0 {
		return v.at, false
	}
	return v.at.to(directions[i]), true
}

const noDirection = "a direction is north, east, south or west"

func (v *visit) look() (*view, error) {
	if !v.spend(costStep) {
		return v.says(exhausted)
	}
	return v.see("")
}

// move goes one cell.
func (v *visit) move(to string) (*view, error) {
	next, ok := v.next(to)
	switch {
	case !v.spend(costStep):
		return v.says(exhausted)
	case !ok:
		return v.fail(costStep, noDirection)
	case v.wallAt(next), next == v.door && !v.open:
		return v.see("There is no way " + to + ".")
	}
	v.at = next
	switch {
	case v.pitAt(v.at):
		v.over = true
		return v.says(fell)
	case v.at == v.exit:
		v.over, v.out = true, true
		return v.says(gotOut)
	case v.at == v.key && !v.hasKey:
		v.hasKey = true
		return v.see(tookKey)
	}
	return v.see("")
}

// inspect says whether the ground next to the visitor holds.
func (v *visit) inspect(where string) (*view, error) {
	at, ok := v.next(where)
	switch {
	case !v.spend(costInspect):
		return v.says(exhausted)
	case !ok:
		return v.fail(costInspect, noDirection)
	}
	return &view{At: v.at, Strength: v.left, Ground: &ground{at, !v.pitAt(at)}}, nil
}

// scan says where things are that are no further away than radius, to any side.
func (v *visit) scan(radius int) (*view, error) {
	switch {
	case !v.spend(costScan):
		return v.says(exhausted)
	case radius < 1 || radius > maxRadius:
		return v.fail(costScan, fmt.Sprintf("a radius is 1 to %d", maxRadius))
	case radius < v.rules.least || radius > v.rules.most:
		return v.fail(costScan, "the scanner timed out")
	}
	out := &view{At: v.at, Strength: v.left, Radius: radius}
	for _, thing := range []place{{v.key, "key"}, {v.door, "door"}, {v.exit, "exit"}} {
		gone := thing.Where == v.key && v.hasKey || thing.Where == v.door && v.open
		if !gone && max(abs(thing.Where.X-v.at.X), abs(thing.Where.Y-v.at.Y)) <= radius {
			out.Found = append(out.Found, thing)
		}
	}
	return out, nil
}

// openDoor opens the door next to the visitor.
func (v *visit) openDoor(colour string) (*view, error) {
	switch {
	case !v.spend(costStep):
		return v.says(exhausted)
	case v.open || v.at.distance(v.door) != 1:
		return v.fail(costStep, "there is no closed door next to you")
	case !v.hasKey:
		return v.fail(costStep, "you have no key")
	case colour != v.rules.form.write(v.colour):
		return v.fail(costStep, "the lock does not know this colour")
	}
	v.open = true
	return v.says(opened)
}
