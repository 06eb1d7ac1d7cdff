// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
)

// player returns the model that plays. It knows only its messages, and goes the shortest way that
// it knows. Memories and the instruction change its way and its calls of tools; it believes them,
// right or wrong.
func player() *demomodel.Model { return &demomodel.Model{Answer: nextCall} }

// nextCall returns the next call, or, at the end of the attempt, a last word.
func nextCall(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	s := read(in)
	for _, t := range tools {
		s.heed(t.Desc)
	}
	switch {
	case s.task == "":
		return nil, fmt.Errorf("%w: no message names a cellar", backends.ErrInvalid)
	case s.over || s.events[gotOut]:
		return schema.AssistantMessage("I am done.", nil), nil
	}
	tool, arguments := s.next()
	return demomodel.Call(fmt.Sprintf("call-%08x-%d", hash(s.task)>>32, len(in)), tool, json.RawMessage(arguments)), nil
}

// scene is the contents of an attempt's messages.
type scene struct {
	task, house    string
	width, height  int
	colour         string // of the door
	at             point
	key, door, out point
	seen           map[point]string // the looks of places
	stood          map[string]int   // how often ground of a sort held a step
	inspected      map[point]bool   // whether the ground held in an inspection
	failed         map[string]bool  // the arguments of failed calls: each tool has its own
	events         map[string]bool  // that happened
	over           bool

	// Advice in texts, in sentences that the player understands.
	avoid, hold map[string]bool // sorts of ground
	forms       []int           // of the colour of the door
	careful     bool            // inspect new sorts of ground
}

func newScene() *scene {
	return &scene{
		seen: map[point]string{}, stood: map[string]int{}, inspected: map[point]bool{}, failed: map[string]bool{},
		events: map[string]bool{}, avoid: map[string]bool{}, hold: map[string]bool{},
	}
}

// read returns the contents of messages.
func read(messages []*schema.Message) *scene {
	s := newScene()
	for _, m := range messages { // memories may stand in front of the task
		var name string
		if n, _ := fmt.Sscanf(m.Content, taskFormat, &s.house, &name, &s.width, &s.height, &s.at.X, &s.at.Y, &s.key.X, &s.key.Y,
			&s.colour, &s.door.X, &s.door.Y, &s.out.X, &s.out.Y); n == 13 {
			s.task = m.Content
		}
	}
	house, _, _ := strings.Cut(strings.TrimPrefix(s.task, "You are below "), " ")
	s.house = strings.ToLower(house)
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
		}
	}
	return s
}

// The sentences of advice. They begin with plain words, which Go's expressions find fast:
// each call of the player reads all messages.
var (
	avoidAdvice = regexp.MustCompile(`do not step on (\w+) ground`)
	holdsAdvice = regexp.MustCompile(`(\w+) ground holds`)
	below       = regexp.MustCompile(`below (\w+)`)
)

// heed reads advice of memories, the instruction or a tool's description.
func (s *scene) heed(text string) {
	for line := range strings.Lines(strings.ReplaceAll(strings.ToLower(text), "\n  experience:", "")) {
		if m := below.FindStringSubmatch(line); m == nil || m[1] == s.house || s.house == "" { // else it is about another house
			s.heedLine(line)
		}
	}
}

func (s *scene) heedLine(text string) {
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
	s.careful = s.careful || strings.Contains(text, "inspect ground of a sort that you have not stood on")
}

// result reads the answer of a tool.
func (s *scene) result(arguments, text string) {
	s.failed[arguments] = strings.HasPrefix(text, failure)
	s.over = s.over || strings.Contains(text, "It is over.")
	v := &view{}
	if json.Unmarshal([]byte(text), v) != nil {
		return
	}
	s.at = v.At
	if v.Near != nil { // else the visitor fell, or is still in its place
		for _, word := range sorts(s.seen[s.at]) {
			s.stood[word]++
		}
	}
	s.events[v.Event] = true
	for _, p := range v.Near {
		s.seen[p.Where] = p.What
	}
	if v.Ground != nil {
		s.inspected[v.Ground.Where] = v.Ground.What == holds
	}
}

// next returns the tool to call now, and its arguments: towards the key, then the door, then the
// exit.
func (s *scene) next() (tool, arguments string) {
	goal := s.out
	switch {
	case !s.events[tookKey]:
		goal = s.key
	case !s.events[opened]:
		goal = s.door
	}
	if len(s.seen) == 0 {
		return "look", "{}"
	}
	n := hash(s.task) % 4 // of equal ways it takes another one at another attempt
	step, _ := search(s.at, goal, slices.Concat(directions[n:], directions[:n]), s.cost)
	arguments = fmt.Sprintf(`{"direction":%q}`, step.name)
	switch next := s.at.Add(step.point); {
	case next == s.door && !s.events[opened]:
		return "open_door", s.openDoor()
	case s.careful && s.strange(next):
		return "inspect", arguments
	}
	return "move", arguments
}

// openDoor writes the colour of the door as advice says, else in one form after the other: one
// of them is right.
func (s *scene) openDoor() (arguments string) {
	for _, i := range append(s.forms, 0, 1, 2, 3) {
		if arguments = fmt.Sprintf(`{"colour":%q}`, forms[i].write(s.colour)); !s.failed[arguments] {
			break
		}
	}
	return arguments
}

// strange reports whether ground is of a new sort, which neither a step nor advice has shown to
// hold.
func (s *scene) strange(p point) bool {
	_, inspected := s.inspected[p]
	return !inspected && slices.ContainsFunc(sorts(s.seen[p]), func(w string) bool { return s.stood[w] == 0 && !s.hold[w] })
}

// cost is the cost of going to a place, 0 if that is impossible. An unseen place is a little dearer
// than ground, and a place that advice warns of is the last resort. Ground that held a step is safe
// in spite of warnings: one step says more than a suspicion.
func (s *scene) cost(p point) int {
	held, inspected := s.inspected[p]
	sight, seen := s.seen[p]
	warned := func(w string) bool { return s.avoid[w] && !s.hold[w] }
	switch {
	case !p.In(image.Rect(0, 0, s.width, s.height)), inspected && !held, sight == wallSight:
		return 0
	case slices.ContainsFunc(sorts(sight), warned):
		return 1000
	case seen:
		return 10
	}
	return 11
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
