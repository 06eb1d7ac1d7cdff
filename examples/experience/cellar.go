// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
)

// The qualities of ground, besides plain, and the colours of doors.
var (
	textures = []string{"mossy", "cracked", "sandy", "wet"}
	sounds   = []string{"humming", "ticking", "creaking"}
	colours  = []string{"red", "blue", "green", "white", "black", "yellow"}
)

// forms are the ways to write a word in small letters. Locks and models know the same ones.
var forms = []struct {
	name  string
	write func(word string) string
}{
	{"in small letters", func(word string) string { return word }},
	{"with a capital letter first", func(word string) string { return strings.ToUpper(word[:1]) + word[1:] }},
	{"in capital letters", strings.ToUpper},
	{"as its first letter alone", func(word string) string { return word[:1] }},
}

// rules are common to all cellars of a family.
type rules struct {
	house string // above the cellars of the family, and its name
	pit   string // ground of this quality gives way
	form  int    // of forms: how the lock wants the colour; the task always writes another
}

// qualities are all qualities of ground, besides plain.
func qualities() []string { return slices.Concat(textures, sounds) }

// drawRules draws the rules of a family from a seed.
func drawRules(seed uint64) rules {
	r := rand.New(rand.NewPCG(seed, 0))
	pits := qualities()
	out := rules{pit: pits[r.IntN(len(pits))], form: []int{2, 1, 3}[r.IntN(3)]}
	out.house = houses[0][r.IntN(len(houses[0]))] + houses[1][r.IntN(len(houses[1]))]
	return out
}

// houses are the parts of names of houses.
var houses = [2][]string{
	strings.Fields("Raven Thorn Ash Wolf Elm Stone Marsh Crow Hazel Frost Moon Oak Salt Bramble Heron Kestrel"),
	strings.Fields("moor field gate hall mere ford wick combe stead leigh holt barrow"),
}

// other draws the rules of another family, which differ in every part.
func (r rules) other(seed uint64) rules {
	for ; ; seed++ {
		if o := drawRules(seed); o.pit != r.pit && o.form != r.form && o.house != r.house {
			return o
		}
	}
}

// point is a cell: X grows to the east, Y to the south.
type point = image.Point

type direction struct {
	name string
	point
}

var directions = []direction{{"north", image.Pt(0, -1)}, {"east", image.Pt(1, 0)}, {"south", image.Pt(0, 1)}, {"west", image.Pt(-1, 0)}}

// search finds the cheapest way to a point, and returns its first step and its cost. If every way
// is blocked, it returns the first direction, at cost 0. enter is the cost of going onto a point,
// from wherever, or 0 if that is impossible. Of equal ways it takes the one by the directions that
// come first.
func search(from, to point, by []direction, enter func(point) int) (first direction, cost int) {
	type way struct {
		cost  int
		first direction
	}
	ways := map[point]way{from: {}}
	for open := []point{from}; len(open) > 0; {
		p := slices.MinFunc(open, func(a, b point) int { return ways[a].cost - ways[b].cost })
		if p == to {
			return ways[p].first, ways[p].cost
		}
		open = slices.DeleteFunc(open, func(q point) bool { return q == p })
		for _, d := range by {
			next := p.Add(d.point)
			if _, known := ways[next]; known || enter(next) == 0 {
				continue
			}
			step := way{ways[p].cost + enter(next), ways[p].first}
			if p == from {
				step.first = d
			}
			ways[next] = step
			open = append(open, next)
		}
	}
	return by[0], 0
}

// The looks of places other than ground.
const (
	wallSight = "a wall"
	doorSight = "the door"
	exitSight = "the exit"
)

// sorts returns the qualities of ground in a sight; it is nil for other places.
func sorts(sight string) []string {
	words, ok := strings.CutSuffix(sight, " ground")
	if !ok {
		return nil
	}
	return strings.Fields(words)
}

// cellar is a small dark world without chance: ground and walls, a key, a locked door and an exit
// behind it. It stays the same; visits change.
type cellar struct {
	name                   string
	rules                  rules
	width, height          int
	cells                  map[point]string // their looks; walls are beyond them
	start, key, door, exit point
	colour                 string // of the door
	strength               int    // of a visitor at the start
}

