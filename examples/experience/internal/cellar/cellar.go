// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package cellar

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What a call takes of the visitor's strength.
const (
	costStep    = 1 // a move or a look
	costScan    = 2
	costInspect = 2
	costFailure = 4 // a call that fails
)

var colours = []string{"red", "blue", "green", "white", "black", "yellow"}

// point is a cell: x grows to the east, y to the south.
type point struct{ x, y int }

func (p point) String() string { return fmt.Sprintf("(%d,%d)", p.x, p.y) }

func (p point) to(d direction) point { return point{p.x + d.dx, p.y + d.dy} }

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

// Cellar is one instance. It does not change: visits do.
type Cellar struct {
	name          string
	rules         Rules
	width, height int
	cells         map[point]cell // walls beyond them
	start         point
	key           point
	door          point
	exit          point
	colour        string
	strength      int
}

// Draw draws cellar number n of a family. There is always a way to the key, the door
// and the exit that no pit is on.
func Draw(rules Rules, seed uint64, n int) *Cellar {
	r := rand.New(rand.NewPCG(seed, uint64(n)+1))
	for {
		c := &Cellar{name: fmt.Sprintf("%d-%03d", seed, n), rules: rules, cells: map[point]cell{}}
		c.build(r)
		if way := c.way(); way > 0 {
			c.strength = 2*way + 20
			return c
		}
	}
}

// build draws two rooms, one below the other, with the door between them.
func (c *Cellar) build(r *rand.Rand) {
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

// way returns how many moves it takes from the start to the key, the door and the
// exit around all pits, or 0 if there is no such way or it is too short to matter.
func (c *Cellar) way() int {
	toKey, toDoor, toExit := c.distance(c.start, c.key), c.distance(c.key, c.door), c.distance(c.door, c.exit)
	if toKey < 2 || toDoor < 1 || toExit < 1 {
		return 0
	}
	return toKey + toDoor + toExit
}

// distance counts the moves between two cells, or -1. The door is no way through to
// anything but itself.
func (c *Cellar) distance(from, to point) int {
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

func (c *Cellar) wallAt(p point) bool {
	at, ok := c.cells[p]
	return !ok || at.wall
}

func (c *Cellar) pitAt(p point) bool {
	at := c.cells[p]
	return !at.wall && (at.texture == c.rules.Pit || at.sound == c.rules.Pit)
}

// Task says what is to be done, and nothing of the rules.
func (c *Cellar) Task() string {
	return fmt.Sprintf("You are in cellar %s: %d by %d cells, dark, with ground that does not hold everywhere. You stand at %s; x grows to the east, y to the south. "+
		"Find the key, open the %s door with it, and reach the exit behind it. You have %d strength: a move or a look takes %d, a scan %d, an inspection %d, a call that fails %d.",
		c.name, c.width, c.height, c.start, c.colour, c.strength, costStep, costScan, costInspect, costFailure)
}

// Map draws the cellar, a row a line: # wall, o pit, . ground, S start, K key, D door,
// E exit. Nobody in it sees that.
func (c *Cellar) Map() string {
	var b strings.Builder
	for y := range c.height {
		for x := range c.width {
			p, sign := point{x, y}, byte('.')
			switch {
			case p == c.start:
				sign = 'S'
			case p == c.key:
				sign = 'K'
			case p == c.door:
				sign = 'D'
			case p == c.exit:
				sign = 'E'
			case c.wallAt(p):
				sign = '#'
			case c.pitAt(p):
				sign = 'o'
			}
			b.WriteByte(sign)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Name names the cellar among all.
func (c *Cellar) Name() string { return c.name }
