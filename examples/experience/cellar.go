// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
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
	form        int    // of forms: how the lock wants the colour; never as the task writes it
	least, most int    // the scanner times out for a radius that is smaller or larger
}

// drawRules draws the rules of a family from a seed.
func drawRules(seed uint64) rules {
	r := rand.New(rand.NewPCG(seed, 0))
	pits := slices.Concat(textures, sounds)
	radii := [][2]int{{1, 2}, {4, maxRadius}}[r.IntN(2)]
	return rules{pit: pits[r.IntN(len(pits))], form: []int{2, 1, 3}[r.IntN(3)], least: radii[0], most: radii[1]}
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

// forms are the ways to write a word that is given in small letters. Locks and models
// know the same.
var forms = []struct {
	name  string
	write func(word string) string
}{
	{"in small letters", func(word string) string { return word }},
	{"with a capital letter first", func(word string) string { return strings.ToUpper(word[:1]) + word[1:] }},
	{"in capital letters", strings.ToUpper},
	{"as its first letter alone", func(word string) string { return word[:1] }},
}

// point is a cell: X grows to the east, Y to the south.
type point = image.Point

// distance is how many moves are between two points if nothing is in the way.
func distance(p, q point) int { return abs(p.X-q.X) + abs(p.Y-q.Y) }

func abs(n int) int { return max(n, -n) }

type direction struct {
	name string
	point
}

var directions = []direction{{"north", image.Pt(0, -1)}, {"east", image.Pt(1, 0)}, {"south", image.Pt(0, 1)}, {"west", image.Pt(-1, 0)}}

// search finds the cheapest way to a point that is wanted, and returns its first step and
// its cost. If there is none, that is the first direction, at cost 0. enter is the cost of
// going onto a point, from wherever, 0 where that is impossible. Of equal ways it takes the
// one by the directions that come first.
func search(from point, by []direction, enter func(point) int, wanted func(point) bool) (first direction, cost int) {
	type way struct {
		cost  int
		first direction
	}
	ways := map[point]way{from: {}}
	for open := []point{from}; len(open) > 0; {
		p := slices.MinFunc(open, func(a, b point) int { return ways[a].cost - ways[b].cost })
		if wanted(p) {
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

// What places look like that are no ground, or no ground alone.
const (
	wallSight   = "wall"
	keySight    = "the key, on plain ground"
	plainSight  = "plain ground"
	closedSight = "the door, closed"
	openSight   = "the door, open"
	exitSight   = "the exit"
)

// sorts returns the words that say what ground is like; there are none for what is no
// ground.
func sorts(sight string) []string {
	words, ok := strings.CutSuffix(sight, " ground")
	if !ok {
		return nil
	}
	return strings.Fields(strings.TrimPrefix(words, "the key, on "))
}

// cellar is a small dark world without chance: ground and walls, a key, a locked door and
// an exit behind it. It does not change: visits do.
type cellar struct {
	name          string
	rules         rules
	width, height int
	cells         map[point]string // what they look like; there is nothing beyond them
	start, key    point
	door, exit    point
	colour        string // of the door
	strength      int    // that a visitor begins with
}

// drawCellar draws cellar number n of a family. There is always a way to the key, the
// door and the exit that no pit is on.
func drawCellar(of rules, seed uint64, n int) *cellar {
	r := rand.New(rand.NewPCG(seed, uint64(n)+1))
	for {
		c := &cellar{name: fmt.Sprintf("%d-%03d", seed, n), rules: of, cells: map[point]string{}}
		c.build(r)
		toKey, toDoor, toExit := c.moves(c.start, c.key), c.moves(c.key, c.door), c.moves(c.door, c.exit)
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
	c.cells[c.start], c.cells[c.key], c.cells[c.door], c.cells[c.exit] = plainSight, keySight, closedSight, exitSight
}

// moves counts the moves from one cell to another around all pits; 0 if there is no way.
// The door leads nowhere but to itself.
func (c *cellar) moves(from, to point) int {
	_, n := search(from, directions, func(p point) int {
		if c.cells[p] == "" || c.cells[p] == wallSight || c.pitAt(p) || p == c.door && to != c.door {
			return 0
		}
		return 1
	}, func(p point) bool { return p == to })
	return n
}

func (c *cellar) pitAt(p point) bool { return slices.Contains(sorts(c.cells[p]), c.rules.pit) }

// taskFormat is the task of an attempt: what is to be done, and nothing of the rules.
const taskFormat = "You are in cellar %s %d by %d cells, dark, with ground that does not hold everywhere. You stand at (%d,%d); x grows to the east, y to the south. " +
	"Find the key, open the %s door with it, and reach the exit behind it. You have %d strength: a move or a look takes %d, a scan %d, an inspection %d, a call that fails %d."

func (c *cellar) task() string {
	return fmt.Sprintf(taskFormat, c.name+":", c.width, c.height, c.start.X, c.start.Y, c.colour, c.strength, costStep, costScan, costInspect, costFailure)
}

// again is the task of an attempt: of several, it says which one this is.
func (c *cellar) again(n, of int) string {
	if of <= 1 {
		return c.task()
	}
	return fmt.Sprintf("%s This is attempt %d of %d.", c.task(), n, of)
}
