// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// maxName is how many characters of a name stand in a heading.
const maxName = 48

// block is a step as it is shown: a heading, and a body of which every line of the
// material is indented, so that none of them looks like a heading.
type block struct {
	number int
	head   string
	body   string
}

func (b *block) text() string { return b.head + b.body }

func blockOf(s *Step) block {
	m := s.Message
	b := block{number: s.Number, head: fmt.Sprintf("step %d %s", s.Number, m.Role)}
	switch {
	case m.Role == schema.Tool:
		b.head += ", result of " + nameOf(s.Tool, "a tool")
	case m.Name != "":
		b.head += ", " + nameOf(m.Name, "somebody")
	}
	b.head += "\n"
	var body strings.Builder
	if r := strings.TrimSpace(m.ReasoningContent); r != "" {
		body.WriteString("reasoning:\n" + Indent(r))
	}
	if text := einox.Text(m); text != "" {
		if body.Len() > 0 {
			body.WriteString("content:\n")
		}
		body.WriteString(Indent(text))
	}
	if n := mediaIn(m); n > 0 {
		fmt.Fprintf(&body, "[%d parts that are no text]\n", n)
	}
	for _, call := range callsOf(m) {
		fmt.Fprintf(&body, "calls %s:\n%s", nameOf(call.Function.Name, "a tool"), Indent(call.Function.Arguments))
	}
	b.body = body.String()
	return b
}

func blocksOf(steps []Step) []block {
	out := make([]block, len(steps))
	for i := range steps {
		out[i] = blockOf(&steps[i])
	}
	return out
}

// segmentBlocks says before the first step of a segment which it is, where there are
// several.
func segmentBlocks(segments []Segment) []block {
	var out []block
	for i := range segments {
		s := &segments[i]
		blocks := blocksOf(s.Steps)
		if s.Of > 1 && len(blocks) > 0 {
			blocks[0].head = fmt.Sprintf("segment %d of %d\n%s", s.Number, s.Of, blocks[0].head)
		}
		out = append(out, blocks...)
	}
	return out
}

// mediaIn counts the parts of a message that say nothing in words.
func mediaIn(m *schema.Message) int {
	n := 0
	for i := range m.UserInputMultiContent {
		n += without(m.UserInputMultiContent[i].Text)
	}
	for i := range m.AssistantGenMultiContent {
		n += without(m.AssistantGenMultiContent[i].Text)
	}
	for i := range m.MultiContent {
		n += without(m.MultiContent[i].Text)
	}
	return n
}

func without(text string) int {
	if strings.TrimSpace(text) == "" {
		return 1
	}
	return 0
}

// nameOf puts a name on one line.
func nameOf(name, unnamed string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(name, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	runes := []rune(strings.Join(words, " "))
	switch {
	case len(runes) == 0:
		return unnamed
	case len(runes) > maxName:
		return string(runes[:maxName-1]) + "…"
	}
	return string(runes)
}

// Indent puts two spaces before every line of a text, and ends the last: no line of it
// can be taken for a heading.
func Indent(s string) string {
	s = strings.Map(plain, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
	return "  " + strings.ReplaceAll(strings.TrimRightFunc(s, unicode.IsSpace), "\n", "\n  ") + "\n"
}

// plain makes a line's end of whatever ends a line, and a space of what else controls.
func plain(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r != '\t' && unicode.IsControl(r):
		return ' '
	}
	return r
}
