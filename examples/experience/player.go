// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// player returns the model that plays. It goes where it has not been until it knows where
// things are, and then the shortest way. Memories and the instruction change where it goes
// and how it calls tools; it takes them for what they say, right or wrong.
func player() *scripted { return &scripted{answer: nextCall} }

// nextCall returns the next call, or, when the attempt is over, a last word.
func nextCall(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	s := read(in)
	for _, t := range tools {
		s.learn(t.Desc)
	}
	switch {
	case s.task == "":
		return nil, fmt.Errorf("%w: no message says how large the cellar is", backends.ErrInvalid)
	case s.out:
		return schema.AssistantMessage("I am out.", nil), nil
	case s.over:
		return schema.AssistantMessage("I did not get out.", nil), nil
	}
	tool, arguments := s.next()
	return call(fmt.Sprintf("call-%08x-%d", hash(s.task)>>32, len(in)), tool, arguments)
}

// scene is what the messages of an attempt say.
type scene struct {
	task          string
	width, height int
	colour        string // of the door
	at            point
	seen          map[point]string    // what a place looks like
	stood         map[string]bool     // sorts of ground that were stood on
	things        map[string]point    // where the key, the door and the exit are
	scanned       map[point]int       // the radius of scans that worked, by where they were made
	failed        map[string][]string // the argument of calls that failed, by tool: no tool has two
	worked        map[string][]string // the argument of calls that did not
	inspected     map[point]bool      // whether the ground would hold
	looked        bool
	hasKey, open  bool
	over, out     bool
	lessons
}

// lessons is what texts say is to be done, in sentences that the player understands.
type lessons struct {
	avoid, hold map[string]bool // sorts of ground
	forms       []form          // of the colour of the door
	least, most int             // of the scanner's radius
	careful     bool            // inspect ground of a sort that is new
}

// read returns what messages say.
func read(messages []*schema.Message) *scene {
	s := &scene{
		seen: map[point]string{}, stood: map[string]bool{}, things: map[string]point{}, scanned: map[point]int{},
		failed: map[string][]string{}, worked: map[string][]string{}, inspected: map[point]bool{},
		lessons: lessons{avoid: map[string]bool{}, hold: map[string]bool{}, least: 1, most: maxRadius},
	}
	calls := map[string]schema.FunctionCall{}
	for _, m := range messages {
		switch m.Role {
		case schema.Tool:
			s.result(calls[m.ToolCallID], m.Content)
		case schema.Assistant:
			for _, c := range m.ToolCalls {
				calls[c.ID] = c.Function
			}
		default:
			if !s.begin(m.Content) {
				s.learn(m.Content)
			}
		}
	}
	return s
}

// begin reads the task, and reports whether the text is one.
func (s *scene) begin(text string) bool {
	var name string
	n, _ := fmt.Sscanf(text, taskFormat, &name, &s.width, &s.height, &s.at.X, &s.at.Y, &s.colour)
	if n < 6 {
		return false
	}
	s.task = text
	return true
}

// The sentences of lessons. They begin with plain words, which Go's expressions find fast:
// each call of the player reads all messages.
var (
	avoidLesson = regexp.MustCompile(`do not step on (\w+) ground`)
	holdsLesson = regexp.MustCompile(`(\w+) ground holds`)
	formLesson  = regexp.MustCompile(`in calls of open_door write colour (in|with|as) [\w ]+`)
	boundLesson = regexp.MustCompile(`in calls of scan keep radius at (\d+) or (below|above)`)
)

// learn reads what memories, the instruction or a tool's description say.
func (l *lessons) learn(text string) {
	text = strings.ToLower(text)
	if !strings.Contains(text, "ground") && !strings.Contains(text, "in calls of") {
		return
	}
	for _, m := range avoidLesson.FindAllStringSubmatch(text, -1) {
		l.avoid[m[1]] = true
	}
	for _, m := range holdsLesson.FindAllStringSubmatch(text, -1) {
		l.hold[m[1]] = true
	}
	for _, m := range formLesson.FindAllString(text, -1) {
		l.forms = append(l.forms, form(strings.TrimPrefix(m, "in calls of open_door write colour ")))
	}
	for _, m := range boundLesson.FindAllStringSubmatch(text, -1) {
		if m[2] == "below" {
			l.most = min(l.most, number(m[1]))
		} else {
			l.least = max(l.least, number(m[1]))
		}
	}
	l.careful = l.careful || strings.Contains(text, "inspect ground of a sort that you have not stood on")
}

// number returns the number that a text is, or 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// result reads what a tool answered.
func (s *scene) result(call schema.FunctionCall, text string) {
	outcome := s.worked
	if strings.HasPrefix(text, failure) {
		outcome = s.failed
	}
	var arguments object
	_ = json.Unmarshal([]byte(call.Arguments), &arguments) // else it has none
	for _, v := range arguments {
		outcome[call.Name] = append(outcome[call.Name], fmt.Sprint(v))
	}
	s.over = s.over || strings.Contains(text, "It is over.")
	v := viewOf(text)
	if v == nil {
		return
	}
	s.at, s.looked = v.At, true
	for _, word := range sorts(s.seen[s.at]) {
		s.stood[word] = s.stood[word] || !s.over
	}
	s.out = s.out || v.Event == gotOut
	s.hasKey = s.hasKey || v.Event == tookKey
	s.open = s.open || v.Event == opened
	for _, p := range v.Near {
		s.seen[p.Where] = p.What
		for _, thing := range []string{"key", "door", "exit"} {
			if strings.Contains(p.What, thing) {
				s.things[thing] = p.Where
			}
		}
	}
	if v.Radius > 0 {
		s.scanned[v.At] = v.Radius
	}
	for _, p := range v.Found {
		s.things[p.What] = p.Where
	}
	if v.Ground != nil {
		s.inspected[v.Ground.Where] = v.Ground.Holds
	}
}

