// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package cellar

import (
	"errors"
	"fmt"
	"strings"
)

// What calls fail with. They tell that something is wrong, not what would be right.
var (
	ErrTimeout   = errors.New("the scanner timed out")
	ErrRefused   = errors.New("the lock does not know this colour")
	ErrNoKey     = errors.New("you have no key")
	ErrNoDoor    = errors.New("there is no closed door next to you")
	ErrDirection = errors.New("a direction is north, east, south or west")
	ErrRadius    = fmt.Errorf("a radius is 1 to %d", MaxRadius)
)

// Visit is one attempt at a cellar. Its methods are what a visitor can do; each
// returns what there is to see afterwards. It is for one goroutine.
type Visit struct {
	cellar   *Cellar
	at       point
	strength int
	hasKey   bool
	open     bool
	over     bool
	out      bool
	steps    int
	failures int
}

// Visit begins an attempt.
func (c *Cellar) Visit() *Visit { return &Visit{cellar: c, at: c.start, strength: c.strength} }

// Score is 1 for a visitor who got out, else 0.
func (v *Visit) Score() float64 {
	if v.out {
		return 1
	}
	return 0
}

// Over reports whether the attempt has ended.
func (v *Visit) Over() bool { return v.over }

// Steps is how many calls there were.
func (v *Visit) Steps() int { return v.steps }

// Failures is how many calls failed.
func (v *Visit) Failures() int { return v.failures }

const ended = "It is over."

// spend takes the cost of a call, and reports whether the call can be made.
func (v *Visit) spend(cost int) bool {
	if v.over {
		return false
	}
	v.steps++
	v.strength -= cost
	v.over = v.strength < 0
	return !v.over
}

// fail is the end of a call that fails: it has cost something already.
func (v *Visit) fail(spent int, err error) (string, error) {
	v.failures++
	v.strength -= costFailure - spent
	if v.strength < 0 {
		v.over = true
		return "", fmt.Errorf("%w. %s", err, v.exhausted())
	}
	return "", fmt.Errorf("%w. Strength %d", err, v.strength)
}

func (v *Visit) exhausted() string { return "No strength is left. " + ended }

// Look tells what is next to the visitor.
func (v *Visit) Look() (string, error) {
	if !v.spend(costStep) {
		return v.exhausted(), nil
	}
	return v.see(""), nil
}

// Move goes one cell.
func (v *Visit) Move(to string) (string, error) {
	d, ok := parse(to)
	switch {
	case !v.spend(costStep):
		return v.exhausted(), nil
	case !ok:
		return v.fail(costStep, ErrDirection)
	}
	next := v.at.to(d)
	if v.cellar.wallAt(next) || next == v.cellar.door && !v.open {
		return v.see("There is no way " + to + ". "), nil
	}
	v.at = next
	return v.arrive(), nil
}

func (v *Visit) arrive() string {
	switch {
	case v.cellar.pitAt(v.at):
		v.over = true
		return fmt.Sprintf("You are at %s. The ground gives way and you fall into a pit. %s", v.at, ended)
	case v.at == v.cellar.exit:
		v.over, v.out = true, true
		return fmt.Sprintf("You are at %s. This is the exit: you are out. %s", v.at, ended)
	case v.at == v.cellar.key && !v.hasKey:
		v.hasKey = true
		return v.see("You take the key. ")
	}
	return v.see("")
}

// Inspect tells whether the ground next to the visitor holds.
func (v *Visit) Inspect(where string) (string, error) {
	d, ok := parse(where)
	switch {
	case !v.spend(costInspect):
		return v.exhausted(), nil
	case !ok:
		return v.fail(costInspect, ErrDirection)
	}
	verdict := "holds"
	if v.cellar.pitAt(v.at.to(d)) {
		verdict = "would give way"
	}
	return fmt.Sprintf("The ground at %s %s. Strength %d.", v.at.to(d), verdict, v.strength), nil
}

// Scan tells where things are that are no further away than radius, to any side.
func (v *Visit) Scan(radius int) (string, error) {
	switch {
	case !v.spend(costScan):
		return v.exhausted(), nil
	case radius < 1 || radius > MaxRadius:
		return v.fail(costScan, ErrRadius)
	case radius < v.cellar.rules.Least || radius > v.cellar.rules.Most:
		return v.fail(costScan, ErrTimeout)
	}
	var found []string
	for _, thing := range []struct {
		name string
		at   point
		gone bool
	}{{"key", v.cellar.key, v.hasKey}, {"door", v.cellar.door, v.open}, {"exit", v.cellar.exit, false}} {
		if !thing.gone && max(abs(thing.at.x-v.at.x), abs(thing.at.y-v.at.y)) <= radius {
			found = append(found, thing.name+" at "+thing.at.String())
		}
	}
	if len(found) == 0 {
		found = []string{"nothing"}
	}
	return fmt.Sprintf("Within %d of %s: %s. Strength %d.", radius, v.at, strings.Join(found, ", "), v.strength), nil
}

// Open opens the door next to the visitor.
func (v *Visit) Open(colour string) (string, error) {
	switch {
	case !v.spend(costStep):
		return v.exhausted(), nil
	case v.open || abs(v.at.x-v.cellar.door.x)+abs(v.at.y-v.cellar.door.y) != 1:
		return v.fail(costStep, ErrNoDoor)
	case !v.hasKey:
		return v.fail(costStep, ErrNoKey)
	case colour != v.cellar.rules.Colour.Of(v.cellar.colour):
		return v.fail(costStep, ErrRefused)
	}
	v.open = true
	return fmt.Sprintf("The %s door is open. Strength %d.", v.cellar.colour, v.strength), nil
}

// see tells what the visitor sees.
func (v *Visit) see(event string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are at %s. %sStrength %d.", v.at, event, v.strength)
	for _, d := range directions {
		fmt.Fprintf(&b, "\n%s %s: %s", d.name, v.at.to(d), v.sight(v.at.to(d)))
	}
	return b.String()
}

func (v *Visit) sight(p point) string {
	switch {
	case p == v.cellar.door && !v.open:
		return "the " + v.cellar.colour + " door, closed"
	case p == v.cellar.door:
		return "the " + v.cellar.colour + " door, open"
	case v.cellar.wallAt(p):
		return "wall"
	case p == v.cellar.key && !v.hasKey:
		return "the key, on " + v.cellar.cells[p].String()
	case p == v.cellar.exit:
		return "the exit"
	}
	return v.cellar.cells[p].String()
}

// String says what the ground is like.
func (c cell) String() string {
	words := []string{"plain"}
	if c.texture != "" {
		words[0] = c.texture
	}
	if c.sound != "" {
		words = append(words, c.sound)
	}
	return strings.Join(words, " ") + " ground"
}

func parse(name string) (direction, bool) {
	for _, d := range directions {
		if d.name == name {
			return d, true
		}
	}
	return direction{}, false
}

func abs(n int) int { return max(n, -n) }
