// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package stories

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/middleware"
)

// Story is a conversation over several sessions, with the wants of the notes of its questions.
// [Parse] reads it, and [Story.Run] tells it to a memory, once: its time goes on with it.
type Story struct {
	Name string
	// NoModel says that memory keeps words alone: "stale" is left unchecked then, because only
	// dates tell what holds. Optional. Defaults to false.
	NoModel bool

	mu     sync.Mutex // memory reads the clock and asks the model in its own goroutines
	now    time.Time
	steps  []step
	unseen []string // facts that end, and that were hidden from the scripted model
}

// step is a message, or time that passes between two sessions.
type step struct {
	line          int
	role          schema.RoleType // empty: time passes
	asks          bool            // the story looks at its note
	speaker, text string
	teaches       []lesson
	wants         [][2]string // the wants of the note: a word, and texts or a number
	later         func(time.Time) time.Time
}

// lesson is an operation that a message teaches, and the fact that ends by it, or texts of the
// facts that it forgets.
type lesson struct {
	old       string
	operation map[string]any
}

var (
	spoken  = regexp.MustCompile(`^(user|assistant|ask)(?:\[(.+)\])?: (.+)$`)
	passing = regexp.MustCompile(`^-- (\d+) (minute|hour|day|week)s?$`)
	wanted  = regexp.MustCompile(`^(?:(first|says|never|stale|empty): (.+)|(small): (\d+))$`)
	taught  = regexp.MustCompile(`^  (?:\+ (.+)|- (.+)|! (.+)|(.+?) => (.+))$`)
	mark    = regexp.MustCompile(`^(.*) \[(standing|delicate|about|since)(?:: ([^\]]+))?\]$`)
)

// Parse reads stories: the comment of the package says how they are written. An error names the
// line that is wrong, and why.
func Parse(r io.Reader) (all []*Story, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " \r")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, &Story{Name: name, now: time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)})
		} else if len(all) > 0 && line != "" {
			if err := all[len(all)-1].read(n, line); err != nil {
				return nil, fmt.Errorf("stories: line %d: %w: %s", n, err, line)
			}
		}
	}
	return all, lines.Err()
}

// read adds a line to a story.
func (s *Story) read(n int, line string) error {
	last := &step{}
	if len(s.steps) > 0 {
		last = &s.steps[len(s.steps)-1]
	}
	if m := spoken.FindStringSubmatch(line); m != nil {
		if m[1] == "assistant" && last.role != schema.User {
			return errors.New("it answers no message")
		}
		role := map[string]schema.RoleType{"user": schema.User, "ask": schema.User, "assistant": schema.Assistant}[m[1]]
		s.steps = append(s.steps, step{line: n, role: role, asks: m[1] == "ask", speaker: m[2], text: m[3]})
	} else if m := passing.FindStringSubmatch(line); m != nil {
		s.wait(m[1], m[2])
	} else if at, ok := strings.CutPrefix(line, "clock: "); ok {
		return s.set(at)
	} else if last.role == "" {
		return errors.New("it stands below no message")
	} else if m := wanted.FindStringSubmatch(line); m != nil && last.asks {
		last.wants = append(last.wants, [2]string{m[1] + m[3], m[2] + m[4]})
	} else if m := taught.FindStringSubmatch(line); m != nil {
		last.teach(m[1]+m[5], m[2], m[3], m[4])
	} else if more, ok := strings.CutPrefix(line, "> "); ok {
		last.text += "\n" + more
	} else {
		return errors.New("it is no line of a story, or stands below no ask")
	}
	return nil
}

// wait lets time pass: days keep the hour where the user lives.
func (s *Story) wait(count, unit string) {
	n, _ := strconv.Atoi(count) // the pattern has digits alone
	days := n * map[string]int{"day": 1, "week": 7}[unit]
	rest := time.Duration(n) * map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[unit]
	s.steps = append(s.steps, step{later: func(t time.Time) time.Time { return t.AddDate(0, 0, days).Add(rest) }})
}