// next returns the tool to call now, and its arguments.
func (s *scene) next() (tool string, arguments object) {
	if !s.looked {
		return "look", object{}
	}
	goal := s.goal()
	where, known := s.things[goal]
	if goal == "door" && known && s.at.distance(where) == 1 {
		return "open_door", object{"colour": s.colourToSay()}
	}
	if !known && !s.scannedNear() {
		if n := s.radius(); n > 0 {
			return "scan", object{"radius": n}
		}
	}
	step := s.step(where, known)
	if s.careful && s.strange(s.at.to(step)) {
		return "inspect", object{"direction": step.name}
	}
	return "move", object{"direction": step.name}
}

// goal is the thing to go to.
func (s *scene) goal() string {
	switch {
	case !s.hasKey:
		return "key"
	case !s.open:
		return "door"
	}
	return "exit"
}

// colourToSay returns the colour of the door as lessons say to write it, else in the
// next way that has not failed.
func (s *scene) colourToSay() string {
	advised := slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return !slices.Contains(s.forms, f) })
	for _, f := range append(advised, forms...) {
		if way := f.write(s.colour); !slices.Contains(s.failed["open_door"], way) {
			return way
		}
	}
	return s.colour
}

// radius returns the radius to scan: one that worked, else the largest that lessons
// allow, else the next around the middle that has not failed. It is 0 when all have.
func (s *scene) radius() int {
	if worked := s.worked["scan"]; len(worked) > 0 {
		return number(worked[len(worked)-1])
	}
	var tries []int
	if s.least > 1 || s.most < maxRadius {
		for n := s.most; n >= s.least; n-- {
			tries = append(tries, n)
		}
	}
	for _, n := range append(tries, 3, 2, 4, 1, 5) {
		if !slices.Contains(s.failed["scan"], strconv.Itoa(n)) {
			return n
		}
	}
	return 0
}

// scannedNear reports whether a scan from here would say nothing new.
func (s *scene) scannedNear() bool {
	for p, r := range s.scanned {
		if p.distance(s.at) <= max(2, r) {
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
	return slices.ContainsFunc(sorts(s.seen[p]), func(w string) bool { return !s.stood[w] && !s.hold[w] })
}

// warned reports whether lessons say to avoid such ground. Ground that is known to hold
// is not: one step on it without harm says more than a suspicion.
func (s *scene) warned(sight string) bool {
	return slices.ContainsFunc(sorts(sight), func(w string) bool { return s.avoid[w] && !s.hold[w] })
}

// The cost of going onto ground: a place not seen yet is a little dearer than what was
// seen to be ground, and what lessons warn of is the last resort.
const (
	costGround  = 10
	costUnseen  = 11
	costWarned  = 1000
	unreachable = 1 << 30
)

func (s *scene) cost(p point) int {
	if p.X < 0 || p.Y < 0 || p.X >= s.width || p.Y >= s.height {
		return unreachable
	}
	holds, inspected := s.inspected[p]
	sight, seen := s.seen[p]
	switch {
	case inspected && !holds, sight == wallSight, sight == doorSight && !s.open:
		return unreachable
	case !seen:
		return costUnseen
	case s.warned(sight):
		return costWarned
	}
	return costGround
}

// step returns the direction of the first step on the cheapest way to a place, or, if
// it is not known, to the nearest place not seen yet.
func (s *scene) step(to point, known bool) direction {
	arrived := func(p point) bool {
		if known {
			return p == to || s.goal() == "door" && p.distance(to) == 1
		}
		_, seen := s.seen[p]
		return !seen && p != s.at
	}
	order := s.order()
	costs := map[point]int{s.at: 0}
	first := map[point]direction{}
	for open := []point{s.at}; len(open) > 0; {
		p := slices.MinFunc(open, func(a, b point) int { return costs[a] - costs[b] }) // the first of equals
		open = slices.DeleteFunc(open, func(q point) bool { return q == p })
		if d, ok := first[p]; ok && arrived(p) {
			return d
		}
		for _, d := range order {
			next := p.to(d)
			cost := s.cost(next)
			before, queued := costs[next]
			if cost == unreachable || queued && before <= costs[p]+cost {
				continue
			}
			if !queued {
				open = append(open, next)
			}
			costs[next], first[next] = costs[p]+cost, d
			if p != s.at {
				first[next] = first[p]
			}
		}
	}
	return order[0] // nowhere to go
}

// order returns the directions in an order that follows from the words of the task: of
// equal ways the player takes another one at another attempt.
func (s *scene) order() []direction {
	n, left := hash(s.task), slices.Clone(directions)
	var out []direction
	for len(left) > 0 {
		i := int(n % uint64(len(left)))
		n /= uint64(len(left))
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
