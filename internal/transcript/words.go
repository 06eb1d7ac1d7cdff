// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Words are the words of texts, each with how often it stands there: runs of letters
// and digits of any script, as they are written.
type Words map[string]int

// WordsOf returns the words of messages: their contents, reasoning, the texts of
// their parts, and the names and arguments of their calls. Media have none.
func WordsOf(messages ...*schema.Message) Words {
	w := make(Words)
	for _, m := range messages {
		if m == nil {
			continue
		}
		w.Add(m.Content)
		w.Add(m.ReasoningContent)
		for _, p := range einox.Parts(m) {
			w.Add(p.Text)
		}
		for _, c := range m.ToolCalls {
			w.Add(c.Function.Name)
			w.Add(c.Function.Arguments)
		}
	}
	return w
}

// Add adds the words of a text.
func (w Words) Add(text string) {
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
		w[f]++
	}
}

// Without returns words that w has and the others do not have at all, at most ten
// of them: enough to see what is missing.
func (w Words) Without(others ...Words) []string {
	var out []string
next:
	for word := range w {
		for _, o := range others {
			if o[word] > 0 {
				continue next
			}
		}
		if out = append(out, word); len(out) == 10 {
			break
		}
	}
	return out
}
