// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
)

type point struct{ x, y int }

func (p point) to(d direction) point { return point{p.x + d.dx, p.y + d.dy} }

func distance(a, b point) int { return max(a.x-b.x, b.x-a.x) + max(a.y-b.y, b.y-a.y) }

type direction struct {
	name   string
	dx, dy int
}

var directions = []direction{{"north", 0, -1}, {"east", 1, 0}, {"south", 0, 1}, {"west", -1, 0}}

// scene is what the messages of an attempt say.
type scene struct {
	task          string
	width, height int
	colour        string // of the door
	at            point
	seen          map[point]string    // what a place looks like
	sorts         map[string]bool     // of ground that was stood on
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
	shapes      []string        // how to write the colour of the door
	least, most int             // of the scanner's radius
	careful     bool            // inspect ground of a sort that is new
}

// The patterns begin with plain words, which Go's expressions find fast: each call of
// the player reads all messages.
var (
	sizeText   = regexp.MustCompile(`(\d+) by (\d+) cells`)
	hereText   = regexp.MustCompile(`You (?:stand|are) at \((\d+),(\d+)\)`)
	doorText   = regexp.MustCompile(`the (\w+) door`)
	thingText  = regexp.MustCompile(`(key|door|exit) at \((\d+),(\d+)\)`)
	holdText   = regexp.MustCompile(`The ground at \((-?\d+),(-?\d+)\) (holds|would give way)`)
	radiusText = regexp.MustCompile(`Within (\d+) of \((\d+),(\d+)\)`)

	avoidLesson = regexp.MustCompile(`do not step on (\w+) ground`)
	holdsLesson = regexp.MustCompile(`(\w+) ground holds`)
	shapeLesson = regexp.MustCompile(`in calls of open_door write colour (in capital letters|with a capital letter first|as its first letter alone|in small letters)`)
	boundLesson = regexp.MustCompile(`in calls of scan keep radius at (\d+) or (below|above)`)
)

const carefulLesson = "inspect ground of a sort that you have not stood on"

// read returns what messages say. They are only read.
func read(messages []*schema.Message) *scene {
	s := &scene{
		seen: map[point]string{}, sorts: map[string]bool{}, things: map[string]point{}, scanned: map[point]int{},
		failed: map[string][]string{}, worked: map[string][]string{}, inspected: map[point]bool{},
		lessons: lessons{avoid: map[string]bool{}, hold: map[string]bool{}, least: 1, most: maxRadius},
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
		case sizeText.MatchString(m.Content):
			s.begin(m.Content)
		default:
			s.learn(m.Content)
		}
	}
	return s
}

// begin takes in the task: the last message with a size.
func (s *scene) begin(task string) {
	s.task = task
	m := sizeText.FindStringSubmatch(task)
	s.width, s.height = number(m[1]), number(m[2])
	if m := hereText.FindStringSubmatch(task); m != nil {
		s.at = point{number(m[1]), number(m[2])}
	}
	if m := doorText.FindStringSubmatch(task); m != nil {
		s.colour = m[1]
	}
}

// learn takes in what memories, the instruction or a tool's description say.
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
	for _, m := range shapeLesson.FindAllStringSubmatch(text, -1) {
		l.shapes = append(l.shapes, m[1])
	}
	for _, m := range boundLesson.FindAllStringSubmatch(text, -1) {
		if m[2] == "below" {
			l.most = min(l.most, number(m[1]))
		} else {
			l.least = max(l.least, number(m[1]))
		}
	}
	l.careful = l.careful || strings.Contains(text, carefulLesson)
}

// failure begins the answer of a call that failed.
const failure = "error: "

// result takes in what a tool answered.
func (s *scene) result(call schema.FunctionCall, text string) {
	outcome := s.worked
	if strings.HasPrefix(text, failure) {
		outcome = s.failed
	}
	var arguments map[string]any
	_ = json.Unmarshal([]byte(call.Arguments), &arguments) // else it has none
	for _, v := range arguments {
		outcome[call.Name] = append(outcome[call.Name], fmt.Sprint(v))
	}
	s.over = s.over || strings.Contains(text, "It is over.")
	s.out = s.out || strings.Contains(text, "you are out")
	s.hasKey = s.hasKey || strings.Contains(text, "You take the key")
	s.open = s.open || strings.Contains(text, "door is open")
	if m := hereText.FindStringSubmatch(text); m != nil {
		s.at, s.looked = point{number(m[1]), number(m[2])}, true
		for _, word := range ground(s.seen[s.at]) {
			s.sorts[word] = s.sorts[word] || !s.over
		}
	}
	s.look(text)
}

// look takes in what was seen of places.
func (s *scene) look(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p, what, ok := sight(line)
		if !ok {
			continue
		}
		s.seen[p] = what
		for _, thing := range []string{"key", "door", "exit"} {
			if strings.Contains(what, thing) {
				s.things[thing] = p
			}
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

// sight reads a line that says what a place looks like: "east (1,2): plain ground".
func sight(line string) (p point, what string, ok bool) {
	name, rest, _ := strings.Cut(line, " (")
	at, what, ok := strings.Cut(rest, "): ")
	x, y, _ := strings.Cut(at, ",")
	ok = ok && slices.ContainsFunc(directions, func(d direction) bool { return d.name == name })
	return point{number(x), number(y)}, what, ok
}

// ground returns the words that say what ground is like, without "ground" itself; nil
// for what is no ground.
func ground(sight string) []string {
	words := strings.FieldsFunc(sight, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if len(words) < 2 || words[len(words)-1] != "ground" {
		return nil
	}
	words = words[:len(words)-1]
	return words[slices.Index(words, "on")+1:] // the key, on …
}

// number returns the number that a text is, or 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