// drawCellar draws cellar number n of a family. There is always a way around all pits to the key,
// the door and the exit.
func drawCellar(of rules, seed uint64, n int) *cellar {
	r := rand.New(rand.NewPCG(seed, uint64(n)+1))
	for {
		c := &cellar{name: fmt.Sprintf("%d-%03d", seed, n), rules: of, cells: map[point]string{}}
		c.build(r)
		toKey, toDoor, toExit := c.moves(c.start, c.key), c.moves(c.key, c.door), c.moves(c.door, c.exit)
		if toKey >= 2 && toDoor >= 1 && toExit >= 1 {
			c.strength = 2*(toKey+toDoor+toExit) + 10
			return c
		}
	}
}

// build draws two rooms, one below the other, with the door between them.
func (c *cellar) build(r *rand.Rand) {
	c.width, c.height = 6+r.IntN(3), 7+r.IntN(3)
	wall := c.height/2 + r.IntN(2)
	for y := range c.height {
		for x := range c.width {
			isWall, sight := y == wall || r.IntN(8) == 0, "plain"
			if r.IntN(2) == 0 {
				sight = textures[r.IntN(len(textures))]
			}
			if r.IntN(3) == 0 {
				sight += " " + sounds[r.IntN(len(sounds))]
			}
			c.cells[image.Pt(x, y)] = sight + " ground"
			if isWall {
				c.cells[image.Pt(x, y)] = wallSight
			}
		}
	}
	c.start = image.Pt(r.IntN(c.width), r.IntN(wall))
	c.key = image.Pt(r.IntN(c.width), r.IntN(wall))
	c.door = image.Pt(r.IntN(c.width), wall)
	c.exit = image.Pt(r.IntN(c.width), wall+1+r.IntN(c.height-wall-1))
	c.colour = colours[r.IntN(len(colours))]
	c.cells[c.start], c.cells[c.key], c.cells[c.door], c.cells[c.exit] = "plain ground", "plain ground", doorSight, exitSight
}

// moves counts the moves from one cell to another around all pits; 0 if the way is blocked. The
// door leads only to itself.
func (c *cellar) moves(from, to point) int {
	_, n := search(from, to, directions, func(p point) int {
		if c.sight(p) == wallSight || c.pitAt(p) || p == c.door && to != c.door {
			return 0
		}
		return 1
	})
	return n
}

func (c *cellar) sight(p point) string { return cmp.Or(c.cells[p], wallSight) }

func (c *cellar) pitAt(p point) bool { return slices.Contains(sorts(c.cells[p]), c.rules.pit) }

// taskFormat is the task of an attempt: the goal, and none of the rules.
const taskFormat = "You are below %s in cellar %s %d by %d cells, dark, with ground that does not hold everywhere. " +
	"You stand at (%d,%d); x grows to the east, y to the south. Take the key at (%d,%d), open the %s door at (%d,%d) with it, " +
	"and reach the exit at (%d,%d) behind it. You have %d strength: an inspection takes 2, a call that fails 4, all else 1."

// task is the task of an attempt, with its number if there are several.
func (c *cellar) task(n, of int) string {
	task := fmt.Sprintf(taskFormat, c.rules.house, c.name+":", c.width, c.height, c.start.X, c.start.Y, c.key.X, c.key.Y,
		c.colour, c.door.X, c.door.Y, c.exit.X, c.exit.Y, c.strength)
	if of > 1 {
		task += fmt.Sprintf(" This is attempt %d of %d.", n, of)
	}
	return task
}

// visit is one attempt at a cellar. Its methods are the tools of the visitor. It is for
// one goroutine.
type visit struct {
	*cellar
	at                 point
	left               int // strength
	hasKey, open, over bool
	score              float64 // 1 for a visitor who got out
	failures           int     // calls that failed
	memory             int     // tokens of memory at the start of the attempt
}

// view is the answer of a tool. All but a visitor's place may be missing.
type view struct {
	At       point   `json:"at"`
	Event    string  `json:"event,omitempty"`
	Strength int     `json:"strength"`
	Near     []place `json:"near,omitempty"`   // the places around the visitor
	Ground   *place  `json:"ground,omitempty"` // the inspected ground: holds, or gives way
}

// place is a thing in a place, or the look of the place.
type place struct {
	Where point  `json:"where"`
	What  string `json:"what"`
}

