// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
)

// How many characters of a text a model is shown: of a longer one the first and the
// last half of so many, with a word on how many are left out.
const (
	shownExperience = 3000
	shownQuery      = 4000
	shownMessage    = 2000
)

// material is what a model is shown: sections between tags, one JSON object a line,
// in which nothing can close a tag, since JSON as Go writes it has no angle brackets.
type material struct {
	frame  *frame
	redact func(string) string
	count  budget.Counter
	left   int // tokens
	text   strings.Builder
}

func (m *Memory) material(f *frame) *material {
	return &material{frame: f, redact: m.redact, count: m.models.Counter(), left: m.models.Limits().Prompt}
}

// shown is a text as a model is shown it: redacted as a whole, so that no half of a
// secret is left, and at most so many characters of it.
func (m *material) shown(s string, most int) string { return m.frame.clip(m.redact(s), most) }

// section writes the lines that fit, from the first on, and returns how many did. The
// first always does. What is left out is told.
func (m *material) section(tag string, lines []any) int {
	fmt.Fprintf(&m.text, "<%s>\n", tag)
	n := 0
	for _, line := range lines {
		encoded, err := json.Marshal(line)
		if err != nil { // nothing that is shown holds what JSON does not know
			continue
		}
		size := m.count.Text(string(encoded)) + 1
		if n > 0 && size > m.left {
			break
		}
		m.left -= size
		m.text.Write(encoded)
		m.text.WriteByte('\n')
		n++
	}
	fmt.Fprintf(&m.text, "</%s>\n", tag)
	if n < len(lines) {
		fmt.Fprintf(&m.text, m.frame.more+"\n", len(lines)-n)
	}
	return n
}

// clip returns a text as it is up to so many characters, else its beginning and its
// end with a mark between them.
func (f *frame) clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	half := most / 2
	return string(runes[:half]) + fmt.Sprintf(f.omitted, len(runes)-2*half) + string(runes[len(runes)-half:])
}

// experience is a memory as a model is shown it.
type experience struct {
	N         *int   `json:"n,omitempty"`
	WhenToUse string `json:"when_to_use"`
	Content   string `json:"content"`
}

func (m *material) experience(mem *backends.Memory) experience {
	return experience{WhenToUse: m.shown(mem.WhenToUse, shownExperience), Content: m.shown(mem.Text, shownExperience)}
}

// numbered are memories as a model is shown them, from 0 on.
func (m *material) numbered(hits []backends.Hit) []any {
	lines := make([]any, len(hits))
	for i := range hits {
		e := m.experience(&hits[i].Memory)
		e.N = &i
		lines[i] = e
	}
	return lines
}

// said is one text as a model is shown it.
type said struct {
	Role string `json:"role,omitempty"`
	Text string `json:"text"`
}
