// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
)

// player returns the model that plays. All that it knows stands in the messages that it is
// given. It goes where it has not been until it knows where things are, and then the
// shortest way. Memories and the instruction change where it goes and how it calls tools; it
// takes them for what they say, right or wrong.
func player() *demomodel.Model { return &demomodel.Model{Answer: nextCall} }

// nextCall returns the next call, or, when the attempt is over, a last word.
func nextCall(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	s := read(in)
	for _, t := range tools {
		s.heed(t.Desc)
	}
	switch {
	case s.task == "":
		return nil, fmt.Errorf("%w: no message says how large the cellar is", backends.ErrInvalid)
	case s.over || s.events[gotOut]:
		return schema.AssistantMessage("I am done.", nil), nil
	}
	tool, arguments := s.next()
	return demomodel.Call(fmt.Sprintf("call-%08x-%d", hash(s.task)>>32, len(in)), tool, json.RawMessage(arguments)), nil
}

// scene is what the messages of an attempt say.
type scene struct {
	task          string
	width, height int
	colour        string // of the door
	at            point
	seen          map[point]string // what a place looks like
	stood         map[string]int   // how often ground of a sort was stood on without harm
	where         map[string]point // where the last thing was that looks so: the key, the door, the exit
	scanned       map[point]int    // the radius of scans, by where they were made
	inspected     map[point]bool   // whether the ground would hold
	failed        map[string]bool  // the arguments of calls that failed: no two tools have the same
	events        map[string]bool  // that happened
	over          bool

	// What texts say is to be done, in sentences that the player understands.
	avoid, hold map[string]bool // sorts of ground
	forms       []int           // of the colour of the door
	least, most int             // of the scanner's radius
	careful     bool            // inspect ground of a sort that is new
}

func newScene() *scene {
	return &scene{
		seen: map[point]string{}, stood: map[string]int{}, where: map[string]point{}, scanned: map[point]int{},
		inspected: map[point]bool{}, failed: map[string]bool{}, events: map[string]bool{},
		avoid: map[string]bool{}, hold: map[string]bool{}, least: 1, most: maxRadius,
	}
}

// read returns what messages say.
func read(messages []*schema.Message) *scene {
	s := newScene()
	arguments := map[string]string{} // of calls, by id
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			arguments[c.ID] = c.Function.Arguments
		}
		switch m.Role {
		case schema.Tool:
			s.result(arguments[m.ToolCallID], m.Content)
		case schema.System, schema.User:
			s.heed(m.Content)
			var name string
			if n, _ := fmt.Sscanf(m.Content, taskFormat, &name, &s.width, &s.height, &s.at.X, &s.at.Y, &s.colour); n == 6 {
				s.task = m.Content
			}
		}
	}
	return s
}

// The sentences of advice. They begin with plain words, which Go's expressions find fast:
// each call of the player reads all messages.
var (
	avoidAdvice = regexp.MustCompile(`do not step on (\w+) ground`)
	holdsAdvice = regexp.MustCompile(`(\w+) ground holds`)
	boundAdvice = regexp.MustCompile(`in calls of scan keep radius at (\d+) or (below|above)`)
)

// heed reads what memories, the instruction or a tool's description say.
func (s *scene) heed(text string) {
	text = strings.ToLower(text)
	for _, m := range avoidAdvice.FindAllStringSubmatch(text, -1) {
		s.avoid[m[1]] = true
	}
	for _, m := range holdsAdvice.FindAllStringSubmatch(text, -1) {
		s.hold[m[1]] = true
	}
	for i, f := range forms {
		if strings.Contains(text, "in calls of open_door write colour "+f.name) {
			s.forms = append(s.forms, i)
		}
	}
	for _, m := range boundAdvice.FindAllStringSubmatch(text, -1) {
		bound, _ := strconv.Atoi(m[1])
		if m[2] == "below" {
			s.most = min(s.most, bound)
		} else {
			s.least = max(s.least, bound)
		}
	}
	s.careful = s.careful || strings.Contains(text, "inspect ground of a sort that you have not stood on")
}

