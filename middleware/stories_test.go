// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// failWithoutModel names the stories whose note is wrong where no model learns. A story that
// comes right has to leave the list.
var failWithoutModel = []string{
	// a correction in words of its own is not found
	"Sorry, I meant Tuesday", "A wrong number corrected", "说错了，是周二",
	// the answer is in other words than the question
	"The book that the assistant suggested", "助手推荐的餐厅",
	// an assistant's restatement is shown
	"Asked before",
}

const (
	leastWithoutModel = 0.85 // of the stories
	toTheQuestion     = "Let me think."
)

// Each story of testdata/stories.txt is told to an agent with memory; the note of its last
// question has to be as the story says.
func TestStories(t *testing.T) {
	stories := parseStories(t)
	require.GreaterOrEqual(t, len(stories), 64)
	for _, mode := range []modes.Mode{modes.StaticControl, modes.Both} {
		for _, arm := range []string{"with a model", "without a model"} {
			if mode == modes.Both && arm == "without a model" || mode != modes.Both && testkit.Raced() {
				continue // what the note shows is no matter of the mode
			}
			t.Run(string(mode)+", "+arm, func(t *testing.T) {
				right := map[string]int{}
				for _, s := range stories {
					t.Run(s.name, func(t *testing.T) {
						testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
							learns := arm == "with a model"
							wrong := s.tell(t, db, clock, mode, learns)
							known := !learns && slices.Contains(failWithoutModel, s.name)
							if wrong == "" {
								right[path.Base(t.Name())]++
								require.False(t, known, "it passes: take it from the list failWithoutModel")
							} else if t.Log(wrong); !known {
								t.Fail()
							}
						})
					})
				}
				for _, name := range []string{"sqlite", "redis"} {
					share := float64(right[name]) / float64(len(stories))
					t.Logf("%s: %d of %d stories, %.1f %%", name, right[name], len(stories), 100*share)
					assert.GreaterOrEqual(t, share, leastWithoutModel)
				}
			})
		}
	}
}

// story is a conversation over several sessions, and what the note of its question shows.
type story struct {
	name  string
	steps []step // the last of them is the question
	want  []want
}

// step is a message, or time that passes between two sessions.
type step struct {
	role, speaker, text string
	teaches             []lesson
	later               time.Duration
}

// want is what a bullet has: one of the texts, or none of them.
type want struct {
	kind  string
	texts []string
}

var (
	spoken  = regexp.MustCompile(`^(user|assistant|ask)(?:\[(.+)\])?: (.+)$`)
	taught  = regexp.MustCompile(`^  (?:\+ (.+)|- (.+)|(.+) => (.+))$`)
	passing = regexp.MustCompile(`^-- (\d+) (day|hour)s?$`)
	wanted  = regexp.MustCompile(`^(first|has|never|stale|empty): (.+)$`)
	units   = map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour}
)

// parseStories reads testdata/stories.txt, whose head says how it is written.
func parseStories(t *testing.T) (stories []story) {
	data, err := os.ReadFile("testdata/stories.txt")
	require.NoError(t, err)
	for n, line := range strings.Split(string(data), "\n") {
		if name, begins := strings.CutPrefix(line, "## "); begins {
			stories = append(stories, story{name: name})
		} else if len(stories) > 0 && line != "" {
			require.True(t, stories[len(stories)-1].read(line), "line %d is not one of a story: %s", n+1, line)
		}
	}
	return stories
}

// read adds a line to a story, and reports whether it is one of a story.
func (s *story) read(line string) bool {
	if m := spoken.FindStringSubmatch(line); m != nil {
		s.steps = append(s.steps, step{role: m[1], speaker: m[2], text: m[3]})
	} else if m := passing.FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[1])
		s.steps = append(s.steps, step{later: time.Duration(n) * units[m[2]]})
	} else if m := wanted.FindStringSubmatch(line); m != nil {
		s.want = append(s.want, want{m[1], strings.Split(m[2], " | ")})
	} else if len(s.steps) == 0 {
		return false
	} else if last := &s.steps[len(s.steps)-1]; strings.HasPrefix(line, "> ") {
		last.text += "\n" + line[2:]
	} else if m := taught.FindStringSubmatch(line); m != nil {
		last.teaches = append(last.teaches, lesson{old: m[2] + m[3], now: m[1] + m[4]})
	} else {
		return false
	}
	return true
}