// set sets the clock: where the story begins, or at a new session.
func (s *Story) set(at string) error {
	const form = "Mon 2006-01-02 15:04"
	end := max(0, strings.LastIndex(at, " "))
	where, err := time.LoadLocation(strings.TrimSpace(at[end:]))
	if err != nil {
		return err
	}
	t, err := time.ParseInLocation(form, at[:end], where)
	if err == nil && t.Format(form) != at[:end] {
		err = fmt.Errorf("that day is a %s", t.Weekday())
	}
	if len(s.steps) == 0 {
		s.now = t
	}
	s.steps = append(s.steps, step{later: func(time.Time) time.Time { return t }})
	return err
}

// teach adds the lesson of a line below a message.
func (s *step) teach(now, ends, forgotten, superseded string) {
	l := lesson{old: ends + forgotten + superseded, operation: map[string]any{"op": "add"}}
	for m := mark.FindStringSubmatch(now); m != nil; m = mark.FindStringSubmatch(now) {
		now, l.operation[m[2]] = m[1], map[string]any{"about": strings.Split(m[3], ", "), "since": m[3]}[m[2]]
		if m[3] == "" {
			l.operation[m[2]] = true
		}
	}
	l.operation["text"] = now
	for op, old := range map[string]string{"retract": ends, "forget": forgotten, "supersede": superseded} {
		if old != "" {
			l.operation["op"] = op
		}
	}
	s.teaches = append(s.teaches, l)
}

// Note is the note that a question was shown.
type Note struct {
	Line     int // of the question
	Question string
	Text     string   // empty: memory stayed silent
	Wrong    []string // the lines of the story that fail
}

// Now is the time of the story, where the user lives: a backends.Clock for each Config that has
// one, of the middleware, the backend and the store. Its Location goes to each Config that
// has one. It is safe for concurrent use.
func (s *Story) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// pass sets the time.
func (s *Story) pass(later func(time.Time) time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = later(s.now)
}

// Run tells the story to a memory, which goes by the story's time, and returns the notes of its
// questions. Each message goes to the memory with the earlier ones of its session, as chat programs
// send them, and is learnt from before the next. The scope of ctx says whose memory it is; its user
// defaults to "reader". The memory stays the caller's to close.
//
// An error comes from learning, and names the line. A note that differs from the story lists the
// failed lines in Wrong.
func (s *Story) Run(ctx context.Context, mem *middleware.MemoryMiddleware) (notes []Note, err error) {
	scope, _ := backends.ScopeFrom(ctx)
	scope = scope.Or(backends.Scope{UserID: "reader"})
	var session []*schema.Message
	for i, step := range s.steps {
		switch step.role {
		case "":
			s.pass(step.later)
			session = nil
		case schema.User:
			if session == nil {
				scope.SessionID = fmt.Sprint("session ", i)
			}
			answer := schema.AssistantMessage("Let me think.", nil)
			if i+1 < len(s.steps) && s.steps[i+1].role == schema.Assistant {
				answer.Content = s.steps[i+1].text
			}
			session = append(session, &schema.Message{Role: schema.User, Name: step.speaker, Content: step.text})
			note, err := turn(backends.WithScope(ctx, scope), mem, session, answer)
			if err != nil {
				return notes, fmt.Errorf("stories: %s: line %d: %w", s.Name, step.line, err)
			}
			if session = append(session, answer); step.asks {
				notes = append(notes, s.judge(&step, note))
			}
			s.pass(func(t time.Time) time.Time { return t.Add(time.Minute) })
		}
	}
	return notes, nil
}

// turn puts messages to the memory as an agent does, and waits until the turn is learnt from.
func turn(ctx context.Context, mem *middleware.MemoryMiddleware, session []*schema.Message, answer *schema.Message) (note string, err error) {
	messages, err := mem.Prepare(ctx, slices.Clone(session))
	if err != nil {
		return "", err
	}
	shown := einox.Unfold(messages)
	if at := slices.IndexFunc(shown, func(m einox.Marked) bool { return m.Kind == einox.Note }); at >= 0 {
		note = shown[at].Content
	}
	return note, errors.Join(mem.Finish(ctx, append(messages, answer)), mem.Flush(ctx))
}