// result reads what a tool answered.
func (s *scene) result(arguments, text string) {
	s.failed[arguments] = strings.HasPrefix(text, failure)
	s.over = s.over || strings.Contains(text, "It is over.")
	v := &view{}
	if json.Unmarshal([]byte(text), v) != nil {
		return
	}
	s.at = v.At
	if v.Near != nil { // else the visitor fell, or is where it was
		for _, word := range sorts(s.seen[s.at]) {
			s.stood[word]++
		}
	}
	s.events[v.Event] = true
	for _, p := range v.Near {
		s.seen[p.Where], s.where[p.What] = p.What, p.Where
	}
	if v.Radius > 0 {
		s.scanned[v.At] = v.Radius
	}
	for _, p := range v.Found {
		s.where[p.What] = p.Where
	}
	if v.Ground != nil {
		s.inspected[v.Ground.Where] = v.Ground.What == holds
	}
}

// next returns the tool to call now, and its arguments. It goes to the next thing, or, if
// it is not known where that is, to the nearest place not seen yet.
func (s *scene) next() (tool, arguments string) {
	goal, near := exitSight, 0 // how near to go
	switch {
	case !s.events[tookKey]:
		goal = keySight
	case !s.events[opened]:
		goal, near = closedSight, 1
	}
	where, known := s.where[goal]
	switch {
	case len(s.seen) == 0:
		return "look", "{}"
	case goal == closedSight && known && distance(s.at, where) <= near:
		return "open_door", s.openDoor()
	case !known && !s.scannedNear():
		if arguments := s.scan(); arguments != "" {
			return "scan", arguments
		}
	}
	step := s.step(func(p point) bool {
		_, seen := s.seen[p]
		return known && distance(p, where) <= near || !known && !seen && p != s.at
	})
	arguments = fmt.Sprintf(`{"direction":%q}`, step.name)
	if s.careful && s.strange(s.at.Add(step.point)) {
		return "inspect", arguments
	}
	return "move", arguments
}

// openDoor writes the colour of the door as advice says, else in one form after the other: one
// of them is right.
func (s *scene) openDoor() (arguments string) {
	var words []string
	for _, i := range append(s.forms, 0, 1, 2, 3) {
		words = append(words, forms[i].write(s.colour))
	}
	return untried(s, `{"colour":%q}`, words)
}

// scan takes a radius that worked, else the largest that advice allows, else the next
// around the middle.
func (s *scene) scan() (arguments string) {
	tries := slices.Collect(maps.Values(s.scanned)) // equal ones: what worked is kept
	if s.least > 1 || s.most < maxRadius {
		for n := s.most; n >= s.least; n-- {
			tries = append(tries, n)
		}
	}
	return untried(s, `{"radius":%d}`, append(tries, 3, 2, 4, 1, 5))
}

// untried returns the first arguments that have not failed, or "".
func untried[T any](s *scene, format string, values []T) string {
	for _, v := range values {
		if arguments := fmt.Sprintf(format, v); !s.failed[arguments] {
			return arguments
		}
	}
	return ""
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
	return slices.ContainsFunc(sorts(s.seen[p]), func(w string) bool { return s.stood[w] == 0 && !s.hold[w] })
}

// The cost of going onto ground: a place not seen yet is a little dearer than what was
// seen to be ground, and what advice warns of is the last resort.
const (
	costGround = 10
	costUnseen = 11
	costWarned = 1000
)

// cost is what it takes to go to a place, 0 where that is impossible. Ground that is known
// to hold is not warned of: one step on it without harm says more than a suspicion.
func (s *scene) cost(p point) int {
	holds, inspected := s.inspected[p]
	sight, seen := s.seen[p]
	switch {
	case !p.In(image.Rect(0, 0, s.width, s.height)):
		return 0
	case inspected && !holds, sight == wallSight, sight == closedSight && !s.events[opened]:
		return 0
	case !seen:
		return costUnseen
	case slices.ContainsFunc(sorts(sight), func(w string) bool { return s.avoid[w] && !s.hold[w] }):
		return costWarned
	}
	return costGround
}

// step returns the direction of the first step on the cheapest way to a place that is
// wanted. Of equal ways it takes another one at another attempt: the order of directions
// follows from the words of the task.
func (s *scene) step(wanted func(point) bool) direction {
	n, order := hash(s.task), slices.Clone(directions)
	for i := range order {
		left := uint64(len(order) - i)
		chosen := i + int(n%left)
		n /= left
		d := order[chosen]
		order = slices.Insert(slices.Delete(order, chosen, chosen+1), i, d)
	}
	first, _ := search(s.at, order, s.cost, wanted)
	return first
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
