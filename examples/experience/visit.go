// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
)

// What a call takes of the visitor's strength.
const (
	costStep    = 1 // a move, a look, or a turn of the key
	costScan    = 2
	costInspect = 2
	costFailure = 4 // a call that fails
)

// visit is one attempt at a cellar. Its methods are the tools of the visitor. It is for
// one goroutine.
type visit struct {
	*cellar
	cells    map[point]string // what they look like now
	at       point
	left     int // strength
	over     bool
	score    float64 // 1 for a visitor who got out
	failures int     // calls that failed
}

func (c *cellar) visit() *visit {
	return &visit{cellar: c, cells: maps.Clone(c.cells), at: c.start, left: c.strength}
}

// view is what a tool answers. All but a visitor's place may be missing.
type view struct {
	At       point   `json:"at"`
	Event    string  `json:"event,omitempty"`
	Strength int     `json:"strength"`
	Near     []place `json:"near,omitempty"`   // what is next to the visitor
	Radius   int     `json:"radius,omitempty"` // of a scan
	Found    []place `json:"found,omitempty"`  // by it
	Ground   *place  `json:"ground,omitempty"` // that was inspected: holds, or gives way
}

// place is what there is, or what a place looks like.
type place struct {
	Where point  `json:"where"`
	What  string `json:"what"`
}

// What a visitor must understand.
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
	within struct {
		Radius int `json:"radius" jsonschema:"required" jsonschema_description:"how far to scan, in cells, from 1 to 5"`
	}
	coloured struct {
		Colour string `json:"colour" jsonschema:"required" jsonschema_description:"the colour of the door"`
	}
)

// tools returns what the visitor can do. The descriptions do not say what the rules of
// the cellar's family are.
func (v *visit) tools() ([]tool.BaseTool, error) {
	look, err1 := infer(v, "look", "Shows what is next to you.", costStep, v.look)
	move, err2 := infer(v, "move", "Goes one cell, and shows what is next to you there.", costStep, v.move)
	inspect, err3 := infer(v, "inspect", "Finds out whether the ground next to you holds.", costInspect, v.inspect)
	scan, err4 := infer(v, "scan", "Finds the key, the door and the exit, as far as they are near enough.", costScan, v.scan)
	open, err5 := infer(v, "open_door", "Opens the door next to you with the key that you have.", costStep, v.openDoor)
	return []tool.BaseTool{look, move, inspect, scan, open}, errors.Join(err1, err2, err3, err4, err5)
}

// failure begins the answer of a call that failed. An error of a tool would end the run:
// the model is to read it and go on.
const failure = "error: "

// infer makes a tool of a method that fills in a view, or says in its error that
// something is wrong, and not what would be right. The visitor pays for both.
func infer[T any](v *visit, name, description string, cost int, do func(argument T, out *view) error) (tool.BaseTool, error) {
	call := func(_ context.Context, argument T) (*view, error) {
		out := &view{}
		if !v.spend(cost) {
			out.Event = exhausted
		} else if err := do(argument, out); err != nil {
			v.failures++
			if !v.spend(costFailure - cost) {
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

// next returns the cell in a direction, or the visitor's own for what is none.
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
		out.Near = append(out.Near, place{p, cmp.Or(v.cells[p], wallSight)})
	}
	return nil
}

func (v *visit) move(to toward, out *view) error {
	next := v.next(to)
	sight := cmp.Or(v.cells[next], wallSight)
	if next == v.at || sight == wallSight || sight == closedSight {
		out.Event = "There is no way " + to.Direction + "."
		return v.look(none{}, out)
	}
	v.at = next
	switch {
	case v.pitAt(next):
		v.over, out.Event = true, fell
		return nil
	case sight == exitSight:
		v.over, v.score, out.Event = true, 1, gotOut
		return nil
	case sight == keySight:
		v.cells[next], out.Event = plainSight, tookKey
	}
	return v.look(none{}, out)
}

func (v *visit) inspect(where toward, out *view) error {
	out.Ground = &place{v.next(where), holds}
	if v.pitAt(out.Ground.Where) {
		out.Ground.What = "gives way"
	}
	return nil
}

// scan finds things that are no further away than the radius, to any side.
func (v *visit) scan(in within, out *view) error {
	if in.Radius < v.rules.least || in.Radius > v.rules.most {
		return errors.New("the scanner timed out")
	}
	out.Radius = in.Radius
	for _, p := range []point{v.key, v.door, v.exit} {
		away := p.Sub(v.at)
		if v.cells[p] != plainSight && max(abs(away.X), abs(away.Y)) <= in.Radius {
			out.Found = append(out.Found, place{p, v.cells[p]})
		}
	}
	return nil
}

func (v *visit) openDoor(with coloured, out *view) error {
	switch {
	case v.cells[v.door] != closedSight || distance(v.at, v.door) != 1:
		return errors.New("there is no closed door next to you")
	case v.cells[v.key] == keySight:
		return errors.New("you have no key")
	case with.Colour != forms[v.rules.form].write(v.colour):
		return errors.New("the lock does not know this colour")
	}
	v.cells[v.door], out.Event = openSight, opened
	return nil
}