// past matches the words of a note for a fact that held before, and a whole line of one that ended.
var past = regexp.MustCompile(` ?\((?:before|until)\b[^)]*\)|（(?:之前|至)[^）]*）|.*(?: \((?:no longer holds|ended)|（已不再成立|日已结束).*`)

// judge checks a note against the wants of the story.
func (s *Story) judge(asked *step, note string) Note {
	n := Note{Line: asked.line, Question: asked.text, Text: note}
	first := strings.Join(strings.SplitAfterN(note, "\n- ", 3)[:min(2, 1+strings.Count(note, "\n- "))], "")
	for _, w := range asked.wants {
		most, _ := strconv.Atoi(w[1])
		if !map[string]bool{
			"says": contains(note, w[1]), "first": contains(first, w[1]), "never": !contains(note, w[1]),
			"stale": s.NoModel || !contains(past.ReplaceAllString(note, ""), w[1]),
			"small": text.Tokens(note) <= most, "empty": note == "",
		}[w[0]] {
			n.Wrong = append(n.Wrong, w[0]+": "+w[1])
		}
	}
	if len(n.Wrong) > 0 && len(s.unseen) > 0 {
		n.Wrong = append(n.Wrong, "(the scripted model was not shown: "+strings.Join(s.unseen, " | ")+")")
	}
	return n
}

// Model returns the scripted model, for mem0.Config.Model: asked for the facts in new messages, it
// answers with the lines below them in the story. It knows the questions of package mem0 alone, in
// its modes of one question. A story may be told to memory with another model; see NoModel.
func (s *Story) Model() model.BaseChatModel { return learner{s} }

type learner struct{ *Story }

// Stream implements model.BaseChatModel.
func (l learner) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("stories: the scripted model learns and does not chat")
}

// shown is a line of a question: something known has an index, and a new message a number.
type shown struct {
	N, Index   *int
	Role, Text string
}

// Generate implements model.BaseChatModel.
func (l learner) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, operations := []shown{}, []map[string]any{}
	for line := range strings.Lines(in[len(in)-1].Content) { // known facts stand before new messages
		var one shown
		if json.Unmarshal([]byte(line), &one) == nil && one.Index != nil {
			known = append(known, one)
		} else if one.N != nil {
			for _, lesson := range l.lessons(one) {
				operations = append(operations, l.carryOut(lesson, one, known)...)
			}
		}
	}
	answer, err := json.Marshal(map[string]any{"operations": operations})
	return schema.AssistantMessage(string(answer), nil), err
}

// lessons returns the lessons of a message of the story. A long message is shown in parts.
func (l learner) lessons(said shown) []lesson {
	for _, one := range l.steps {
		if string(one.role) == said.Role && len(one.teaches) > 0 && strings.Contains(redact.Text(one.text), said.Text) {
			return one.teaches
		}
	}
	return nil
}

// carryOut returns a lesson as operations. A model can only name a fact that it is shown: else the
// text that replaces it is new.
func (l learner) carryOut(lesson lesson, said shown, known []shown) (all []map[string]any) {
	op := maps.Clone(lesson.operation)
	op["said_by"], op["messages"] = said.Role, []int{*said.N}
	for _, one := range known {
		if one.Text == lesson.old || op["op"] == "forget" && contains(one.Text, lesson.old) {
			named := maps.Clone(op)
			named["index"] = *one.Index
			all = append(all, named)
		}
	}
	if len(all) > 0 || op["op"] == "forget" {
		return all
	}
	if lesson.old != "" {
		l.unseen = append(l.unseen, lesson.old)
	}
	if op["op"] = "add"; op["text"] != "" {
		all = append(all, op)
	}
	return all
}

// contains reports whether a text has one of others, between which a bar stands.
func contains(text, others string) bool {
	return slices.ContainsFunc(strings.Split(others, " | "), func(one string) bool { return strings.Contains(text, one) })
}
