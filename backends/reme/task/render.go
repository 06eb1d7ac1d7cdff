// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// maxName is how many characters of a name stand in a heading.
const maxName = 48

// heading is the line above a step.
func (s *step) heading() string {
	head := fmt.Sprintf("step %d %s", s.number, s.message.Role)
	switch {
	case s.message.Role == schema.Tool:
		head += ", result of " + nameOf(s.tool)
	case s.message.Name != "":
		head += ", " + nameOf(s.message.Name)
	}
	return head + "\n"
}

// nameOf puts the name of a tool or a speaker on one line.
func nameOf(name string) string { return cmp.Or(text.Line(name, maxName), "unknown") }

// body shows the thoughts, words and calls of a step, or the tool's result. It indents every line
// of the material, so that none looks like a heading.
func (s *step) body() string {
	m := s.message
	var b strings.Builder
	if r := strings.TrimSpace(m.ReasoningContent); r != "" {
		b.WriteString("reasoning:\n" + indent(r))
	}
	switch said := einox.Text(m); {
	case said != "" && b.Len() > 0:
		b.WriteString("content:\n" + indent(said))
	case said != "":
		b.WriteString(indent(said))
	case einox.HasParts(m):
		b.WriteString("[parts that are no text]\n")
	}
	for _, call := range callsOf(m) {
		fmt.Fprintf(&b, "calls %s:\n%s", nameOf(call.Function.Name), indent(call.Function.Arguments))
	}
	return b.String()
}

// indent puts two spaces in front of every line.
func indent(s string) string { return "  " + text.Indent(text.Clean(s), "  ") + "\n" }

// maxExperienceShown is how many characters of each text of an experience a model sees.
const maxExperienceShown = 3000

// shown shows an experience to a model, under a heading. It redacts the whole before it shortens,
// so that no half of a secret is left.
func (m *Memory) shown(heading, when, content string) string {
	short := func(s string) string { return indent(text.Middle(m.redact(s), maxExperienceShown)) }
	return heading + "\nwhen_to_use:\n" + short(when) + "experience:\n" + short(content)
}

// same reports whether two steps are shown alike.
func (s *step) same(other *step) bool {
	return s.heading() == other.heading() && s.body() == other.body()
}

// shown shows a step in at most limit tokens: it shortens the body in the middle.
func (s *step) shown(limit int) string {
	head := s.heading()
	return head + text.Fit(s.body(), limit-text.Tokens(head), text.Tokens)
}

// chunk is a stretch of steps that one prompt shows.
type chunk struct {
	text        string
	first, last int // numbers of steps
}

// chunksOf divides steps into stretches of at most limit tokens. It shortens a longer step.
func chunksOf(steps []step, limit int) []chunk {
	var out []chunk
	room := 0
	for i := range steps {
		shown := steps[i].shown(limit)
		size := text.Tokens(shown)
		if size > room {
			out = append(out, chunk{first: steps[i].number})
			room = limit
		}
		room -= size
		last := &out[len(out)-1]
		last.text += shown
		last.last = steps[i].number
	}
	return out
}

// shortened shows steps in at most limit tokens, and each in at most one: it leaves out the middle of
// longer ones, and then of the whole if need be.
func shortened(steps []step, limit, one int) string {
	var b strings.Builder
	for i := range steps {
		b.WriteString(steps[i].shown(one))
	}
	return text.Fit(b.String(), limit, text.Tokens)
}

// share is how many of limit tokens one of many steps may have.
func share(limit int) int { return max(limit/8, minShown) }

// minShown is the least number of tokens of a shortened step.
const minShown = 64

// fenced is material for a prompt, and the name of its fence.
type fenced struct{ name, text string }

// tag matches the likeness of a fence's tag, with whatever a reader may overlook in it.
var tag = regexp.MustCompile(`(?i)<([^<>\p{L}\p{N}]*data-)`)

// fences puts each material between the tags <data-name> and </data-name>. Nothing inside can close
// a fence or open another.
func fences(material []fenced) string {
	var parts []string
	for _, m := range material {
		if m.text != "" {
			parts = append(parts, fmt.Sprintf("<data-%s>\n%s\n</data-%s>", m.name, strings.TrimSuffix(tag.ReplaceAllString(m.text, "&lt;$1"), "\n"), m.name))
		}
	}
	return strings.Join(parts, "\n\n")
}

// question returns a question about material, in a language.
func (m *Memory) question(l backends.Language, prompt func(*prompts) string, material ...fenced) *ask.Question {
	words, user := phrasesIn[l], fences(material)
	system := prompt(promptsIn[l]) + "\n\n" + words.data
	if strings.Contains(user, "[…") {
		system += " " + words.cut
	}
	return &ask.Question{System: system, User: user, Language: l}
}