// tell has an agent live through a story, and returns what is wrong with the note of its
// question. Each message is asked with those of its session before it.
func (s *story) tell(t *testing.T, db store.Store, clock *testkit.Clock, mode modes.Mode, learns bool) string {
	cfg := &mem0.Config{Store: db, Clock: clock.Now}
	if learns {
		cfg.Model = testkit.New(s.learn)
	}
	b, err := mem0.New(t.Context(), cfg)
	require.NoError(t, err)
	failed := &testkit.Failures{}
	mem := open(t, &middleware.Config{Backend: b, Mode: mode, AwaitWrite: true, Clock: clock.Now, OnError: failed.Add})
	var session []*schema.Message
	scope, note := middleware.Scope{UserID: "ann"}, ""
	for i, step := range s.steps {
		clock.Advance(step.later + time.Minute)
		switch step.role {
		case "": // time passes
			session = nil
		case "user", "ask":
			if session == nil {
				scope.SessionID = fmt.Sprint("session ", i)
			}
			answer := toTheQuestion
			if step.role == "user" {
				answer = s.steps[i+1].text
			}
			m := testkit.New(testkit.Text(answer))
			session = append(session, &schema.Message{Role: schema.User, Name: step.speaker, Content: step.text})
			testkit.Drain(agent(t, mem, m).Run(middleware.WithScope(t.Context(), scope), session))
			session = append(session, schema.AssistantMessage(answer, nil))
			note = noteIn(m.Calls()[0])
		}
	}
	if err := failed.Err(); err != nil { // what a pasted text wants is reported as skipped, and a wish that nobody understands
		require.Regexp(t, "asks to remember it|no model says what they mean", err.Error())
	}
	return s.check(note, learns)
}

// lesson is what a message teaches: a fact that takes the place of an old one. Without an
// old one it is new; without a new one the old one ends.
type lesson struct{ old, now string }

// learn is a model that learns what each new message of the story teaches, and fails where
// it is not shown a fact that ends.
func (s *story) learn(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	known, operations := map[string]int{}, []map[string]any{}
	for line := range strings.Lines(in[len(in)-1].Content) {
		var shown struct {
			N, Index   *int
			Role, Text string
		}
		if json.Unmarshal([]byte(line), &shown) != nil {
			continue
		}
		if shown.Index != nil {
			known[shown.Text] = *shown.Index
		}
		if shown.N == nil || shown.Text == toTheQuestion {
			continue
		}
		at := slices.IndexFunc(s.steps, func(one step) bool { return redact.Text(one.text) == shown.Text })
		if at < 0 {
			return nil, fmt.Errorf("the story has no message %q", shown.Text)
		}
		for _, l := range s.steps[at].teaches {
			op := map[string]any{"op": "add", "text": l.now, "said_by": shown.Role, "messages": []int{*shown.N}}
			index, isShown := known[l.old]
			switch {
			case l.old == "":
			case !isShown:
				return nil, fmt.Errorf("among the known facts that the model is shown is not %q", l.old)
			case l.now == "":
				op["op"], op["index"] = "retract", index
			default:
				op["op"], op["index"] = "supersede", index
			}
			operations = append(operations, op)
		}
	}
	arguments, err := json.Marshal(map[string]any{"operations": operations})
	if err != nil {
		return nil, err
	}
	return testkit.Call("1", opts.Tools[0].Name, string(arguments))(ctx, in, opts)
}

// past matches what a bullet says of the fact that its own replaced, and a whole bullet that
// holds no more.
var past = regexp.MustCompile(`( \(before: |（之前：).*|.*( \(no longer holds|（已不再成立).*`)

// check returns how a note differs from what the story says of it, and the note; "" if it
// does not differ.
func (s *story) check(note string, learns bool) string {
	var bullets, current, wrong []string
	for line := range strings.Lines(note) {
		if strings.HasPrefix(line, "- ") {
			bullets, current = append(bullets, line), append(current, past.ReplaceAllString(line, ""))
		}
	}
	first := bullets[:min(1, len(bullets))]
	if !learns {
		current = first
	}
	in := map[string][]string{"first": first, "has": bullets, "never": bullets, "stale": current}
	for _, w := range s.want {
		found := slices.ContainsFunc(w.texts, func(text string) bool { return strings.Contains(strings.Join(in[w.kind], ""), text) })
		if map[string]bool{"first": !found, "has": !found, "never": found, "stale": found, "empty": note != ""}[w.kind] {
			wrong = append(wrong, w.kind+": "+strings.Join(w.texts, " | "))
		}
	}
	if len(wrong) > 0 {
		wrong = append(wrong, note)
	}
	return strings.Join(wrong, "\n")
}
