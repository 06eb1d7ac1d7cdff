// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What ground can be like, besides plain and silent, and the colours of doors.
var (
	textures = []string{"mossy", "cracked", "sandy", "wet"}
	sounds   = []string{"humming", "ticking", "creaking"}
	colours  = []string{"red", "blue", "green", "white", "black", "yellow"}
)

// maxRadius is the largest radius that the scanner takes.
const maxRadius = 5

// rules are what all cellars of a family have in common.
type rules struct {
	pit         string // ground that is like this gives way
	form        form   // how the lock wants the colour; never as the task writes it
	least, most int    // the scanner times out for a radius that is smaller or larger
}

// drawRules draws the rules of a family from a seed.
func drawRules(seed uint64) rules {
	r := rand.New(rand.NewPCG(seed, 0))
	pits := append(append([]string(nil), textures...), sounds...)
	radii := [][2]int{{1, 2}, {4, maxRadius}}[r.IntN(2)]
	return rules{pit: pits[r.IntN(len(pits))], form: []form{capitals, capitalised, initial}[r.IntN(3)], least: radii[0], most: radii[1]}
}

// other draws the rules of another family, which shares none with r: other ground
// gives way, the lock wants another form, and no radius works in both.
func (r rules) other(seed uint64) rules {
	for ; ; seed++ {
		o := drawRules(seed)
		if o.pit != r.pit && o.form != r.form && o.least != r.least {
			return o
		}
	}
}

// form is a way to write a word. Locks and models know the same.
type form string

const (
	small       form = "in small letters"
	capitalised form = "with a capital letter first"
	capitals    form = "in capital letters"
	initial     form = "as its first letter alone"
)

var forms = []form{small, capitalised, capitals, initial}

// write returns a word, given in small letters, in the form.
func (f form) write(word string) string {
	switch f {
	case capitalised:
		return strings.ToUpper(word[:1]) + word[1:]
	case capitals:
		return strings.ToUpper(word)
	case initial:
		return word[:1]
	}
	return word
}

// point is a cell: x grows to the east, y to the south.
type point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

func (p point) String() string { return fmt.Sprintf("(%d,%d)", p.X, p.Y) }

func (p point) to(d direction) point { return point{p.X + d.dx, p.Y + d.dy} }

// distance is how many moves are between two points if nothing is in the way.
func (p point) distance(q point) int { return abs(p.X-q.X) + abs(p.Y-q.Y) }

func abs(n int) int { return max(n, -n) }

type direction struct {
	name   string
	dx, dy int
}

var directions = []direction{{"north", 0, -1}, {"east", 1, 0}, {"south", 0, 1}, {"west", -1, 0}}

// cell is what is in a place.
type cell struct {
	wall           bool
	texture, sound string // empty: plain, silent
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

// cellar is a small dark world without chance: cells with a key, a locked door and an
// exit behind it. It does not change: visits do.
type cellar struct {
	name          string
	rules         rules
	width, height int
	cells         map[point]cell // walls beyond them
	start, key    point
	door, exit    point
	colour        string
	strength      int
}

// drawCellar draws cellar number n of a family. There is always a way to the key, the
// door and the exit that no pit is on.
func drawCellar(of rules, seed uint64, n int) *cellar {
	r := rand.New(rand.NewPCG(seed, uint64(n)+1))
	for {
		c := &cellar{name: fmt.Sprintf("%d-%03d", seed, n), rules: of, cells: map[point]cell{}}
		c.build(r)
		toKey, toDoor, toExit := c.way(c.start, c.key), c.way(c.key, c.door), c.way(c.door, c.exit)
		if toKey >= 2 && toDoor >= 1 && toExit >= 1 {
			c.strength = 2*(toKey+toDoor+toExit) + 20
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
			at := cell{wall: y == wall || r.IntN(8) == 0}
			if r.IntN(2) == 0 {
				at.texture = textures[r.IntN(len(textures))]
			}
			if r.IntN(3) == 0 {
				at.sound = sounds[r.IntN(len(sounds))]
			}
			c.cells[point{x, y}] = at
		}
	}
	c.start = point{r.IntN(c.width), r.IntN(wall)}
	c.key = point{r.IntN(c.width), r.IntN(wall)}
	c.door = point{r.IntN(c.width), wall}
	c.exit = point{r.IntN(c.width), wall + 1 + r.IntN(c.height-wall-1)}
	c.colour = colours[r.IntN(len(colours))]
	for _, p := range []point{c.start, c.key, c.door, c.exit} {
		c.cells[p] = cell{}
	}
}

// way counts the moves between two cells around all pits, or returns -1. The door
// leads nowhere but to itself.
func (c *cellar) way(from, to point) int {
	steps := map[point]int{from: 0}
	for queue := []point{from}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if p == to {
			return steps[p]
		}
		if p == c.door && from != c.door {
			continue
		}
		for _, d := range directions {
			next := p.to(d)
			if _, seen := steps[next]; !seen && !c.wallAt(next) && !c.pitAt(next) {
				steps[next] = steps[p] + 1
				queue = append(queue, next)
			}
		}
	}
	return -1
}

func (c *cellar) wallAt(p point) bool {
	at, ok := c.cells[p]
	return !ok || at.wall
}

func (c *cellar) pitAt(p point) bool {
	at := c.cells[p]
	return !at.wall && (at.texture == c.rules.pit || at.sound == c.rules.pit)
}

// taskFormat is the task of an attempt: what is to be done, and nothing of the rules.
const taskFormat = "You are in cellar %s %d by %d cells, dark, with ground that does not hold everywhere. You stand at (%d,%d); x grows to the east, y to the south. " +
	"Find the key, open the %s door with it, and reach the exit behind it. You have %d strength: a move or a look takes %d, a scan %d, an inspection %d, a call that fails %d."

func (c *cellar) task() string {
	return fmt.Sprintf(taskFormat, c.name+":", c.width, c.height, c.start.X, c.start.Y, c.colour, c.strength, costStep, costScan, costInspect, costFailure)
}