// Events that a visitor must understand.
const (
	holds     = "holds"
	tookKey   = "You take the key."
	opened    = "The door is open."
	gotOut    = "This is the exit: you are out."
	fell      = "The ground gives way and you fall into a pit. It is over."
	exhausted = "No strength is left. It is over."
)

// The arguments of the tools.
type (
	none   struct{}
	toward struct {
		Direction string `json:"direction" jsonschema:"required" jsonschema_description:"north, east, south or west"`
	}
	coloured struct {
		Colour string `json:"colour" jsonschema:"required" jsonschema_description:"the colour of the door"`
	}
)

// tools returns the tools of the visitor. Their descriptions keep the rules of the family secret.
func (v *visit) tools() ([]tool.BaseTool, error) {
	look, err1 := infer(v, "look", "Shows what is next to you.", 1, v.look)
	move, err2 := infer(v, "move", "Goes one cell, and shows what is next to you there.", 1, v.move)
	inspect, err3 := infer(v, "inspect", "Finds out whether the ground next to you holds.", 2, v.inspect)
	open, err4 := infer(v, "open_door", "Opens the door next to you with the key that you have.", 1, v.openDoor)
	return []tool.BaseTool{look, move, inspect, open}, errors.Join(err1, err2, err3, err4)
}

// failure begins the answer of a failed call. An error of a tool would end the run: the model has
// to read it and go on.
const failure = "error: "

// infer makes a tool of a method that fills in a view, or returns an error that hides the right
// way. The visitor pays for both.
func infer[T any](v *visit, name, description string, cost int, do func(argument T, out *view) error) (tool.BaseTool, error) {
	call := func(_ context.Context, argument T) (*view, error) {
		out := &view{}
		if !v.spend(cost) {
			out.Event = exhausted
		} else if err := do(argument, out); err != nil {
			v.failures++
			if !v.spend(4 - cost) {
				return nil, fmt.Errorf("%w. %s", err, exhausted)
			}
			return nil, fmt.Errorf("%w. Strength %d", err, v.left)
		}
		out.At, out.Strength = v.at, v.left
		return out, nil
	}
	inferred, err := utils.InferTool(name, description, call)
	if err != nil {
		return nil, err
	}
	return utils.WrapToolWithErrorHandler(inferred, func(_ context.Context, err error) string { return failure + err.Error() }), nil
}

// spend takes strength, and reports whether there was enough.
func (v *visit) spend(cost int) bool {
	v.left -= cost
	v.over = v.over || v.left < 0
	return !v.over
}

// next returns the cell in a direction, or the visitor's own for an unknown one.
func (v *visit) next(to toward) point {
	for _, d := range directions {
		if d.name == to.Direction {
			return v.at.Add(d.point)
		}
	}
	return v.at
}

func (v *visit) look(_ none, out *view) error {
	for _, d := range directions {
		p := v.at.Add(d.point)
		out.Near = append(out.Near, place{p, v.sight(p)})
	}
	return nil
}

func (v *visit) move(to toward, out *view) error {
	next := v.next(to)
	switch {
	case next == v.at, v.sight(next) == wallSight, next == v.door && !v.open:
		out.Event = "There is no way " + to.Direction + "."
		return v.look(none{}, out)
	case v.pitAt(next):
		v.at, v.over, out.Event = next, true, fell
		return nil
	case next == v.exit:
		v.at, v.over, v.score, out.Event = next, true, 1, gotOut
		return nil
	case next == v.key && !v.hasKey:
		v.hasKey, out.Event = true, tookKey
	}
	v.at = next
	return v.look(none{}, out)
}

func (v *visit) inspect(where toward, out *view) error {
	out.Ground = &place{v.next(where), holds}
	if v.pitAt(out.Ground.Where) {
		out.Ground.What = "gives way"
	}
	return nil
}

func (v *visit) openDoor(with coloured, out *view) error {
	switch away := v.door.Sub(v.at); {
	case v.open || away.X*away.X+away.Y*away.Y != 1:
		return errors.New("there is no closed door next to you")
	case !v.hasKey:
		return errors.New("you have no key")
	case with.Colour != forms[v.rules.form].write(v.colour):
		return errors.New("the lock does not know this colour")
	}
	v.open, out.Event = true, opened
	return nil
}
