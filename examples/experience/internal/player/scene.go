// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package player

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
)

type point struct{ x, y int }

// scene is what messages tell.
type scene struct {
	task          string
	width, height int
	colour        string // of the door
	at            point
	seen          map[point]string   // what was said of a place
	sorts         map[string]bool    // of ground that was stood on
	things        map[string]point   // where the key, the door and the exit are
	scanned       map[point]int      // the radius of scans that worked, by where they were made
	failed        map[string][]value // arguments of calls that failed, by tool and argument
	worked        map[string][]value // arguments of calls that did not
	inspected     map[point]bool     // whether the ground would hold
	looked        bool
	hasKey, open  bool
	over          bool
	out           bool
	lessons       *lessons
}

// value is an argument as it was given.
type value string

func (v value) number() int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return 0
	}
	return n
}

var (
	sizeText   = regexp.MustCompile(`(\d+) by (\d+) cells`)
	startText  = regexp.MustCompile(`You (?:stand|are) at \((\d+),(\d+)\)`)
	doorText   = regexp.MustCompile(`the (\w+) door`)
	thingText  = regexp.MustCompile(`(key|door|exit) at \((\d+),(\d+)\)`)
	holdText   = regexp.MustCompile(`The ground at \((-?\d+),(-?\d+)\) (holds|would give way)`)
	radiusText = regexp.MustCompile(`Within (\d+) of \((\d+),(\d+)\)`)
)

// read returns what messages tell. They are only read.
func read(messages []*schema.Message) *scene {
	s := &scene{
		seen: map[point]string{}, sorts: map[string]bool{}, things: map[string]point{}, scanned: map[point]int{},
		failed: map[string][]value{}, worked: map[string][]value{}, inspected: map[point]bool{}, lessons: &lessons{},
	}
	calls := map[string]schema.FunctionCall{}
	for _, m := range messages {
		switch {
		case m == nil:
		case m.Role == schema.Tool:
			s.result(calls[m.ToolCallID], m.Content)
		case m.Role == schema.Assistant:
			for _, c := range m.ToolCalls {
				calls[c.ID] = c.Function
			}
		default:
			s.told(m.Content)
		}
	}
	return s
}

// told takes in what the user, the instruction or memory says. The last message with
// a size is the task.
func (s *scene) told(text string) {
	if m := sizeText.FindStringSubmatch(text); m != nil {
		s.task = text
		s.width, s.height = number(m[1]), number(m[2])
		if m := startText.FindStringSubmatch(text); m != nil {
			s.at = point{number(m[1]), number(m[2])}
		}
		if m := doorText.FindStringSubmatch(text); m != nil {
			s.colour = m[1]
		}
		return
	}
	s.lessons.learn(text)
}

// result takes in what a tool answered.
func (s *scene) result(call schema.FunctionCall, text string) {
	outcome := s.worked
	if strings.HasPrefix(text, failure) {
		outcome = s.failed
	}
	for name, v := range arguments(call) {
		key := call.Name + "." + name
		outcome[key] = append(outcome[key], v)
	}
	s.over = s.over || strings.Contains(text, "It is over.")
	s.out = s.out || strings.Contains(text, "you are out")
	s.hasKey = s.hasKey || strings.Contains(text, "You take the key")
	s.open = s.open || strings.Contains(text, "door is open")
	if m := startText.FindStringSubmatch(text); m != nil {
		s.at, s.looked = point{number(m[1]), number(m[2])}, true
		s.stood()
	}
	s.sights(text)
}

// failure begins the answer of a call that failed.
const failure = "error: "

// stood notes the sort of ground that the player is on and that holds it.
func (s *scene) stood() {
	if sort, ok := ground(s.seen[s.at]); ok && !s.over {
		for _, word := range sort {
			s.sorts[word] = true
		}
	}
}

// sights takes in what was seen of places.
func (s *scene) sights(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		name, rest, _ := strings.Cut(line, " (")
		at, what, ok := strings.Cut(rest, "): ")
		x, y, _ := strings.Cut(at, ",")
		if ok && slices.ContainsFunc(directions, func(d direction) bool { return d.name == name }) {
			s.sight(point{number(x), number(y)}, what)
		}
	}
	if m := radiusText.FindStringSubmatch(text); m != nil {
		s.scanned[point{number(m[2]), number(m[3])}] = number(m[1])
		for _, m := range thingText.FindAllStringSubmatch(text, -1) {
			s.things[m[1]] = point{number(m[2]), number(m[3])}
		}
	}
	if m := holdText.FindStringSubmatch(text); m != nil {
		s.inspected[point{number(m[1]), number(m[2])}] = m[3] == "holds"
	}
}

func (s *scene) sight(p point, what string) {
	s.seen[p] = what
	for _, thing := range []string{"key", "door", "exit"} {
		if strings.Contains(what, thing) {
			s.things[thing] = p
		}
	}
}

// ground returns the words that say what ground is like, without "ground" itself.
func ground(sight string) ([]string, bool) {
	words := strings.FieldsFunc(sight, notLetter)
	if len(words) < 2 || words[len(words)-1] != "ground" {
		return nil, false
	}
	words = words[:len(words)-1]
	if i := slices.Index(words, "on"); i >= 0 { // the key, on …
		words = words[i+1:]
	}
	return words, true
}

func arguments(call schema.FunctionCall) map[string]value {
	var raw map[string]any
	if json.Unmarshal([]byte(call.Arguments), &raw) != nil {
		return nil
	}
	out := map[string]value{}
	for name, v := range raw {
		switch v := v.(type) {
		case string:
			out[name] = value(v)
		case float64:
			out[name] = value(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return out
}

func number(s string) int { return value(s).number() }

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
